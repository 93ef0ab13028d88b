// Inside of the SQLite wrapper; for core/sqlite_*.cpp only.
#pragma once

#include <sqlite3.h>

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/sqlite.h"
#include "core/sqlite_authorizer.h"

namespace leat::sqlite {

struct StatementKey {
  std::string_view sql;
  Access access;
  friend bool operator==(const StatementKey&, const StatementKey&) = default;
};

struct StatementKeyHash {
  std::size_t operator()(const StatementKey& key) const noexcept {
    return std::hash<std::string_view>{}(key.sql) * 3 + static_cast<std::size_t>(key.access);
  }
};

struct CacheEntry {
  std::string sql;
  std::unique_ptr<Statement> statement;
};

struct Connection::Impl {
  std::optional<std::chrono::steady_clock::time_point> deadline;
  TableGuard guard;

  // Who is asked by the authorizer: the check of the statement that compiles, or, when SQLite compiles a statement
  // again inside of a step, a check made for the statement that steps.
  StatementCheck* compiling = nullptr;
  Statement* stepping = nullptr;
  std::optional<StatementCheck> recompiling;

  std::uint64_t schema_generation = 0;
  bool schema_touched = false;  // in the open transaction

  std::list<CacheEntry> cache;  // most recently used first; the keys below point into it
  std::unordered_map<StatementKey, std::list<CacheEntry>::iterator, StatementKeyHash> cached;
  std::vector<std::unique_ptr<Statement>> spares;

  static int authorize(void* context, int action, const char* first, const char* second, const char* database,
                       const char* inner);
  static int on_progress(void* context);
  static void on_rollback(void* context);
  // Compiles the first statement of `sql`; null when there is only white space. `rest` is what follows it.
  static Result<std::unique_ptr<Statement>> compile(Connection& connection, std::string_view sql, Access access,
                                                    bool persistent, std::string_view& rest);
  static bool holds_statement(Connection& connection, std::string_view sql);
  void note_step(const Statement& statement, sqlite3* db);
  void evict();
};

}  // namespace leat::sqlite
