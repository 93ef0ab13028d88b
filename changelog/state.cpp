#include "changelog/state.h"

namespace leat::changelog {

Result<std::optional<DatabaseState>> read_state(sqlite::Connection& connection) {
  {
    LEAT_ASSIGN(auto exists, connection.prepare_cached("select 1 from sqlite_schema where type = 'table' and"
                                                       " name = '_leat_meta'",
                                                       sqlite::Access::kInternal));
    LEAT_ASSIGN(const bool found, exists->step());
    if (!found) return std::optional<DatabaseState>();
  }
  LEAT_ASSIGN(auto statement, connection.prepare_cached("select database_id, applied from _leat_meta where id = 1",
                                                        sqlite::Access::kInternal));
  LEAT_ASSIGN(const bool found, statement->step());
  const auto id = found ? DatabaseId::parse(statement->column_bytes(0)) : std::nullopt;
  if (!id) return make_error(ErrorCode::kCorrupt, "table _leat_meta does not hold exactly this database's identity");
  return std::optional(DatabaseState{*id, Cursor(static_cast<std::uint64_t>(statement->column_int64(1)))});
}

Result<void> create_state(sqlite::Connection& connection, const DatabaseState& state) {
  LEAT_TRY(
      connection.execute("create table _leat_meta (id integer primary key check (id = 1), database_id text not null,"
                         " applied integer not null) strict"));
  LEAT_ASSIGN(auto statement,
              connection.prepare("insert into _leat_meta values (1, ?1, ?2)", sqlite::Access::kInternal));
  const auto id = state.database_id.to_text();
  statement->bind(1, std::string_view(id));
  statement->bind(2, static_cast<std::int64_t>(state.applied.value()));
  return statement->run();
}

Result<void> write_database_id(sqlite::Connection& connection, const DatabaseId& database_id) {
  LEAT_ASSIGN(auto statement,
              connection.prepare("update _leat_meta set database_id = ?1 where id = 1", sqlite::Access::kInternal));
  const auto text = database_id.to_text();
  statement->bind(1, std::string_view(text));
  return statement->run();
}

Result<void> write_applied_cursor(sqlite::Connection& connection, Cursor applied) {
  LEAT_ASSIGN(auto statement,
              connection.prepare_cached("update _leat_meta set applied = ?1 where id = 1", sqlite::Access::kInternal));
  statement->bind(1, static_cast<std::int64_t>(applied.value()));
  return statement->run();
}

}  // namespace leat::changelog
