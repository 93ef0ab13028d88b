// The tables of a database as capture, apply and the live plane need to know them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/error.h"
#include "core/sqlite.h"

namespace leat::changelog {

enum class Affinity : std::uint8_t { kInteger, kReal, kText, kBlob, kNumeric };

struct TableColumn {
  std::string name;
  std::string declared_type;  // as written; empty if none
  Affinity affinity = Affinity::kBlob;
  bool not_null = false;
  bool has_default = false;
  int key_position = 0;   // 1.. in the primary key, else 0
  std::string collation;  // BINARY unless the column says otherwise
  friend bool operator==(const TableColumn&, const TableColumn&) = default;
};

struct TableSchema {
  std::string name;
  std::vector<TableColumn> columns;         // stored columns in table order; generated ones are not here
  std::vector<int> primary_key;             // indexes into `columns`, in key order; empty: no declared key
  std::vector<std::string> key_collations;  // of the key's own index, beside `primary_key`
  std::optional<int> rowid_alias;           // the INTEGER PRIMARY KEY column
  bool without_rowid = false;
  bool autoincrement = false;
  bool is_virtual = false;
  bool has_virtual_generated = false;  // HAZARDS 10
  std::vector<int> hook_index;         // columns[i] is value hook_index[i] of the preupdate hook
  std::string rowid_name;              // a spelling of rowid that no column shadows; empty if none or no rowid

  friend bool operator==(const TableSchema&, const TableSchema&) = default;
  // Why the table cannot be replicated: kSchemaUnsupported naming the table and the way out.
  Result<void> check_replicable() const;
  std::optional<int> find_column(std::string_view name) const;  // ASCII case-insensitive, as SQLite
};

// Immutable; shared between threads.
class Catalog {
 public:
  // Reads every table of schema main, Leat's system tables included, SQLite's own left out.
  static Result<std::shared_ptr<const Catalog>> load(sqlite::Connection& connection);
  const TableSchema* find(std::string_view table) const;              // ASCII case-insensitive
  const std::vector<TableSchema>& tables() const { return tables_; }  // sorted by name
  std::int64_t schema_version() const { return schema_version_; }     // pragma schema_version

 private:
  std::vector<TableSchema> tables_;
  std::unordered_map<std::string, std::size_t> by_lower_name_;
  std::int64_t schema_version_ = 0;
};

// Leat's own tables (`_leat_*`, `_rindle_client_mutations`): not for applications to write.
bool is_system_table(std::string_view name);
// The one table that belongs to a file and not to the history: never captured, never shipped.
bool is_local_table(std::string_view name);
// As an SQL identifier: "name", quotes doubled.
std::string quote_name(std::string_view name);

}  // namespace leat::changelog
