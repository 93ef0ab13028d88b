// Durable writes per second over HTTP: Leat, the peer where it is installed, and plain SQLite, in one run.
#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "core/http_client.h"
#include "tests/bench/http_load.h"
#include "tests/bench/sqlite_rate.h"
#include "tests/support/server_process.h"
#include "tests/support/temporary_folder.h"

namespace {

using leat::Result;
using leat::bench::LoadOptions;
using leat::bench::LoadResult;
using leat::testing::ServerProcess;
using leat::testing::TemporaryFolder;

constexpr const char* kSchema = "create table message (id integer primary key, text text not null);";
constexpr const char* kInsert = "insert into message (text) values (?)";
constexpr const char* kToken = "bench-token";

struct Options {
  std::string leat = leat::testing::built_program("leat-master");
  std::string peer;
  std::vector<int> connections{1, 16, 64};
  double seconds = 3;
};

Result<void> create_table(std::uint16_t port) {
  leat::HttpClient client({"http", "127.0.0.1", port, "/"});
  const std::string body = std::string(R"({"id":"bench","checksum":"bench","statements":[")") + kSchema + R"("]})";
  LEAT_ASSIGN(
      const leat::HttpClientResponse response,
      client.request("POST", "/v1/sql/migrate", body,
                     {{"Content-Type", "application/json"}, {"Authorization", std::string("Bearer ") + kToken}}));
  if (response.status != 200) return leat::make_error(leat::ErrorCode::kSqliteError, response.body);
  return boost::system::in_place_value;
}

// A fresh database for each number of connections.
Result<LoadResult> measure(const std::string& program, int connections, double seconds) {
  const TemporaryFolder folder;
  LEAT_ASSIGN(ServerProcess server,
              ServerProcess::start(program, folder.path(), "master",
                                   std::string(R"({"db":"m.db","name":"bench","bindHost":"127.0.0.1","httpPort":0,)") +
                                       R"("wsPort":0,"tables":[],"sqlAuthToken":")" + kToken + R"("})"));
  LEAT_TRY(create_table(server.http_port()));
  LoadOptions load;
  load.port = server.http_port();
  load.connections = connections;
  load.measured_ms = static_cast<std::int64_t>(seconds * 1000);
  load.token = kToken;
  load.sql = kInsert;
  return leat::bench::run_load(load);
}

std::string rate(const std::optional<LoadResult>& result) {
  std::array<char, 64> text{};
  if (result) {
    std::snprintf(text.data(), text.size(), "%8.0f  %7.2f %7.2f", result->per_second, result->median_ms,
                  result->percentile_99_ms);
  } else {
    std::snprintf(text.data(), text.size(), "%8s  %7s %7s", "-", "-", "-");
  }
  return text.data();
}

Result<void> run(const Options& options) {
  const bool has_peer = !options.peer.empty() && std::filesystem::exists(options.peer);
  if (!has_peer) std::puts("peer: not installed here, left out (--peer PROGRAM or LEAT_BENCH_PEER)");
  std::array<double, 2> sqlite{};
  constexpr std::array<int, 2> kRowsEach{1, 64};
  for (std::size_t i = 0; i < sqlite.size(); ++i) {
    const TemporaryFolder folder;
    LEAT_ASSIGN(sqlite[i], leat::bench::sqlite_rows_per_second(folder / "plain.db", kSchema, kInsert, kRowsEach[i],
                                                               static_cast<std::int64_t>(options.seconds * 1000)));
  }

  std::puts("Durable single inserts a second over HTTP, load generator on the same machine");
  std::puts("               Leat                         peer                        Leat is");
  std::puts(
      "connections      /s   median    p99 ms       /s   median    p99 ms     x peer   x SQLite N=1   x SQLite N=64");
  for (const int connections : options.connections) {
    LEAT_ASSIGN(const LoadResult leat, measure(options.leat, connections, options.seconds));
    std::optional<LoadResult> peer;
    if (has_peer) {
      LEAT_ASSIGN(peer, measure(options.peer, connections, options.seconds));
    }
    std::array<char, 32> times_peer{};
    if (peer) {
      std::snprintf(times_peer.data(), times_peer.size(), "%.1f", leat.per_second / peer->per_second);
    } else {
      std::snprintf(times_peer.data(), times_peer.size(), "-");
    }
    std::printf("%11d %s %s %10s %14.3f %15.3f\n", connections, rate(leat).c_str(), rate(peer).c_str(),
                times_peer.data(), leat.per_second / sqlite[0], leat.per_second / sqlite[1]);
    std::fflush(stdout);
  }
  std::printf(
      "Plain SQLite, WAL, synchronous=FULL, in process: %.0f/s with a transaction each, %.0f/s with 64 rows in one\n",
      sqlite[0], sqlite[1]);
  return boost::system::in_place_value;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Durable writes per second over HTTP"};
  app.add_option("--leat", options.leat, "the master to measure")->capture_default_str();
  app.add_option("--peer", options.peer, "the peer's write-master")->envname("LEAT_BENCH_PEER");
  app.add_option("--connections", options.connections, "numbers of connections")->delimiter(',')->capture_default_str();
  app.add_option("--seconds", options.seconds, "how long to measure each")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (const Result<void> done = run(options); done.has_error()) {
    std::cerr << "leat-bench-write: " << done.error().message << '\n';
    return 1;
  }
  return 0;
}
