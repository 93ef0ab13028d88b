// Turns the row changes of one connection into change records, through the preupdate hook.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "changelog/catalog.h"
#include "changelog/record.h"
#include "core/error.h"
#include "core/sqlite.h"

namespace leat::changelog {

// Bound to one connection for its life; same thread. Collects while it is not paused. Records of work that SQLite rolls
// back must be rewound by whoever rolls back: take a position() before each savepoint or statement, rewind() to it
// after.
class Capture {
 public:
  struct Options {
    std::size_t transaction_bytes_max = 64u << 20;  // old and new images of one write (HAZARDS 5)
    std::vector<std::string> excluded_tables;       // by configuration: a write to one is refused
  };
  Capture(sqlite::Connection& connection, Options options);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  struct Position {
    std::size_t records = 0;
    std::size_t bytes = 0;
  };
  Position position() const;
  void rewind(Position position);  // forgets a refusal made after it, too

  // The first thing that cannot be replicated since the last rewind or take: no primary key, NULL in a key, a virtual
  // table, an excluded table, too many bytes. The write must then be rolled back.
  Result<void> status() const;
  // What has been recorded since; valid until the next change.
  std::span<const ChangeRecord> records_since(Position position) const;

  // The rowid of the last row that the current statement inserted itself (depth 0) into a rowid table, since
  // begin_statement(); else nullopt (HAZARDS 17). An UPDATE that an upsert made of an INSERT counts as no insert.
  void begin_statement();
  std::optional<std::int64_t> last_insert_rowid() const;

  // Runs one DDL statement with what must go with it, the same on master and apply (schema_change.h), and records it.
  // It runs with Leat's own rights: an application's statement has been compiled with Access::kWrite before. After an
  // error the caller rolls back to before the call and rewinds.
  Result<void> run_schema_change(const std::string& sql);

  // Adds SequenceChange records for AUTOINCREMENT tables inserted into, then hands over and clears all records.
  Result<std::vector<ChangeRecord>> take();

  // The catalog of the connection's schema as the current transaction sees it; reloaded after a schema change or
  // rollback.
  Result<std::shared_ptr<const Catalog>> catalog();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace leat::changelog
