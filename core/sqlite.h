// SQLite with owners, results and rules. A Connection and its Statements belong to one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/value.h"

struct sqlite3;
struct sqlite3_stmt;

namespace leat::sqlite {

// Who asks for a statement, and so what it may do. Checked by the authorizer while the statement is
// compiled, never by matching its text.
enum class Access : std::uint8_t {
  kInternal,  // Leat itself: everything
  kRead,      // a query: nothing that changes the database
  kWrite,     // an application's write: rows of its own tables, and DDL (traits say so)
};

// What the authorizer and sqlite3_stmt_* found out about a compiled statement.
struct StatementTraits {
  bool writes = false;  // changes rows or schema (HAZARDS 25: by the authorizer, not stmt_readonly)
  bool is_ddl = false;  // creates, alters or drops something
  bool drops_table = false;
  bool alters_table = false;
  bool creates_virtual_table = false;
  bool touches_temp = false;             // creates or drops something temporary
  bool rolls_back = false;               // ROLLBACK or ROLLBACK TO; only kInternal gets that far
  std::string changed_table;             // what an INSERT, UPDATE or DELETE itself names; empty for everything else
  std::vector<std::string> tables_read;  // each once, as SQLite names them
};

struct Column {
  std::string name;
  // As SQLite gives it: upper-case for its standard types (INTEGER, REAL, TEXT, BLOB, ANY, INT, NUM), however they were
  // written; as declared for the rest.
  std::optional<std::string> declared_type;
};

class Connection;

// One compiled statement. Reset and unbound when it goes back to the cache.
class Statement {
 public:
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  const StatementTraits& traits() const { return traits_; }
  int parameter_count() const;
  // With its prefix (`:name`, `@name`, `$name`, `?3`), empty for a plain `?`. Index from 1.
  std::string_view parameter_name(int index) const;

  // Index from 1. Text and blob bytes must stay alive until the statement is reset. A value that SQLite refuses (too
  // big, no such parameter) fails the next step.
  void bind(int index, const Value& value);
  void bind(int index, std::int64_t value);
  void bind(int index, std::string_view text);
  void bind_blob(int index, std::string_view bytes);
  void bind_null(int index);

  // True when a row is there, false when the statement is done. An error resets nothing: call reset.
  Result<bool> step();
  // step() to the end, rows ignored, then reset.
  Result<void> run();
  void reset();  // also clears bindings

  int column_count() const;
  // The column descriptions; a RETURNING column has its declared type too (WIRE).
  std::vector<Column> columns() const;
  Value column(int index) const;  // index from 0, of the current row
  std::int64_t column_int64(int index) const;
  std::string_view column_bytes(int index) const;  // text or blob; valid until the next step or reset
  bool column_is_null(int index) const;

  sqlite3_stmt* handle() const { return handle_; }

 private:
  friend class Connection;
  friend class CachedStatement;
  Statement(Connection& connection, sqlite3_stmt* handle, Access access, StatementTraits traits);
  void release();  // back to the cache
  const std::vector<Column>& returning_columns() const;
  void note_bind(int code);

  Connection& connection_;
  sqlite3_stmt* handle_;
  Access access_;
  bool in_use_ = false;    // handed out by prepare_cached
  bool is_spare_ = false;  // not in the cache: goes when it is given back
  int bind_code_ = 0;      // SQLite's code for the first bind that failed
  StatementTraits traits_;
  mutable std::optional<std::vector<Column>> returning_columns_;
};

// Gives a cached statement back (reset, unbound) when it goes out of scope.
class CachedStatement {
 public:
  explicit CachedStatement(Statement& statement) : statement_(&statement) {}
  CachedStatement(CachedStatement&& other) noexcept : statement_(std::exchange(other.statement_, nullptr)) {}
  CachedStatement& operator=(CachedStatement&& other) noexcept;
  ~CachedStatement() {
    if (statement_ != nullptr) statement_->release();
  }
  Statement* operator->() const { return statement_; }
  Statement& operator*() const { return *statement_; }

 private:
  Statement* statement_;
};

enum class OpenMode : std::uint8_t { kReadOnly, kReadWrite, kCreate };

// Every connection: extended result codes, defensive mode on, load_extension off, trusted_schema off,
// double-quoted string literals off, busy timeout zero, the case-sensitive LIKE and the ILIKE function of the
// live plane NOT installed (they have names of their own), limits of core/limits.h applied.
class Connection {
 public:
  static Result<std::unique_ptr<Connection>> open(const std::string& path, OpenMode mode);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Compiles exactly one statement. Errors: kStatementInvalid for none or more than one,
  // kStatementUnsupported for what `access` refuses, else kSqliteError with SQLite's code and message.
  Result<std::unique_ptr<Statement>> prepare(std::string_view sql, Access access);
  // The same from an LRU cache keyed by text and access (statement_cache_entries_max). A statement that is still in
  // use is never handed out twice: the second caller gets a fresh one that lives as long.
  Result<CachedStatement> prepare_cached(std::string_view sql, Access access);
  // Runs any number of statements with kInternal access, rows ignored.
  Result<void> execute(const std::string& sql);

  bool in_transaction() const;   // false when autocommit is on (HAZARDS 14)
  std::int64_t changes() const;  // rows changed by the last statement, triggers not counted
  std::int64_t total_changes() const;
  std::int64_t last_insert_rowid() const;

  // Statements stepped after this call end with SQLITE_INTERRUPT once the deadline has passed. Checked by the
  // progress handler. No deadline: nullopt.
  void set_deadline(std::optional<std::chrono::steady_clock::time_point> deadline);
  // Ends the statement that runs now with SQLITE_INTERRUPT. From any thread.
  void interrupt();

  // Foreign-key violations that are deferred and unresolved now (SQLITE_DBSTATUS_DEFERRED_FKS).
  std::int64_t deferred_foreign_keys() const;
  // Writes dirty pages to the WAL so that a full disk strikes before COMMIT (HAZARDS 15).
  Result<void> flush_cache();

  // The error of the last failed call on this connection, with the constraint filled in.
  Error last_error() const;
  sqlite3* handle() const { return handle_; }

  // Grows whenever a statement of this connection may have changed the schema, or rolled such a change back.
  std::uint64_t schema_generation() const;
  // Every statement is compiled again at its next step: for hooks that change what SQLite compiles.
  void expire_statements();

  // Called when a kWrite statement is compiled (or compiled again because the schema changed) with each table that it
  // would change, its triggers' and cascades' included; an error refuses the statement. Installed by the master
  // (reserved and excluded tables). Unset: only sqlite_* tables are refused.
  using TableGuard = std::function<Result<void>(std::string_view table)>;
  void set_table_guard(TableGuard guard);

 private:
  friend class Statement;
  struct Impl;
  explicit Connection(std::unique_ptr<Impl> impl, sqlite3* handle);
  std::unique_ptr<Impl> impl_;
  sqlite3* handle_;
};

// Settings of the connection that writes: WAL, synchronous=NORMAL, no automatic checkpoints, foreign keys on.
Result<void> configure_writer(Connection& connection);
// Settings of a connection that only reads a WAL database: query_only.
Result<void> configure_reader(Connection& connection);

// The error for one of SQLite's result codes, with the constraint's kind, and its table and columns where SQLite says.
Error make_sqlite_error(int extended_code, std::string message);

}  // namespace leat::sqlite
