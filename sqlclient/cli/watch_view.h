// What a person sees of one subscription: lines of text from the server's frames. No socket and no clock in it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/value.h"

namespace leat::cli {

// Keeps the rows of the subscription, so that a snapshot after a lost connection shows only what it changed.
//   + messages  id=7 status=streaming text='Hello there'      a row that is new in the query
//   ~ messages  id=7  status: streaming -> interrupted        a row that changed
//   - messages  id=7 status=interrupted text='Hello there'    a row that left the query
class WatchView {
 public:
  struct Update {
    std::vector<std::string> lines;
    bool is_snapshot = false;  // the subscription's first rows are here
    // Set by `queryError`: the subscription is over.
    bool is_over = false;
    bool may_retry = false;
    std::string reason;
  };
  // One text frame of the server. Errors: kInternal when it breaks the protocol; subscribe again.
  Result<Update> apply(std::string_view frame);

  std::size_t row_count() const;

 private:
  struct Table {
    std::vector<std::string> columns;
    std::vector<std::size_t> primary_key;
    std::map<std::string, Row> rows;  // by the key's text
  };
  struct Reader;  // of frames; keeps JSON out of this header

  std::string key_of(const Table& table, const Row& row) const;
  std::string line(char sign, const std::string& name, const Table& table, const Row& row) const;
  std::string edit_line(const std::string& name, const Table& table, const Row& before, const Row& after) const;
  void add_difference(const std::map<std::string, Table>& before, std::vector<std::string>& lines) const;

  std::map<std::string, Table> tables_;
  std::map<std::string, Table> before_;  // of an earlier subscription, until the new one's snapshot has come
  std::int64_t next_seq_ = 0;
};

}  // namespace leat::cli
