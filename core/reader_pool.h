// Reader connections with a thread each, and one bounded queue in front of them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/limits.h"
#include "core/sqlite.h"

namespace leat {

// All calls from any thread, but stop() and the destructor not from a job. Jobs run at once on different connections;
// one connection runs one job at a time.
class ReaderPool {
 public:
  struct Options {
    std::string path;
    std::size_t threads = default_threads();
    std::size_t queue_max = reader_queue_max;  // jobs that wait
    std::chrono::milliseconds idle_max{reader_idle_ms_max};
    std::function<Result<void>(sqlite::Connection&)> on_open;  // after configure_reader; may be empty
  };
  // One per processor, within reader_threads_min and reader_threads_max.
  static std::size_t default_threads();

  explicit ReaderPool(Options options);
  ~ReaderPool();  // stop()
  ReaderPool(const ReaderPool&) = delete;
  ReaderPool& operator=(const ReaderPool&) = delete;

  // Called once, on a reader's thread: with a connection that is only lent for the call, or with why there is none. Its
  // statements end with SQLITE_INTERRUPT `time_max` after the call began.
  using Job = std::function<void(Result<sqlite::Connection*>)>;
  // Errors, the job then is not called: kQueueFull and, once stopping, kUnavailable; both to be tried again.
  Result<void> submit(std::chrono::milliseconds time_max, Job job);

  // submit() for work that has an answer. `done` is called exactly once: on a reader's thread, or, when the job is not
  // taken, on the caller's before this returns.
  template <class T>
  void read(std::chrono::milliseconds time_max, std::function<Result<T>(sqlite::Connection&)> work,
            std::function<void(Result<T>)> done) {
    auto job = [work = std::move(work), done](Result<sqlite::Connection*> connection) {
      if (connection.has_error()) return done(std::move(connection).error());
      done(work(**connection));
    };
    auto taken = submit(time_max, std::move(job));
    if (taken.has_error()) done(std::move(taken).error());
  }

  // Takes no more jobs, finishes those it has, and ends the threads.
  void stop();

  std::size_t waiting() const;           // jobs in the queue
  std::size_t open_connections() const;  // for metrics

 private:
  struct Waiting {
    std::chrono::milliseconds time_max;
    Job job;
  };
  void run_reader();
  Result<std::unique_ptr<sqlite::Connection>> open_reader() const;
  void run_job(std::unique_ptr<sqlite::Connection>& connection, Waiting next);

  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> queue_;
  std::size_t open_connections_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace leat
