// The master's files: the database and the change log beside it, opened together, checked against each other, and
// brought to the same cursor by replay.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "changelog/block.h"
#include "changelog/log.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "core/folder_lock.h"
#include "core/ids.h"
#include "core/random.h"
#include "core/sqlite.h"

namespace leat::master {

using BlockSink = std::function<void(const changelog::AppliedBlock&)>;

struct StoreOptions {
  std::string database_path;
  std::string log_directory;
  std::uint64_t segment_bytes = 64u << 20;
};

// One thread, but `log()`'s calls for any thread.
class Store {
 public:
  // Makes what is missing. Refuses, changing nothing, with an error that says what to do: a database ahead of its log
  // (kCorrupt), a log with a hole (kCorrupt), another database's log (kDatabaseMismatch), a SQLite file that is not
  // Leat's (kDatabaseMismatch), files that another process holds (kUnavailable).
  static Result<std::unique_ptr<Store>> open(StoreOptions options, FileSystem& files, Random& random);

  // Applies what the log has beyond the database; each block goes to `sink` once it is committed.
  Result<void> replay(const BlockSink& sink);

  sqlite::Connection& connection() { return *connection_; }
  changelog::ChangeLog& log() { return *log_; }
  const DatabaseId& database_id() const { return database_id_; }
  Cursor applied() const { return applied_; }
  void set_applied(Cursor applied) { applied_ = applied; }
  const StoreOptions& options() const { return options_; }

 private:
  Store(StoreOptions options, FolderLock lock);
  // Everything that could refuse is looked at before anything is made.
  Result<void> inspect_database(FileSystem& files, Random& random);
  Result<void> open_log(FileSystem& files, Random& random);
  Result<void> make_database();

  StoreOptions options_;
  FolderLock lock_;
  std::unique_ptr<sqlite::Connection> connection_;
  std::unique_ptr<changelog::ChangeLog> log_;
  DatabaseId database_id_;
  Cursor applied_;
  bool is_new_ = false;
};

}  // namespace leat::master
