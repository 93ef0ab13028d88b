#include "core/http_io.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <ctime>

namespace leat::http_detail {

namespace {

// Timeouts are checked this many times within the shortest of them.
constexpr std::int64_t kSweepsPerTimeout = 8;
constexpr std::int64_t sweep_ms_min = 5;
constexpr std::int64_t sweep_ms_max = 500;

std::string http_date() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[40];
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc)};
}

}  // namespace

IoThread::IoThread(std::shared_ptr<ServerState> server_state)
    : state(std::move(server_state)), sweep_timer_(context), date_(http_date()) {
  const HttpServerLimits& limits = state->limits;
  const std::int64_t shortest = std::min(
      {limits.read_timeout_ms, limits.idle_timeout_ms, limits.ping_interval_ms, limits.pong_timeout_ms, kLingerMs});
  sweep_ms_ = std::clamp(shortest / kSweepsPerTimeout, sweep_ms_min, sweep_ms_max);
}

std::int64_t IoThread::now_ms() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

void IoThread::start() {
  guard_.emplace(asio::make_work_guard(context));
  asio::post(context, [this] { schedule_sweep(); });
  thread_ = std::thread([this] {
    id_ = std::this_thread::get_id();
    context.run();
  });
}

void IoThread::finish() {
  asio::post(context, [this] {
    sweep_timer_.cancel();
    guard_.reset();
  });
  if (thread_.joinable()) thread_.join();
  const std::lock_guard lock(mutex_);
  is_over_ = true;
  ready_.clear();
}

void IoThread::notify(std::shared_ptr<Session> session) {
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    if (is_over_) return;
    is_first = ready_.empty();
    ready_.push_back(std::move(session));
  }
  if (is_first) asio::post(context, [this] { drain(); });
}

void IoThread::drain() {
  {
    const std::lock_guard lock(mutex_);
    draining_.swap(ready_);
  }
  for (const std::shared_ptr<Session>& session : draining_) session->wake();
  draining_.clear();
}

void IoThread::schedule_sweep() {
  sweep_timer_.expires_after(std::chrono::milliseconds(sweep_ms_));
  sweep_timer_.async_wait([this](IoError error) {
    if (error || !guard_) return;
    date_ = http_date();
    const std::int64_t now = now_ms();
    for (const std::shared_ptr<Session>& session : sessions()) session->sweep(now);
    schedule_sweep();
  });
}

std::vector<std::shared_ptr<Session>> IoThread::sessions() const {
  std::vector<std::shared_ptr<Session>> out;
  out.reserve(sessions_.size());
  for (const auto& [key, session] : sessions_) out.push_back(session);
  return out;
}

void IoThread::begin_stop() {
  for (const std::shared_ptr<Session>& session : sessions()) session->begin_stop();
}

void IoThread::abort() {
  for (const std::shared_ptr<Session>& session : sessions()) session->abort();
}

}  // namespace leat::http_detail
