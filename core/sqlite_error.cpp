#include <sqlite3.h>

#include "core/sqlite.h"

namespace leat::sqlite {

namespace {

std::optional<Constraint::Kind> constraint_kind(int extended_code) {
  switch (extended_code) {
    case SQLITE_CONSTRAINT_UNIQUE:
      return Constraint::Kind::kUnique;
    case SQLITE_CONSTRAINT_PRIMARYKEY:
    case SQLITE_CONSTRAINT_ROWID:
      return Constraint::Kind::kPrimaryKey;
    case SQLITE_CONSTRAINT_FOREIGNKEY:
      return Constraint::Kind::kForeignKey;
    case SQLITE_CONSTRAINT_CHECK:
      return Constraint::Kind::kCheck;
    case SQLITE_CONSTRAINT_NOTNULL:
      return Constraint::Kind::kNotNull;
    case SQLITE_CONSTRAINT_DATATYPE:
      return Constraint::Kind::kDatatype;
    default:
      return std::nullopt;
  }
}

// SQLite names what was violated only in its message, as `... failed: table.column, table.column`.
void read_columns(std::string_view message, Constraint& constraint) {
  constexpr std::string_view kMark = " failed: ";
  const auto at = message.find(kMark);
  if (at == std::string_view::npos) return;
  std::string_view rest = message.substr(at + kMark.size());
  if (rest.starts_with("index ")) return;
  while (!rest.empty()) {
    const auto end = rest.find(", ");
    const auto item = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 2);
    const auto dot = item.find('.');
    if (dot == std::string_view::npos) return;
    constraint.table = item.substr(0, dot);
    constraint.columns.emplace_back(item.substr(dot + 1));
  }
}

}  // namespace

Error make_sqlite_error(int extended_code, std::string message) {
  Error error = make_error(ErrorCode::kSqliteError, std::move(message));
  error.sqlite_code = extended_code;
  const int code = extended_code & 0xff;
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED) error.retry_scope = RetryScope::kRequest;
  if (const auto kind = constraint_kind(extended_code)) {
    Constraint constraint{*kind, {}, {}};
    const bool named = *kind == Constraint::Kind::kUnique || *kind == Constraint::Kind::kPrimaryKey ||
                       *kind == Constraint::Kind::kNotNull;
    if (named) read_columns(error.message, constraint);
    error.constraint = std::move(constraint);
  }
  return error;
}

Error Connection::last_error() const {
  return make_sqlite_error(sqlite3_extended_errcode(handle_), sqlite3_errmsg(handle_));
}

}  // namespace leat::sqlite
