#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "core/sqlite_internal.h"

namespace leat::sqlite {

int Connection::Impl::authorize(void* context, int action, const char* first, const char* second, const char* database,
                                const char* /*inner*/) {
  auto& impl = *static_cast<Impl*>(context);
  if (impl.compiling != nullptr) return impl.compiling->on_action(action, first, second, database);
  if (impl.stepping == nullptr) return SQLITE_OK;
  if (!impl.recompiling)
    impl.recompiling.emplace(impl.stepping->access_, impl.guard, StatementCheck::When::kInsideStep);
  return impl.recompiling->on_action(action, first, second, database);
}

int Connection::Impl::on_progress(void* context) {
  const auto& deadline = static_cast<Impl*>(context)->deadline;
  return deadline && std::chrono::steady_clock::now() >= *deadline ? 1 : 0;
}

void Connection::Impl::on_rollback(void* context) {
  auto& impl = *static_cast<Impl*>(context);
  if (std::exchange(impl.schema_touched, false)) ++impl.schema_generation;
}

void Connection::Impl::note_step(const Statement& statement, sqlite3* db) {
  if (statement.traits_.is_ddl) {
    ++schema_generation;
    schema_touched = true;
  }
  if (!schema_touched) return;
  if (statement.traits_.rolls_back) ++schema_generation;
  if (sqlite3_get_autocommit(db) != 0) schema_touched = false;
}

Result<std::unique_ptr<Statement>> Connection::Impl::compile(Connection& connection, std::string_view sql,
                                                             Access access, bool persistent, std::string_view& rest) {
  if (sql.find('\0') != std::string_view::npos) {
    return make_error(ErrorCode::kStatementInvalid, "a statement must not contain a NUL character");
  }
  if (sql.size() > sql_bytes_max) {
    return make_error(ErrorCode::kLimit,
                      "a statement is longer than sql_bytes_max (" + std::to_string(sql_bytes_max) + " bytes)");
  }
  auto& impl = *connection.impl_;
  StatementCheck check(access, impl.guard);
  auto* outer = std::exchange(impl.compiling, &check);
  sqlite3_stmt* handle = nullptr;
  const char* tail = nullptr;
  const unsigned flags = persistent ? SQLITE_PREPARE_PERSISTENT : 0;
  const int code =
      sqlite3_prepare_v3(connection.handle_, sql.data(), static_cast<int>(sql.size()), flags, &handle, &tail);
  std::optional<Error> failure;
  if (code != SQLITE_OK) failure = check.refusal() ? *check.refusal() : connection.last_error();
  if (failure || handle == nullptr) {
    impl.compiling = outer;
    if (failure) return *std::move(failure);
    rest = tail == nullptr ? std::string_view() : sql.substr(static_cast<std::size_t>(tail - sql.data()));
    return std::unique_ptr<Statement>();
  }
  rest = sql.substr(static_cast<std::size_t>(tail - sql.data()));
  StatementTraits traits;
  {
    auto verdict = check.finish(handle);
    impl.compiling = outer;
    if (verdict.has_error()) {
      sqlite3_finalize(handle);
      return std::move(verdict).error();
    }
    traits = std::move(verdict).value();
  }
  return std::unique_ptr<Statement>(new Statement(connection, handle, access, std::move(traits)));
}

// Whether there is anything but white space, comments and semicolons. Every action is denied meanwhile, because some
// pragmas take effect while they are compiled.
bool Connection::Impl::holds_statement(Connection& connection, std::string_view sql) {
  while (!sql.empty()) {
    sqlite3_stmt* handle = nullptr;
    const char* tail = nullptr;
    sqlite3_set_authorizer(
        connection.handle_, [](void*, int, const char*, const char*, const char*, const char*) { return SQLITE_DENY; },
        nullptr);
    const int code =
        sqlite3_prepare_v3(connection.handle_, sql.data(), static_cast<int>(sql.size()), 0, &handle, &tail);
    sqlite3_set_authorizer(connection.handle_, &Impl::authorize, connection.impl_.get());
    const bool found = code != SQLITE_OK || handle != nullptr;
    sqlite3_finalize(handle);
    if (found) return true;
    sql.remove_prefix(static_cast<std::size_t>(tail - sql.data()));
  }
  return false;
}

Connection::Connection(std::unique_ptr<Impl> impl, sqlite3* handle) : impl_(std::move(impl)), handle_(handle) {}

Connection::~Connection() {
  impl_->cached.clear();
  impl_->cache.clear();
  impl_->spares.clear();
  sqlite3_rollback_hook(handle_, nullptr, nullptr);
  sqlite3_close_v2(handle_);
}

Result<std::unique_ptr<Connection>> Connection::open(const std::string& path, OpenMode mode) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_PRIVATECACHE;
  flags |= mode == OpenMode::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (mode == OpenMode::kCreate) flags |= SQLITE_OPEN_CREATE;
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  if (code != SQLITE_OK) {
    auto error = make_sqlite_error(code, path + ": " + (handle != nullptr ? sqlite3_errmsg(handle) : "out of memory"));
    sqlite3_close(handle);
    return error;
  }
  std::unique_ptr<Connection> connection(new Connection(std::make_unique<Impl>(), handle));
  const std::pair<int, int> settings[] = {
      {SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0}, {SQLITE_DBCONFIG_DQS_DML, 0},
      {SQLITE_DBCONFIG_DQS_DDL, 0},        {SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0}};
  for (const auto& [setting, value] : settings) sqlite3_db_config(handle, setting, value, nullptr);
  sqlite3_limit(handle, SQLITE_LIMIT_SQL_LENGTH, static_cast<int>(sql_bytes_max));
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, static_cast<int>(value_bytes_max));
  sqlite3_limit(handle, SQLITE_LIMIT_VARIABLE_NUMBER, bound_values_max);
  sqlite3_busy_timeout(handle, 0);
  auto* impl = connection->impl_.get();
  sqlite3_set_authorizer(handle, &Impl::authorize, impl);
  sqlite3_progress_handler(handle, progress_operations, &Impl::on_progress, impl);
  sqlite3_rollback_hook(handle, &Impl::on_rollback, impl);
  return connection;
}

