// Keeps a replica fed: one thread that subscribes to the master, applies what comes, acknowledges it, and reconnects
// with backoff.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "changelog/subscribe_protocol.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/http_client.h"
#include "follower/replica.h"

namespace leat::follower {

struct ReplicationOptions {
  std::string name;          // this follower's, shown by the master
  Url source;                // the master's /subscribe
  std::string source_token;  // sent as bearer token; empty: none
};

enum class ReplicationState : std::uint8_t {
  kConnecting,  // no master yet, or it went away: tried again with backoff
  kFollowing,
  kRefused,  // the master will not have this follower, or its own files failed: see problem(); tried again slowly
};

class Replication {
 public:
  // Starts the thread. The replica belongs to it until stop().
  Replication(Replica& replica, ReplicationOptions options, Clock& clock);
  ~Replication();  // stops
  Replication(const Replication&) = delete;
  Replication& operator=(const Replication&) = delete;
  void stop();

  ReplicationState state() const { return state_.load(std::memory_order_acquire); }
  std::string problem() const;                                                   // why it does not follow; for people
  Cursor head() const { return Cursor(head_.load(std::memory_order_acquire)); }  // the master's, as last heard
  // How old what is applied is, by the master's clock: zero when nothing is missing.
  std::int64_t lag_ms() const;

 private:
  void run();
  // One connection, from hello to its end.
  Result<void> follow();
  Result<void> exchange(WebSocketClient& socket);
  Result<void> take(const WebSocketMessage& message);
  Result<void> acknowledge(WebSocketClient& socket, bool is_idle);
  Result<std::unique_ptr<WebSocketClient>> connect();
  void set_problem(std::string problem);

  Replica& replica_;
  ReplicationOptions options_;
  Clock& clock_;
  std::atomic<ReplicationState> state_{ReplicationState::kConnecting};
  std::atomic<std::uint64_t> head_{0};
  std::atomic<std::int64_t> master_ahead_ms_{0};  // the master's clock less ours
  std::int64_t synced_us_ = 0;
  changelog::Acknowledgement acknowledged_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::string problem_;
  std::shared_ptr<WebSocketClient> socket_;  // the one a stop has to cancel
  std::thread thread_;
};

}  // namespace leat::follower
