#include "tests/support/cluster.h"

#include <poll.h>

#include <boost/json.hpp>
#include <chrono>

#include "core/clock.h"
#include "core/random.h"

namespace leat::testing {
namespace {

namespace json = boost::json;

constexpr std::string_view kToken = "cluster-token";
constexpr int kAskEveryMs = 5;

}  // namespace

Result<void> Cluster::start_master() {
  const json::object config{{"db", "master.db"},
                            {"name", "crash-master"},
                            {"bindHost", "127.0.0.1"},
                            {"httpPort", master_http_port_},
                            {"wsPort", master_ws_port_},
                            {"sqlAuthToken", kToken},
                            {"tables", json::array{}},
                            {"segmentBytes", options_.segment_bytes},
                            {"diskReserveBytes", options_.disk_reserve_bytes}};
  LEAT_ASSIGN(master_, ServerProcess::start(built_program("leat-master"), folder_, "master", json::serialize(config)));
  master_http_port_ = master_->http_port();
  master_ws_port_ = master_->ws_port();
  return boost::system::in_place_value;
}

Result<void> Cluster::start_follower() {
  const std::string source = "ws://127.0.0.1:" + std::to_string(master_ws_port_) + "/subscribe";
  const json::object config{
      {"db", "follower.db"},
      {"bindHost", "127.0.0.1"},
      {"httpPort", follower_http_port_},
      {"wsPort", follower_ws_port_},
      {"segmentBytes", options_.segment_bytes},
      {"sqlAuthToken", kToken},
      {"sources", json::array{json::object{{"kind", "replicator"}, {"name", "crash-master"}, {"url", source}}}}};
  LEAT_ASSIGN(follower_,
              ServerProcess::start(built_program("leat-follower"), folder_, "follower", json::serialize(config)));
  follower_http_port_ = follower_->http_port();
  follower_ws_port_ = follower_->ws_port();
  return boost::system::in_place_value;
}

Result<void> Cluster::wait_until_follower_agrees(const std::string& sql, std::int64_t ms_max) {
  ClusterClient master(master_http_port_);
  ClusterClient follower(follower_http_port_);
  LEAT_ASSIGN(const std::string expected, master.scalar(sql));
  std::string last;
  const bool agrees = wait_until(
      [&] {
        Result<std::string> answer = follower.scalar(sql);
        last = answer.has_error() ? answer.error().message : *answer;
        return last == expected;
      },
      ms_max);
  if (agrees) return boost::system::in_place_value;
  return make_error(ErrorCode::kUnavailable, sql + ": the master says " + expected + ", the follower " + last +
                                                 "; its log ends with:\n" + follower_->log_tail());
}

Result<HttpClientResponse> ClusterClient::post(std::string_view path, std::string_view body) {
  return client_.request("POST", path, body,
                         {{"Content-Type", "application/json"}, {"Authorization", "Bearer " + std::string(kToken)}});
}

Result<std::string> ClusterClient::scalar(const std::string& sql) {
  LEAT_ASSIGN(const HttpClientResponse response,
              post("/execute-sql-read", json::serialize(json::object{{"sql", sql}})));
  boost::system::error_code failed;
  const json::value answer = json::parse(response.body, failed);
  const json::value* value = failed ? nullptr : answer.find_pointer("/rows/0/0", failed);
  if (value == nullptr) return make_error(ErrorCode::kSqliteError, response.body);
  return json::serialize(*value);
}

std::string migrate_body(std::string_view id, std::string_view ddl) {
  return json::serialize(json::object{{"id", id}, {"checksum", id}, {"statements", json::array{ddl}}});
}

std::string execute_body(std::string_view sql, std::string_view idempotency_key) {
  return json::serialize(json::object{{"statement", json::object{{"sql", sql}}}, {"idempotency_key", idempotency_key}});
}

std::string new_idempotency_key() {
  return "sql1." + std::to_string(system_clock().now().value) + "." + system_random().hex(16);
}

bool wait_until(const std::function<bool()>& condition, std::int64_t ms_max) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms_max);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    ::poll(nullptr, 0, kAskEveryMs);
  }
  return true;
}

}  // namespace leat::testing
