// A master and a follower on this machine, each killed and started again at will on the ports it had.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/http_client.h"
#include "tests/support/server_process.h"

namespace leat::testing {

struct ClusterOptions {
  std::uint64_t segment_bytes = std::uint64_t{16} << 20;
  std::uint64_t disk_reserve_bytes = std::uint64_t{16} << 20;
};

class Cluster {
 public:
  // Keeps both databases in `folder`, which must outlive it.
  explicit Cluster(std::string folder, ClusterOptions options = {}) : folder_(std::move(folder)), options_(options) {}

  Result<void> start_master();
  Result<void> start_follower();  // after start_master
  ServerProcess& master() { return *master_; }
  ServerProcess& follower() { return *follower_; }

  // Unchanged by a restart, and safe from any thread once both have been started.
  std::uint16_t master_port() const { return master_http_port_; }
  std::uint16_t follower_port() const { return follower_http_port_; }
  std::string master_database() const { return folder_ + "/master.db"; }
  std::string follower_database() const { return folder_ + "/follower.db"; }

  // Waits until the follower answers `sql`, one value, as the master does. Errors: kUnavailable with both answers.
  Result<void> wait_until_follower_agrees(const std::string& sql, std::int64_t ms_max = 30'000);

 private:
  const std::string folder_;
  const ClusterOptions options_;
  std::optional<ServerProcess> master_;
  std::optional<ServerProcess> follower_;
  std::uint16_t master_http_port_ = 0;
  std::uint16_t master_ws_port_ = 0;
  std::uint16_t follower_http_port_ = 0;
  std::uint16_t follower_ws_port_ = 0;
};

// A client with the token of the cluster.
class ClusterClient {
 public:
  explicit ClusterClient(std::uint16_t port, std::int64_t timeout_ms = 10'000)
      : client_(Url{"http", "127.0.0.1", port, "/"}, timeout_ms) {}
  Result<HttpClientResponse> post(std::string_view path, std::string_view body);
  // The first value of the first row of a control-plane read, as JSON. Errors: kSqliteError with the answer.
  Result<std::string> scalar(const std::string& sql);

 private:
  HttpClient client_;
};

std::string migrate_body(std::string_view id, std::string_view ddl);
std::string execute_body(std::string_view sql, std::string_view idempotency_key);
std::string new_idempotency_key();

// Waits for a condition, asking every few milliseconds; false when it did not come true in time.
bool wait_until(const std::function<bool()>& condition, std::int64_t ms_max);

}  // namespace leat::testing
