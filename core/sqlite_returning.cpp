#include "core/sqlite_returning.h"

#include <sqlite3.h>

#include <string_view>

namespace leat::sqlite {

namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Past the string, quoted name or comment that begins at `at`; `at` itself if none does.
std::size_t skip_quoted(std::string_view sql, std::size_t at) {
  const auto past = [&](std::string_view end, std::size_t from) {
    const auto found = sql.find(end, from);
    return found == std::string_view::npos ? sql.size() : found + end.size();
  };
  switch (sql[at]) {
    case '\'':
    case '"':
    case '`':  // A doubled quote inside reads as the end of one and the begin of another, which comes to the same.
      return past(sql.substr(at, 1), at + 1);
    case '[':
      return past("]", at + 1);
    case '-':
      return sql.substr(at, 2) == "--" ? past("\n", at) : at;
    case '/':
      return sql.substr(at, 2) == "/*" ? past("*/", at + 2) : at;
    default:
      return at;
  }
}

// Where the expressions of RETURNING, always the last clause, begin; npos if there are none.
std::size_t find_returning_expressions(std::string_view sql) {
  std::size_t found = std::string_view::npos;
  int depth = 0;
  for (std::size_t at = 0; at < sql.size();) {
    if (const auto past = skip_quoted(sql, at); past != at) {
      at = past;
      continue;
    }
    if (sql[at] == '(') ++depth;
    if (sql[at] == ')') --depth;
    if (!is_word(sql[at])) {
      ++at;
      continue;
    }
    const auto begin = at;
    while (at < sql.size() && is_word(sql[at])) ++at;
    const auto word = sql.substr(begin, at - begin);
    if (depth == 0 && word.size() == 9 && sqlite3_strnicmp(word.data(), "returning", 9) == 0) found = at;
  }
  return found;
}

std::string quote_name(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

std::vector<Column> describe_columns(sqlite3_stmt* statement) {
  std::vector<Column> columns;
  const int count = sqlite3_column_count(statement);
  columns.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const char* name = sqlite3_column_name(statement, i);
    Column column{name == nullptr ? "" : name, std::nullopt};
    if (const char* type = sqlite3_column_decltype(statement, i)) column.declared_type = type;
    columns.push_back(std::move(column));
  }
  return columns;
}

std::vector<Column> describe_returning_columns(sqlite3_stmt* statement, const std::string& changed_table) {
  auto columns = describe_columns(statement);
  std::string_view sql = sqlite3_sql(statement);
  const auto begin = find_returning_expressions(sql);
  if (begin == std::string_view::npos) return columns;
  sql = sql.substr(begin);
  // The clause may end in a semicolon or a comment, which must not swallow the FROM.
  std::size_t end = 0;
  for (std::size_t at = 0; at < sql.size() && sql[at] != ';';) {
    const auto past = skip_quoted(sql, at);
    at = past == at ? at + 1 : past;
    end = at;
  }
  const auto select =
      "select " + std::string(sql.substr(0, end)) + "\n from main." + quote_name(changed_table) + " limit 0";
  sqlite3_stmt* equivalent = nullptr;
  if (sqlite3_prepare_v2(sqlite3_db_handle(statement), select.c_str(), -1, &equivalent, nullptr) == SQLITE_OK) {
    auto described = describe_columns(equivalent);
    bool same_names = described.size() == columns.size();
    for (std::size_t i = 0; same_names && i < columns.size(); ++i) same_names = described[i].name == columns[i].name;
    if (same_names) columns = std::move(described);
  }
  sqlite3_finalize(equivalent);
  return columns;
}

}  // namespace leat::sqlite
