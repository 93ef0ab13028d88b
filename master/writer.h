// The writer thread: takes writes from a queue, in order, and commits what has arrived as one group.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "changelog/checkpointer.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "core/ids.h"
#include "core/random.h"
#include "master/group_commit.h"
#include "master/store.h"
#include "master/write.h"

namespace leat::master {

struct WriterOptions {
  StoreOptions store;
  GroupCommit::Options group;
  std::uint64_t log_retention_bytes = 0;  // of the change log; 0 keeps all of it
};

class Writer {
 public:
  // Opens the store, replays, makes what system tables are missing, and starts the thread. `sink` is called on the
  // writer's thread for each block after its COMMIT; it must not block. Errors: Store::open's.
  static Result<std::unique_ptr<Writer>> start(WriterOptions options, FileSystem& files, Clock& clock, Random& random,
                                               BlockSink sink);
  ~Writer();  // stops
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Queues a write; its reply is sent when it is committed or refused: 503 at once when the queue is full or the writer
  // has stopped. Any thread.
  void submit(Write write);
  // Commits what is queued, then ends the thread. Any thread but the writer's; idempotent.
  void stop();

  Cursor committed() const { return Cursor(committed_.load(std::memory_order_acquire)); }
  bool is_serving() const { return serving_.load(std::memory_order_acquire); }  // false while recovering or stopped
  std::size_t queued() const;
  const DatabaseId& database_id() const { return store_->database_id(); }
  const std::string& database_path() const { return store_->options().database_path; }
  changelog::ChangeLog& log() { return store_->log(); }
  // The log is not recycled beyond this cursor: followers still need what comes after it. Any thread.
  void set_follower_floor(Cursor floor) { follower_floor_ = floor.value(); }

  struct Counts {
    std::atomic<std::uint64_t> groups{0};
    std::atomic<std::uint64_t> writes{0};
    std::atomic<std::int64_t> producers{0};
  };
  const Counts& counts() const { return counts_; }

 private:
  Writer(WriterOptions options, FileSystem& files, Clock& clock, BlockSink sink);
  void run();
  std::vector<Write> take_group();
  void keep_house();
  void try_to_recover();
  void submit_sweep();
  void count_producers();

  WriterOptions options_;
  FileSystem& files_;
  Clock& clock_;
  BlockSink sink_;
  std::unique_ptr<changelog::Checkpointer> checkpointer_;  // outlives the store's connection, which reports to it
  std::unique_ptr<Store> store_;
  std::optional<changelog::WalRestarter> wal_restarter_;
  std::unique_ptr<GroupCommit> group_commit_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Write> queue_;
  std::size_t queued_bytes_ = 0;
  bool stopping_ = false;

  std::atomic<std::uint64_t> committed_{0};
  std::atomic<bool> serving_{false};
  std::atomic<std::uint64_t> checkpointed_{0};
  std::atomic<std::uint64_t> follower_floor_;
  std::int64_t swept_us_ = 0;
  Counts counts_;
  std::thread thread_;
};

}  // namespace leat::master
