#include "core/reader_pool.h"

#include <algorithm>

namespace leat {

std::size_t ReaderPool::default_threads() {
  return std::clamp(std::size_t{std::thread::hardware_concurrency()}, reader_threads_min, reader_threads_max);
}

ReaderPool::ReaderPool(Options options) : options_(std::move(options)) {
  for (std::size_t i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { run_reader(); });
}

ReaderPool::~ReaderPool() { stop(); }

Result<void> ReaderPool::submit(std::chrono::milliseconds time_max, Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return make_error(ErrorCode::kUnavailable, "the server is stopping", RetryScope::kRequest);
    if (queue_.size() >= options_.queue_max) {
      return make_error(ErrorCode::kQueueFull,
                        "too many reads wait (" + std::to_string(options_.queue_max) + "); try again shortly",
                        RetryScope::kRequest);
    }
    queue_.push_back(Waiting{time_max, std::move(job)});
  }
  changed_.notify_one();
  return {};
}

void ReaderPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (auto& thread : std::exchange(threads_, {})) thread.join();
}

std::size_t ReaderPool::waiting() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

std::size_t ReaderPool::open_connections() const {
  const std::lock_guard lock(mutex_);
  return open_connections_;
}

Result<std::unique_ptr<sqlite::Connection>> ReaderPool::open_reader() const {
  LEAT_ASSIGN(auto connection, sqlite::Connection::open(options_.path, sqlite::OpenMode::kReadWrite));
  LEAT_TRY(sqlite::configure_reader(*connection));
  if (options_.on_open) LEAT_TRY(options_.on_open(*connection));
  return connection;
}

void ReaderPool::run_job(std::unique_ptr<sqlite::Connection>& connection, Waiting next) {
  if (connection == nullptr) {
    auto opened = open_reader();
    if (opened.has_error()) return next.job(std::move(opened).error());
    connection = std::move(opened).value();
    const std::lock_guard lock(mutex_);
    ++open_connections_;
  }
  connection->set_deadline(std::chrono::steady_clock::now() + next.time_max);
  next.job(connection.get());
  connection->set_deadline(std::nullopt);
  // A job that left its transaction open would hold back checkpoints for as long as this connection lives.
  if (connection->in_transaction() && connection->execute("rollback").has_error()) {
    connection.reset();
    const std::lock_guard lock(mutex_);
    --open_connections_;
  }
}

void ReaderPool::run_reader() {
  std::unique_ptr<sqlite::Connection> connection;
  std::unique_lock lock(mutex_);
  const auto has_work = [this] { return stopping_ || !queue_.empty(); };
  while (true) {
    if (connection == nullptr) {
      changed_.wait(lock, has_work);
    } else if (!changed_.wait_for(lock, options_.idle_max, has_work)) {
      --open_connections_;
      lock.unlock();
      connection.reset();
      lock.lock();
      continue;
    }
    if (queue_.empty()) break;
    auto next = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    run_job(connection, std::move(next));
    lock.lock();
  }
  if (connection != nullptr) --open_connections_;
}

}  // namespace leat
