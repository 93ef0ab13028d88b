#include "changelog/schema_change.h"

#include <sqlite3.h>

namespace leat::changelog {

namespace {

// The statement's own table, if it added a column that has a default.
Result<void> rewrite_rows(sqlite::Connection& connection, const Catalog& before, const Catalog& after) {
  for (const auto& table : after.tables()) {
    const auto* old_table = before.find(table.name);
    if (old_table == nullptr || old_table->columns.size() + 1 != table.columns.size()) continue;
    const auto& added = table.columns.back();
    if (!added.has_default) continue;
    const auto column = quote_name(added.name);
    LEAT_TRY(connection.execute("update or abort main." + quote_name(table.name) + " set " + column + " = " + column));
  }
  return {};
}

Result<void> check_tables(const Catalog& before, const Catalog& after, bool alters) {
  for (const auto& table : after.tables()) {
    const auto* old_table = before.find(table.name);
    if (old_table != nullptr && *old_table == table) continue;
    LEAT_TRY(table.check_replicable());
    // SQLite's authorizer is not told the new name of a renamed table.
    if (alters && old_table == nullptr && is_system_table(table.name)) {
      return make_error(ErrorCode::kSchemaUnsupported,
                        "table \"" + table.name + "\": the name is reserved for Leat's own tables; choose another");
    }
  }
  return {};
}

}  // namespace

WithoutSideEffects::WithoutSideEffects(sqlite::Connection& connection) : connection_(connection) {
  sqlite3_db_config(connection.handle(), SQLITE_DBCONFIG_ENABLE_FKEY, -1, &foreign_keys_);
  sqlite3_db_config(connection.handle(), SQLITE_DBCONFIG_ENABLE_TRIGGER, -1, &triggers_);
  sqlite3_db_config(connection.handle(), SQLITE_DBCONFIG_ENABLE_FKEY, 0, nullptr);
  sqlite3_db_config(connection.handle(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
}

WithoutSideEffects::~WithoutSideEffects() {
  sqlite3_db_config(connection_.handle(), SQLITE_DBCONFIG_ENABLE_FKEY, foreign_keys_, nullptr);
  sqlite3_db_config(connection_.handle(), SQLITE_DBCONFIG_ENABLE_TRIGGER, triggers_, nullptr);
}

Result<std::shared_ptr<const Catalog>> run_schema_change(sqlite::Connection& connection, const std::string& sql,
                                                         const Catalog& before) {
  const WithoutSideEffects quiet(connection);
  LEAT_ASSIGN(auto statement, connection.prepare(sql, sqlite::Access::kInternal));
  const auto& traits = statement->traits();
  if (!traits.is_ddl) return make_error(ErrorCode::kStatementInvalid, "not a schema change: " + sql);
  if (traits.touches_temp || traits.creates_virtual_table) {
    return make_error(
        ErrorCode::kSchemaUnsupported,
        "temporary objects and virtual tables are unsupported: they cannot be replicated; use an ordinary "
        "table: " +
            sql);
  }
  LEAT_TRY(statement->run());
  const bool alters = traits.alters_table;
  statement.reset();
  LEAT_ASSIGN(auto after, Catalog::load(connection));
  LEAT_TRY(check_tables(before, *after, alters));
  if (alters) LEAT_TRY(rewrite_rows(connection, before, *after));
  return after;
}

}  // namespace leat::changelog
