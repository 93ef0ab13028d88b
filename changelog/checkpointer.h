// Moves committed pages from the WAL into the database file, off the write path (HAZARDS 20), and knows how far that
// has gone: the log is needed for replay only beyond it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/ids.h"
#include "core/sqlite.h"

namespace leat::changelog {

class Checkpointer {
 public:
  struct Hooks {
    // Runs before each checkpoint; an error skips it. A follower syncs its segments here (HAZARDS 6).
    std::function<Result<void>()> before;
    // The database file now holds everything up to `floor`, synced.
    std::function<void(Cursor floor)> moved_everything;
  };
  // Opens a connection of its own to the database and starts the thread.
  static Result<std::unique_ptr<Checkpointer>> start(const std::string& database_path, Hooks hooks);
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // Called after a commit with the WAL's size; wakes the thread when there is enough to move. Any thread, cheap.
  void note_wal_pages(int pages);
  int wal_pages() const { return wal_pages_.load(std::memory_order_relaxed); }

 private:
  Checkpointer(std::unique_ptr<sqlite::Connection> connection, Hooks hooks);
  void run();
  Result<void> checkpoint();

  std::unique_ptr<sqlite::Connection> connection_;
  Hooks hooks_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::atomic<int> wal_pages_{0};
  std::thread thread_;
};

// Reports the WAL's pages to a checkpointer after each commit of `connection`. The checkpointer must outlive the
// connection.
void report_wal_pages(sqlite::Connection& connection, Checkpointer& checkpointer);

// Starts the WAL over from its beginning once it has grown long and if nobody reads from it, so that it stops growing.
// Called by the thread that writes, between two transactions; not often enough to matter when readers stand in the way.
class WalRestarter {
 public:
  // This is a checkpoint, too: `before` is what Checkpointer::Hooks says.
  WalRestarter(sqlite::Connection& connection, const Checkpointer& checkpointer, Clock& clock,
               std::function<Result<void>()> before = {})
      : connection_(connection), checkpointer_(checkpointer), clock_(clock), before_(std::move(before)) {}
  void restart_if_long();

 private:
  sqlite::Connection& connection_;
  const Checkpointer& checkpointer_;
  Clock& clock_;
  std::function<Result<void>()> before_;
  std::int64_t tried_us_ = 0;
};

}  // namespace leat::changelog
