// Many distinct live queries on one WebSocket: how long they take to register, and from a write's start to its delta.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "core/http_client.h"
#include "tests/support/cluster.h"
#include "tests/support/temporary_folder.h"

namespace {

namespace json = boost::json;
using leat::Result;
using leat::WebSocketClient;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kWaitMs = 30'000;

double ms_since(Clock::time_point begun) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begun).count();
}

leat::Error unexpected(const std::string& answer) {
  return leat::make_error(leat::ErrorCode::kInternal, "unexpected answer: " + answer);
}

Result<std::string> next_batch(WebSocketClient& socket) {
  while (true) {
    LEAT_ASSIGN(const auto message, socket.receive(kWaitMs));
    if (!message) return unexpected("none within the time");
    if (message->bytes.find(R"("t":"nbatch")") != std::string::npos) return message->bytes;
    if (message->bytes.find(R"("t":"queryError")") != std::string::npos) return unexpected(message->bytes);
  }
}

Result<void> register_queries(leat::testing::ClusterClient& follower, WebSocketClient& socket, int queries) {
  for (int query = 0; query < queries; ++query) {
    const std::string body =
        R"({"ast":{"table":"message","where":{"type":"simple","op":"=","left":{"type":"column","name":"room"},)"
        R"("right":{"type":"literal","value":)" +
        std::to_string(query) + "}}}}";
    LEAT_ASSIGN(const auto answer, follower.post("/materialize", body));
    if (answer.status != 200) return unexpected(answer.body);
    const std::string token(json::parse(answer.body).at("leaseToken").as_string());
    LEAT_TRY(
        socket.send(R"({"t":"subscribe","queryId":)" + std::to_string(query) + R"(,"leaseToken":")" + token + R"("})"));
  }
  for (int query = 0; query < queries; ++query) LEAT_TRY(next_batch(socket));
  return {};
}

Result<void> run(int queries, int writes) {
  const leat::testing::TemporaryFolder folder;
  leat::testing::Cluster cluster(folder.path());
  LEAT_TRY(cluster.start_master());
  LEAT_TRY(cluster.start_follower());
  leat::testing::ClusterClient master(cluster.master_port());
  leat::testing::ClusterClient follower(cluster.follower_port());
  const std::string table = "create table message (id integer primary key, room integer not null, text text)";
  LEAT_ASSIGN(const auto migrated, master.post("/v1/sql/migrate", leat::testing::migrate_body("bench", table)));
  if (migrated.status != 200) return unexpected(migrated.body);
  LEAT_ASSIGN(const auto socket, WebSocketClient::connect({"ws", "127.0.0.1", cluster.follower_port(), "/"}));

  const auto registering = Clock::now();
  LEAT_TRY(register_queries(follower, *socket, queries));
  std::printf("%d distinct live queries on one WebSocket registered in %.2f s\n", queries,
              ms_since(registering) / 1000);

  std::vector<double> latencies_ms;
  for (int i = 0; i < writes; ++i) {
    const int room = static_cast<int>(static_cast<std::int64_t>(i) * 7919 % queries);
    const auto begun = Clock::now();
    LEAT_ASSIGN(const auto answer,
                master.post("/v1/sql/execute", leat::testing::execute_body("insert into message (room, text) values (" +
                                                                               std::to_string(room) + ", 'hello')",
                                                                           leat::testing::new_idempotency_key())));
    if (answer.status != 200) return unexpected(answer.body);
    LEAT_ASSIGN(const auto delta, next_batch(*socket));
    latencies_ms.push_back(ms_since(begun));
    if (delta.find("\"queryId\":" + std::to_string(room) + ",") == std::string::npos) return unexpected(delta);
  }
  std::sort(latencies_ms.begin(), latencies_ms.end());
  const auto percentile = [&](std::size_t share) { return latencies_ms[(latencies_ms.size() - 1) * share / 100]; };
  std::printf("write to delta, %d writes one after the other: p50 %.2f ms, p99 %.2f ms\n", writes, percentile(50),
              percentile(99));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Latency from a write to its delta among many live queries");
  int queries = 2'000;
  int writes = 1'000;
  app.add_option("--queries", queries, "distinct equality queries")->check(CLI::Range(1, 10'000));
  app.add_option("--writes", writes, "writes measured")->check(CLI::Range(1, 1'000'000));
  CLI11_PARSE(app, argc, argv);
  if (auto done = run(queries, writes); done.has_error()) {
    std::cerr << done.error().message << '\n';
    return 1;
  }
  return 0;
}
