#include "core/sqlite_authorizer.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace leat::sqlite {

namespace {

// Pragmas that only answer a question, also with an argument.
constexpr std::array<std::string_view, 16> kQuestionPragmas{
    "collation_list", "compile_options", "database_list", "foreign_key_check", "foreign_key_list", "function_list",
    "index_info",     "index_list",      "index_xinfo",   "integrity_check",   "module_list",      "pragma_list",
    "quick_check",    "table_info",      "table_list",    "table_xinfo"};
// Pragmas that do something even without an argument.
constexpr std::array<std::string_view, 4> kActingPragmas{"incremental_vacuum", "optimize", "shrink_memory",
                                                         "wal_checkpoint"};

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && sqlite3_strnicmp(a.data(), b.data(), static_cast<int>(a.size())) == 0;
}

template <std::size_t n>
bool holds(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view each) { return equal_ignoring_case(each, name); });
}

bool is_sqlite_table(std::string_view name) {
  return name.size() >= 7 && sqlite3_strnicmp(name.data(), "sqlite_", 7) == 0;
}

void add_once(std::vector<std::string>& names, const char* name) {
  if (name == nullptr) return;
  if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
}

}  // namespace

int StatementCheck::deny(ErrorCode code, std::string message) {
  if (!refusal_) refusal_ = make_error(code, std::move(message));
  return SQLITE_DENY;
}

int StatementCheck::on_pragma(const char* name, const char* argument) {
  if (access_ == Access::kInternal) return SQLITE_OK;
  const bool allowed = argument == nullptr ? !holds(kActingPragmas, name) : holds(kQuestionPragmas, name);
  if (allowed) return SQLITE_OK;
  return deny(ErrorCode::kStatementUnsupported, "connection PRAGMAs are unsupported by the v1 SQL surface");
}

int StatementCheck::on_write(const char* table, const char* database) {
  // SQLite refuses to write its schema table itself; what is announced here is a side effect of a schema change, or of
  // looking a table-valued function up.
  const std::string_view name(table);
  if (name == "sqlite_master" || name == "sqlite_temp_master") return SQLITE_OK;
  traits_.writes = true;
  if (database != nullptr && std::string_view(database) == "temp") return SQLITE_OK;
  add_once(written_, table);
  if (when_ == When::kFirstTime || access_ != Access::kWrite || traits_.is_ddl || is_sqlite_table(table))
    return SQLITE_OK;
  auto checked = check_written_table(table);
  if (checked.has_value()) return SQLITE_OK;
  refusal_ = std::move(checked).error();
  return SQLITE_DENY;
}

void StatementCheck::on_schema_change(const char* table) {
  traits_.writes = true;
  traits_.is_ddl = true;
  add_once(written_, table);
}

int StatementCheck::on_temporary(const char* name) {
  traits_.touches_temp = true;
  on_schema_change(nullptr);
  if (access_ == Access::kInternal) return SQLITE_OK;
  return deny(
      ErrorCode::kSchemaUnsupported,
      "temporary object \"" + std::string(name) +
          "\" is unsupported: connections are shared and nothing temporary is replicated; use an ordinary table");
}

