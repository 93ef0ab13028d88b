// A follower's copy: the database, and segment files of its own that hold the log as it arrived. Blocks go into both:
// the same apply as the master's recovery.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "changelog/apply.h"
#include "changelog/block.h"
#include "changelog/checkpointer.h"
#include "changelog/log.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "core/folder_lock.h"
#include "core/ids.h"
#include "core/random.h"
#include "core/sqlite.h"

namespace leat::follower {

struct ReplicaOptions {
  std::string database_path;
  std::string log_directory;
  std::uint64_t segment_bytes = 64u << 20;
};

// One thread, but sync(), applied(), durable() and commit_time() for any.
class Replica {
 public:
  using BlockSink = std::function<void(const changelog::AppliedBlock&)>;

  // Makes what is missing; replays its own segments where the database is behind them, and starts them again at the
  // database's cursor where it is ahead of them (HAZARDS 6). `sink` gets each block after its COMMIT, also those
  // replayed. Errors: kDatabaseMismatch, kCorrupt, kUnavailable (another process holds the files), kIo.
  static Result<std::unique_ptr<Replica>> open(ReplicaOptions options, FileSystem& files, Clock& clock, Random& random,
                                               BlockSink sink);
  ~Replica();
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  // Nil until the first master has been met.
  const DatabaseId& database_id() const { return database_id_; }
  // An empty replica takes up a database. Error: kDatabaseMismatch when it holds another one.
  Result<void> adopt(const DatabaseId& database_id);

  // Takes whole blocks, one after the other, as they come from the wire: writes them to its log, applies them in one
  // SQLite transaction, feeds them on. Blocks it already holds are skipped; a gap is kCorrupt and changes nothing.
  // After any error the same blocks may be sent again.
  Result<void> apply(std::string_view blocks);
  // Makes what was applied durable.
  Result<void> sync();

  Cursor applied() const { return Cursor(applied_.load(std::memory_order_acquire)); }
  Cursor durable() const;
  UnixMs commit_time() const { return UnixMs{commit_time_ms_.load(std::memory_order_acquire)}; }  // of applied()

 private:
  Replica(ReplicaOptions options, FileSystem& files, Random& random, FolderLock lock, BlockSink sink);
  Result<void> open_database();
  Result<void> open_log();
  Result<void> replay();
  Result<void> apply_run(const std::vector<changelog::EncodedBlock>& blocks);
  // Both with log_mutex_ held.
  Result<void> write_to_log(const std::vector<changelog::EncodedBlock>& blocks);
  Result<void> repair_log();

  ReplicaOptions options_;
  FileSystem& files_;
  Random& random_;
  FolderLock lock_;
  BlockSink sink_;
  DatabaseId database_id_;
  std::atomic<std::uint64_t> applied_{0};
  std::atomic<std::int64_t> commit_time_ms_{0};
  std::unique_ptr<changelog::ChangeLog> log_;
  bool log_failed_ = false;  // a write or sync failed: recover before anything else
  // The checkpointer's thread syncs the log, too. Held from a block's way into the log until it is applied, so that
  // whoever has it sees both at the same cursor, or the failure in between.
  mutable std::mutex log_mutex_;
  std::unique_ptr<changelog::Checkpointer> checkpointer_;  // outlives the connection, which reports to it
  std::unique_ptr<sqlite::Connection> connection_;
  std::unique_ptr<changelog::Applier> applier_;
  std::optional<changelog::WalRestarter> wal_restarter_;
};

}  // namespace leat::follower
