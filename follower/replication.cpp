#include "follower/replication.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/log.h"

namespace leat::follower {

namespace {

constexpr std::int64_t backoff_first_ms = 50;
constexpr std::int64_t backoff_last_ms = 2'000;
constexpr std::int64_t refused_retry_ms = 5'000;
constexpr std::int64_t silence_ms_max = 5 * changelog::heartbeat_interval_ms;  // then the connection is taken for dead
constexpr std::int64_t sync_interval_us = 100'000;
constexpr std::int64_t receive_wait_ms = 100;
constexpr std::int64_t connect_ms_max = 3'000;  // also what stop() may have to wait for

}  // namespace

Replication::Replication(Replica& replica, ReplicationOptions options, Clock& clock)
    : replica_(replica), options_(std::move(options)), clock_(clock) {
  thread_ = std::thread([this] { run(); });
}

Replication::~Replication() { stop(); }

void Replication::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (socket_ != nullptr) socket_->cancel();
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

std::string Replication::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

void Replication::set_problem(std::string problem) {
  const std::lock_guard lock(mutex_);
  if (problem != problem_) leat::log().warn("not following the master", {{"reason", problem}});
  problem_ = std::move(problem);
}

std::int64_t Replication::lag_ms() const {
  if (state() == ReplicationState::kFollowing && replica_.applied() >= head()) return 0;
  if (replica_.commit_time() == UnixMs{}) return 0;  // nothing is applied that could be old
  const std::int64_t now_there = clock_.now().value + master_ahead_ms_.load(std::memory_order_relaxed);
  return std::max<std::int64_t>(0, now_there - replica_.commit_time().value);
}

void Replication::run() {
  std::int64_t backoff_ms = backoff_first_ms;
  while (true) {
    auto ended = follow();
    std::unique_lock lock(mutex_);
    socket_.reset();
    if (stopping_) break;
    lock.unlock();
    if (ended.has_error()) set_problem(ended.error().message);
    const bool was_following = state_.load() == ReplicationState::kFollowing;
    if (state_.load() != ReplicationState::kRefused) state_ = ReplicationState::kConnecting;
    backoff_ms = was_following ? backoff_first_ms : std::min(backoff_ms * 2, backoff_last_ms);
    const std::int64_t wait_ms = state_.load() == ReplicationState::kRefused ? refused_retry_ms : backoff_ms;
    lock.lock();
    wake_.wait_for(lock, std::chrono::milliseconds(wait_ms), [&] { return stopping_; });
    if (stopping_) break;
  }
}

Result<std::unique_ptr<WebSocketClient>> Replication::connect() {
  HttpHeaders headers;
  if (!options_.source_token.empty()) headers.emplace_back("Authorization", "Bearer " + options_.source_token);
  return WebSocketClient::connect(options_.source, headers, connect_ms_max);
}

Result<void> Replication::follow() {
  acknowledged_ = {};  // a new connection's master has heard nothing yet
  LEAT_ASSIGN(auto connected, connect());
  const std::shared_ptr<WebSocketClient> socket(std::move(connected));
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return {};
    socket_ = socket;
  }
  LEAT_TRY(
      socket->send(changelog::encode(changelog::Hello{options_.name, replica_.database_id(), replica_.applied()})));
  acknowledged_ = {};
  auto ended = exchange(*socket);
  if (auto synced = replica_.sync(); synced.has_error() && !ended.has_error()) return synced;
  return ended;
}

Result<void> Replication::exchange(WebSocketClient& socket) {
  std::int64_t heard_us = clock_.monotonic_us();
  while (true) {
    LEAT_ASSIGN(const auto message, socket.receive(receive_wait_ms));
    const std::int64_t now_us = clock_.monotonic_us();
    if (message) {
      heard_us = now_us;
      LEAT_TRY(take(*message));
    } else if (now_us - heard_us > silence_ms_max * 1000) {
      return make_error(ErrorCode::kUnavailable,
                        "the master has been silent for " + std::to_string(silence_ms_max / 1000) + " s");
    }
    LEAT_TRY(acknowledge(socket, !message));
  }
}

Result<void> Replication::take(const WebSocketMessage& message) {
  if (!message.text) {
    auto applied = replica_.apply(message.bytes);
    if (applied.has_error()) state_ = ReplicationState::kRefused;
    return applied;
  }
  LEAT_ASSIGN(const auto frame, changelog::parse_subscribe_frame(message.bytes));
  const auto note_master = [this](Cursor head, UnixMs now) {
    head_.store(head.value(), std::memory_order_release);
    master_ahead_ms_.store(now.value - clock_.now().value, std::memory_order_relaxed);
  };
  if (const auto* refusal = std::get_if<changelog::Refusal>(&frame)) {
    state_ = ReplicationState::kRefused;
    return make_error(ErrorCode::kDatabaseMismatch, refusal->code + ": " + refusal->message);
  }
  if (const auto* welcome = std::get_if<changelog::Welcome>(&frame)) {
    auto adopted = replica_.adopt(welcome->database_id);
    if (adopted.has_error()) {
      state_ = ReplicationState::kRefused;
      return adopted;
    }
    note_master(welcome->head, welcome->now);
    state_ = ReplicationState::kFollowing;
    const std::lock_guard lock(mutex_);
    problem_.clear();
  } else if (const auto* heartbeat = std::get_if<changelog::Heartbeat>(&frame)) {
    note_master(heartbeat->head, heartbeat->now);
  }
  return {};
}

Result<void> Replication::acknowledge(WebSocketClient& socket, bool is_idle) {
  if (state() != ReplicationState::kFollowing) return {};
  const std::int64_t now_us = clock_.monotonic_us();
  if (!is_idle && now_us - synced_us_ < sync_interval_us) return {};
  synced_us_ = now_us;
  LEAT_TRY(replica_.sync());
  const changelog::Acknowledgement now{replica_.durable(), replica_.applied()};
  if (now.durable == acknowledged_.durable && now.applied == acknowledged_.applied) return {};
  acknowledged_ = now;
  return socket.send(changelog::encode(now));
}

}  // namespace leat::follower