int StatementCheck::on_action(int action, const char* first, const char* second, const char* database) {
  saw_action_ = true;
  const bool internal = access_ == Access::kInternal;
  switch (action) {
    case SQLITE_READ:
      if (database == nullptr || std::string_view(database) == "main") add_once(traits_.tables_read, first);
      return SQLITE_OK;
    case SQLITE_INSERT:
    case SQLITE_DELETE:
    case SQLITE_UPDATE:
      return on_write(first, database);
    case SQLITE_CREATE_TABLE:
    case SQLITE_CREATE_VIEW:
      // `create table temp.x` is an ordinary creation, but for its database.
      if (database != nullptr && std::string_view(database) == "temp") return on_temporary(first);
      on_schema_change(first);
      return SQLITE_OK;
    case SQLITE_DROP_VIEW:
    case SQLITE_ANALYZE:
      on_schema_change(first);
      return SQLITE_OK;
    case SQLITE_REINDEX:
      on_schema_change(nullptr);
      return SQLITE_OK;
    case SQLITE_DROP_TABLE:
      traits_.drops_table = true;
      on_schema_change(first);
      return SQLITE_OK;
    case SQLITE_ALTER_TABLE:
      traits_.alters_table = true;
      on_schema_change(second);
      return SQLITE_OK;
    case SQLITE_CREATE_INDEX:
    case SQLITE_CREATE_TRIGGER:
    case SQLITE_DROP_INDEX:
    case SQLITE_DROP_TRIGGER:
      on_schema_change(second);
      return SQLITE_OK;
    case SQLITE_CREATE_TEMP_INDEX:
    case SQLITE_CREATE_TEMP_TABLE:
    case SQLITE_CREATE_TEMP_TRIGGER:
    case SQLITE_CREATE_TEMP_VIEW:
    case SQLITE_DROP_TEMP_INDEX:
    case SQLITE_DROP_TEMP_TABLE:
    case SQLITE_DROP_TEMP_TRIGGER:
    case SQLITE_DROP_TEMP_VIEW:
      return on_temporary(first);
    case SQLITE_CREATE_VTABLE:
    case SQLITE_DROP_VTABLE:
      traits_.creates_virtual_table = action == SQLITE_CREATE_VTABLE;
      on_schema_change(first);
      if (internal) return SQLITE_OK;
      return deny(ErrorCode::kSchemaUnsupported, "virtual table \"" + std::string(first) +
                                                     "\" is unsupported: its changes cannot be captured; use an "
                                                     "ordinary table");
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
      if (std::string_view(first) == "ROLLBACK") traits_.rolls_back = true;
      if (internal) return SQLITE_OK;
      return deny(ErrorCode::kStatementUnsupported,
                  "transaction-control SQL is unsupported; use typed transaction operations");
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
      if (internal) return SQLITE_OK;
      return deny(ErrorCode::kStatementUnsupported,
                  "ATTACH, DETACH and VACUUM are unsupported: one server serves one database and looks after its file");
    case SQLITE_PRAGMA:
      return on_pragma(first, second);
    case SQLITE_FUNCTION:
      if (internal || !equal_ignoring_case(second, "load_extension")) return SQLITE_OK;
      return deny(ErrorCode::kStatementUnsupported,
                  "load_extension is unsupported: extensions are the server's to load");
    default:
      return SQLITE_OK;
  }
}

Result<void> StatementCheck::check_written_table(const std::string& table) const {
  if (is_sqlite_table(table)) {
    return make_error(
        ErrorCode::kStatementUnsupported,
        "table \"" + table + "\" belongs to SQLite and cannot be written; change the tables it describes");
  }
  return guard_ ? guard_(table) : Result<void>();
}

Result<StatementTraits> StatementCheck::finish(sqlite3_stmt* statement) {
  if (refusal_) return *refusal_;
  if (sqlite3_stmt_isexplain(statement) != 0) {
    traits_.writes = traits_.is_ddl = traits_.drops_table = traits_.alters_table = traits_.rolls_back = false;
    return std::move(traits_);
  }
  if (!saw_action_ && sqlite3_column_count(statement) == 0) {
    if (is_vacuum(statement)) {
      if (access_ != Access::kInternal) {
        return make_error(
            ErrorCode::kStatementUnsupported,
            "ATTACH, DETACH and VACUUM are unsupported: one server serves one database and looks after its file");
      }
    } else {
      traits_.writes = traits_.is_ddl = true;
    }
  }
  if (access_ == Access::kRead && traits_.writes) {
    Error error = make_error(ErrorCode::kSqliteError, "attempt to write a readonly database");
    error.sqlite_code = SQLITE_READONLY;
    return error;
  }
  if (access_ == Access::kWrite) {
    for (const auto& table : written_) {
      // A schema change writes SQLite's own tables as its way of working.
      if (traits_.is_ddl && is_sqlite_table(table)) continue;
      LEAT_TRY(check_written_table(table));
    }
  }
  if (!traits_.is_ddl && !written_.empty()) traits_.changed_table = written_.front();
  if (traits_.is_ddl) std::erase_if(traits_.tables_read, [](const std::string& name) { return is_sqlite_table(name); });
  return std::move(traits_);
}

bool is_vacuum(sqlite3_stmt* statement) {
  const std::string explain = std::string("explain ") + sqlite3_sql(statement);
  sqlite3_stmt* program = nullptr;
  bool found = false;
  if (sqlite3_prepare_v2(sqlite3_db_handle(statement), explain.c_str(), -1, &program, nullptr) == SQLITE_OK) {
    while (!found && sqlite3_step(program) == SQLITE_ROW) {
      const auto* operation = reinterpret_cast<const char*>(sqlite3_column_text(program, 1));
      found = operation != nullptr && std::string_view(operation) == "Vacuum";
    }
  }
  sqlite3_finalize(program);
  return found;
}

}  // namespace leat::sqlite
