#include "core/sqlite_script.h"

#include <sqlite3.h>

namespace leat::sqlite {

namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

// Drops white space, comments and stray semicolons in front of a statement.
std::string_view skip_blank(std::string_view sql) {
  while (!sql.empty()) {
    if (is_space(sql.front()) || sql.front() == ';') {
      sql.remove_prefix(1);
    } else if (sql.starts_with("--")) {
      const auto end = sql.find('\n');
      sql.remove_prefix(end == std::string_view::npos ? sql.size() : end + 1);
    } else if (sql.starts_with("/*")) {
      const auto end = sql.find("*/", 2);
      sql.remove_prefix(end == std::string_view::npos ? sql.size() : end + 2);
    } else {
      break;
    }
  }
  return sql;
}

std::string_view trim_end(std::string_view sql) {
  while (!sql.empty() && is_space(sql.back())) sql.remove_suffix(1);
  return sql;
}

}  // namespace

std::vector<std::string> split_script(std::string_view script) {
  std::vector<std::string> statements;
  std::string_view rest = skip_blank(script);
  std::size_t from = 0;
  while (!rest.empty()) {
    const std::size_t semicolon = rest.find(';', from);
    if (semicolon == std::string_view::npos) {
      statements.emplace_back(trim_end(rest));
      break;
    }
    const std::string candidate(rest.substr(0, semicolon + 1));
    if (sqlite3_complete(candidate.c_str()) == 0) {
      from = semicolon + 1;
      continue;
    }
    statements.emplace_back(trim_end(rest.substr(0, semicolon)));
    rest = skip_blank(rest.substr(semicolon + 1));
    from = 0;
  }
  return statements;
}

}  // namespace leat::sqlite
