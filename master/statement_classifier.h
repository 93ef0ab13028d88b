// Remembers what a statement's text is, so that a known write goes straight to the writer and a known read to a reader.
#pragma once

#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/sqlite.h"

namespace leat::master {

enum class StatementClass : std::uint8_t { kRead, kWrite, kSchema };

// Any thread. A text's class does not depend on the schema, so it never goes stale; the least recently used are
// forgotten beyond classified_statements_max.
class StatementClassifier {
 public:
  std::optional<StatementClass> find(std::string_view sql);
  void remember(std::string_view sql, StatementClass statement_class);
  static StatementClass classify(const sqlite::StatementTraits& traits);

 private:
  struct Entry {
    std::string sql;
    StatementClass statement_class;
  };
  std::mutex mutex_;
  std::list<Entry> by_use_;  // most recent first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_sql_;
};

}  // namespace leat::master
