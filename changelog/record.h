// What the change log says: the changes of one committed write, in the order they happened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/ids.h"
#include "core/value.h"

namespace leat::changelog {

enum class Operation : std::uint8_t { kInsert = 1, kUpdate = 2, kDelete = 3 };

// Who asked for a write.
enum class Origin : std::uint8_t { kSystem = 0, kMutation = 1, kProducer = 2, kMigration = 3, kJob = 4, kLedger = 5 };

// One row. Rows hold the table's stored columns in table order: generated columns are left out, a rowid alias is
// included. The rowid is given for every table that has one (HAZARDS 12), also where a column aliases it.
struct RowChange {
  std::string table;
  Operation operation = Operation::kInsert;
  std::optional<std::int64_t> old_rowid;  // update, delete
  std::optional<std::int64_t> new_rowid;  // insert, update
  Row old_row;  // update, delete; for a delete from a Leat system table only the key columns, the rest NULL (HAZARDS
                // 19)
  Row new_row;  // insert, update
  friend bool operator==(const RowChange&, const RowChange&) = default;
};

// One DDL statement, as the writer ran it.
struct SchemaChange {
  std::string sql;
  friend bool operator==(const SchemaChange&, const SchemaChange&) = default;
};

// The value an AUTOINCREMENT table's entry in sqlite_sequence has now (the table is not hooked: HAZARDS 12).
struct SequenceChange {
  std::string table;
  std::int64_t value = 0;
  friend bool operator==(const SequenceChange&, const SequenceChange&) = default;
};

using ChangeRecord = std::variant<RowChange, SchemaChange, SequenceChange>;

struct Transaction {
  Cursor cursor;
  Origin origin = Origin::kSystem;
  std::string request_id;  // may be empty
  std::vector<ChangeRecord> records;
  friend bool operator==(const Transaction&, const Transaction&) = default;
};

}  // namespace leat::changelog
