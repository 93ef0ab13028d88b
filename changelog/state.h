// What a database file says about itself: whose history it holds and how far. One row of `_leat_meta`, never shipped.
#pragma once

#include <optional>

#include "core/error.h"
#include "core/ids.h"
#include "core/sqlite.h"

namespace leat::changelog {

struct DatabaseState {
  DatabaseId database_id;
  Cursor applied;
};

// Nullopt when the file has no `_leat_meta`: it is new, or not Leat's.
Result<std::optional<DatabaseState>> read_state(sqlite::Connection& connection);
// Makes `_leat_meta`. Inside the caller's transaction, if any.
Result<void> create_state(sqlite::Connection& connection, const DatabaseState& state);
// Names the history that a file made with a nil id has taken up.
Result<void> write_database_id(sqlite::Connection& connection, const DatabaseId& database_id);
Result<void> write_applied_cursor(sqlite::Connection& connection, Cursor applied);

}  // namespace leat::changelog
