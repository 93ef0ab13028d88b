// The JSON of the live plane. A boolean column's 0 and 1 are false and true; a JSON column's cell is its text; reals
// are the shortest that reads back the same, an infinity is null; a blob is its base64 as a string. Bytes of a text
// that are not UTF-8 become U+FFFD: JSON cannot carry them, and a query must not end because of one cell (HAZARDS 8).
#pragma once

#include <string>

#include "core/value.h"
#include "follower/table_query.h"

namespace leat::follower {

void append_json_cell(std::string& out, const Value& value, LiveType type);
// A plain cell of /execute-sql-read: by stored type alone.
void append_json_cell(std::string& out, const Value& value);
// Shipped columns as an array.
void append_json_row(std::string& out, const TableQuery& query, const Row& shipped);

}  // namespace leat::follower
