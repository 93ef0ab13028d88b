#include "changelog/checkpointer.h"

#include <sqlite3.h>

#include <chrono>

#include "changelog/state.h"
#include "core/log.h"

namespace leat::changelog {

namespace {

constexpr int wal_pages_wake = 1'000;     // about 4 MiB
constexpr int wal_restart_pages = 4'096;  // about 16 MiB
constexpr std::int64_t wal_restart_interval_us = 20'000;
constexpr auto idle_interval = std::chrono::seconds(1);

}  // namespace

Result<std::unique_ptr<Checkpointer>> Checkpointer::start(const std::string& database_path, Hooks hooks) {
  LEAT_ASSIGN(auto connection, sqlite::Connection::open(database_path, sqlite::OpenMode::kReadWrite));
  LEAT_TRY(sqlite::configure_writer(*connection));
  std::unique_ptr<Checkpointer> checkpointer(new Checkpointer(std::move(connection), std::move(hooks)));
  checkpointer->thread_ = std::thread([self = checkpointer.get()] { self->run(); });
  return checkpointer;
}

Checkpointer::Checkpointer(std::unique_ptr<sqlite::Connection> connection, Hooks hooks)
    : connection_(std::move(connection)), hooks_(std::move(hooks)) {}

Checkpointer::~Checkpointer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Checkpointer::note_wal_pages(int pages) {
  const int before = wal_pages_.exchange(pages, std::memory_order_relaxed);
  if (before < wal_pages_wake && pages >= wal_pages_wake) wake_.notify_one();
}

void Checkpointer::run() {
  int done_pages = 0;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wake_.wait_for(lock, idle_interval,
                   [&] { return stopping_ || (wal_pages_ >= wal_pages_wake && wal_pages_ != done_pages); });
    if (stopping_) break;
    const int pages = wal_pages_.load(std::memory_order_relaxed);
    if (pages == done_pages) continue;
    lock.unlock();
    if (auto done = checkpoint(); done.has_error()) {
      log().warn("checkpoint failed, will be tried again", {{"error", done.error().message}});
    } else {
      done_pages = pages;
    }
    lock.lock();
    // A checkpoint takes milliseconds; waiting a little between two lets the WAL collect pages that are written again.
    wake_.wait_for(lock, std::chrono::milliseconds(100), [&] { return stopping_; });
  }
}

Result<void> Checkpointer::checkpoint() {
  if (hooks_.before) LEAT_TRY(hooks_.before());
  // Read before the checkpoint: what commits meanwhile may not be moved.
  LEAT_ASSIGN(const auto state, read_state(*connection_));
  int wal_frames = 0;
  int moved_frames = 0;
  const int code =
      sqlite3_wal_checkpoint_v2(connection_->handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, &wal_frames, &moved_frames);
  if (code == SQLITE_BUSY) return {};
  if (code != SQLITE_OK) return connection_->last_error();
  if (state && wal_frames == moved_frames && hooks_.moved_everything) hooks_.moved_everything(state->applied);
  return {};
}

void report_wal_pages(sqlite::Connection& connection, Checkpointer& checkpointer) {
  sqlite3_wal_hook(
      connection.handle(),
      [](void* context, sqlite3*, const char*, int pages) {
        static_cast<Checkpointer*>(context)->note_wal_pages(pages);
        return SQLITE_OK;
      },
      &checkpointer);
}

void WalRestarter::restart_if_long() {
  if (checkpointer_.wal_pages() <= wal_restart_pages) return;
  const std::int64_t now_us = clock_.monotonic_us();
  if (tried_us_ != 0 && now_us - tried_us_ < wal_restart_interval_us) return;
  tried_us_ = now_us;
  if (before_ && before_().has_error()) return;
  sqlite3_wal_checkpoint_v2(connection_.handle(), nullptr, SQLITE_CHECKPOINT_RESTART, nullptr, nullptr);
}

}  // namespace leat::changelog
