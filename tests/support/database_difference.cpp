#include "tests/support/database_difference.h"

#include <algorithm>
#include <set>

#include "core/sqlite.h"

namespace leat::testing {
namespace {

constexpr std::string_view kNeverShipped = "_leat_meta";

std::string quoted(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"') text += c;
    text += c;
  }
  return text + "\"";
}

Result<std::vector<std::string>> texts(sqlite::Connection& connection, const std::string& sql) {
  LEAT_ASSIGN(auto statement, connection.prepare(sql, sqlite::Access::kInternal));
  std::vector<std::string> found;
  for (;;) {
    LEAT_ASSIGN(const bool has_row, statement->step());
    if (!has_row) return found;
    found.emplace_back(statement->column_bytes(0));
  }
}

// Every row as one text that tells type and bits of each value.
Result<std::vector<std::string>> rows(sqlite::Connection& connection, const std::string& table) {
  const std::string name = quoted(table);
  LEAT_ASSIGN(auto columns, texts(connection, "select name from pragma_table_info('" + table + "')"));
  std::string expression = "''";
  for (const std::string& column : columns) {
    const std::string c = quoted(column);
    expression += "||' '||typeof(" + c + ")||':'||case typeof(" + c + ") when 'real' then printf('%!.20g'," + c +
                  ") when 'blob' then hex(" + c + ") else quote(" + c + ") end";
  }
  LEAT_ASSIGN(auto without_rowid,
              texts(connection, "select wr from pragma_table_list where schema='main' and name='" + table + "'"));
  const bool has_rowid = !without_rowid.empty() && without_rowid[0] == "0";
  const std::string rowid = has_rowid ? "'rowid '||rowid||" : "";
  return texts(connection, "select " + rowid + expression + " from " + name + " order by 1");
}

Result<std::vector<std::string>> tables(sqlite::Connection& connection) {
  LEAT_ASSIGN(auto names, texts(connection, "select name from sqlite_schema where type='table' order by 1"));
  std::erase(names, kNeverShipped);
  std::erase_if(names, [](const std::string& name) { return name.starts_with("sqlite_stat"); });
  return names;
}

std::string describe(const std::string& table, const std::vector<std::string>& left,
                     const std::vector<std::string>& right) {
  static constexpr std::size_t kRowsNamedMax = 5;
  std::string line = table + ": " + std::to_string(left.size()) + " rows and " + std::to_string(right.size());
  const auto name_missing = [&](const std::vector<std::string>& from, const std::vector<std::string>& in,
                                const char* which) {
    std::vector<std::string> missing;
    std::set_difference(from.begin(), from.end(), in.begin(), in.end(), std::back_inserter(missing));
    for (std::size_t i = 0; i < std::min(missing.size(), kRowsNamedMax); ++i) {
      line += std::string("\n  only in the ") + which + ": " + missing[i].substr(0, 300);
    }
  };
  name_missing(left, right, "first");
  name_missing(right, left, "second");
  return line;
}

}  // namespace

Result<std::vector<std::string>> differences(const std::string& left_file, const std::string& right_file) {
  LEAT_ASSIGN(auto left, sqlite::Connection::open(left_file, sqlite::OpenMode::kReadOnly));
  LEAT_ASSIGN(auto right, sqlite::Connection::open(right_file, sqlite::OpenMode::kReadOnly));
  static constexpr const char* kSchema =
      "select type||' '||name||': '||ifnull(sql,'') from sqlite_schema where name not like 'sqlite_stat%' and "
      "tbl_name <> '_leat_meta' order by 1";
  LEAT_ASSIGN(const auto left_schema, texts(*left, kSchema));
  LEAT_ASSIGN(const auto right_schema, texts(*right, kSchema));
  std::vector<std::string> found;
  if (left_schema != right_schema) found.push_back(describe("the schema", left_schema, right_schema));
  LEAT_ASSIGN(const auto left_tables, tables(*left));
  LEAT_ASSIGN(const auto right_tables, tables(*right));
  for (const std::string& table : left_tables) {
    if (std::find(right_tables.begin(), right_tables.end(), table) == right_tables.end()) continue;
    LEAT_ASSIGN(auto left_rows, rows(*left, table));
    LEAT_ASSIGN(auto right_rows, rows(*right, table));
    if (left_rows == right_rows) continue;
    std::sort(left_rows.begin(), left_rows.end());
    std::sort(right_rows.begin(), right_rows.end());
    found.push_back(describe(table, left_rows, right_rows));
  }
  return found;
}

}  // namespace leat::testing