Result<std::unique_ptr<Statement>> Connection::prepare(std::string_view sql, Access access) {
  std::string_view rest = sql;
  std::unique_ptr<Statement> statement;
  do {
    LEAT_ASSIGN(statement, Impl::compile(*this, rest, access, false, rest));
  } while (statement == nullptr && !rest.empty());
  if (statement == nullptr) return make_error(ErrorCode::kStatementInvalid, "the statement is empty");
  if (Impl::holds_statement(*this, rest)) {
    return make_error(ErrorCode::kStatementInvalid, "one Statement may contain only one SQL statement");
  }
  return statement;
}

Result<CachedStatement> Connection::prepare_cached(std::string_view sql, Access access) {
  auto& impl = *impl_;
  const auto found = impl.cached.find(StatementKey{sql, access});
  if (found != impl.cached.end() && !found->second->statement->in_use_) {
    impl.cache.splice(impl.cache.begin(), impl.cache, found->second);
    auto& statement = *found->second->statement;
    statement.in_use_ = true;
    return CachedStatement(statement);
  }
  const bool spare = found != impl.cached.end();
  LEAT_ASSIGN(auto fresh, prepare(sql, access));
  auto& statement = *fresh;
  statement.in_use_ = true;
  statement.is_spare_ = spare;
  if (spare) {
    impl.spares.push_back(std::move(fresh));
  } else {
    impl.cache.push_front(CacheEntry{std::string(sql), std::move(fresh)});
    impl.cached.emplace(StatementKey{impl.cache.front().sql, access}, impl.cache.begin());
    impl.evict();
  }
  return CachedStatement(statement);
}

void Connection::Impl::evict() {
  for (auto at = cache.end(); cache.size() > statement_cache_entries_max && at != cache.begin();) {
    --at;
    if (at->statement->in_use_) continue;
    cached.erase(StatementKey{at->sql, at->statement->access_});
    at = cache.erase(at);
  }
}

Result<void> Connection::execute(const std::string& sql) {
  std::string_view rest = sql;
  while (!rest.empty()) {
    LEAT_ASSIGN(auto statement, Impl::compile(*this, rest, Access::kInternal, false, rest));
    if (statement != nullptr) LEAT_TRY(statement->run());
  }
  return {};
}

bool Connection::in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }
std::int64_t Connection::changes() const { return sqlite3_changes64(handle_); }
std::int64_t Connection::total_changes() const { return sqlite3_total_changes64(handle_); }
std::int64_t Connection::last_insert_rowid() const { return sqlite3_last_insert_rowid(handle_); }

void Connection::set_deadline(std::optional<std::chrono::steady_clock::time_point> deadline) {
  impl_->deadline = deadline;
}

void Connection::interrupt() { sqlite3_interrupt(handle_); }

std::int64_t Connection::deferred_foreign_keys() const {
  int current = 0;
  int highest = 0;
  sqlite3_db_status(handle_, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0);
  return current;
}

Result<void> Connection::flush_cache() {
  const int code = sqlite3_db_cacheflush(handle_);
  if (code == SQLITE_OK) return {};
  return make_sqlite_error(code, sqlite3_errstr(code));
}

std::uint64_t Connection::schema_generation() const { return impl_->schema_generation; }

void Connection::expire_statements() { sqlite3_set_authorizer(handle_, &Impl::authorize, impl_.get()); }

void Connection::set_table_guard(TableGuard guard) {
  impl_->guard = std::move(guard);
  expire_statements();
}

Result<void> configure_writer(Connection& connection) {
  return connection.execute(
      "pragma journal_mode=wal; pragma synchronous=normal; pragma wal_autocheckpoint=0; pragma foreign_keys=on");
}

Result<void> configure_reader(Connection& connection) { return connection.execute("pragma query_only=on"); }

}  // namespace leat::sqlite
