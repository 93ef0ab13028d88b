// The declared types of result columns, also those of RETURNING, for which SQLite itself gives none.
#pragma once

#include <string>
#include <vector>

#include "core/sqlite.h"

namespace leat::sqlite {

std::vector<Column> describe_columns(sqlite3_stmt* statement);

// RETURNING resolves its expressions against the one table that the statement changes, so `select <the same
// expressions> from <that table>` has the same columns, and SQLite says where those come from. Columns for which that
// cannot be shown (the names must agree, too) have no declared type.
std::vector<Column> describe_returning_columns(sqlite3_stmt* statement, const std::string& changed_table);

}  // namespace leat::sqlite
