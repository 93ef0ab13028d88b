// The program leat-follower.
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <optional>

#include "changelog/block_feed.h"
#include "core/clock.h"
#include "core/front_door.h"
#include "core/log.h"
#include "core/service.h"
#include "follower/config.h"
#include "follower/read_service.h"
#include "follower/replica.h"
#include "follower/replication.h"

namespace leat::follower {
namespace {

bool is_master_path(std::string_view path) {
  return path.starts_with("/v1/sql/") || path.starts_with("/mutate-session/") || path == "/execute-sql-txn" ||
         path == "/migrate" || path == "/reject-mutation";
}

Plane plane_of(std::string_view path) { return path.starts_with("/v1/sql/") ? Plane::kPublicSql : Plane::kReads; }

// Ready: it follows the master and has caught up.
Result<void> check_ready(const Replication& replication, const Replica& replica) {
  if (replication.state() == ReplicationState::kFollowing) {
    if (replica.applied() >= replication.head()) return {};
    return make_error(ErrorCode::kUnavailable,
                      "catching up: applied " + replica.applied().to_text() + " of " + replication.head().to_text());
  }
  const std::string problem = replication.problem();
  return make_error(ErrorCode::kUnavailable, problem.empty() ? "connecting to the master" : problem);
}

std::uint64_t lag_writes(const Replication& replication, const Replica& replica) {
  const auto head = replication.head().value();
  const auto applied = replica.applied().value();
  return head > applied ? head - applied : 0;
}

void add_metrics(MetricsRegistry& metrics, const Replication& replication, const Replica& replica) {
  metrics.gauge_callback("leat_follower_applied_sequence", "Sequence number of the last write applied",
                         [&replica] { return static_cast<double>(replica.applied().sequence()); });
  metrics.gauge_callback("leat_follower_following", "1 while subscribed to the master",
                         [&replication] { return replication.state() == ReplicationState::kFollowing ? 1.0 : 0.0; });
  metrics.gauge_callback("leat_follower_lag_writes", "Writes of the master that are not applied yet",
                         [&replication, &replica] { return static_cast<double>(lag_writes(replication, replica)); });
  metrics.gauge_callback("leat_follower_lag_seconds", "Age of what is applied, zero when nothing is missing",
                         [&replication] { return static_cast<double>(replication.lag_ms()) / 1000; });
}

Result<void> serve(const std::string& config_path) {
  LEAT_ASSIGN(const auto config, load_follower_config(config_path));
  configure_log(config.server.log_level, config.server.log_format);
  LEAT_ASSIGN(auto access, make_access_rules(config.server));
  raise_open_files_limit();

  changelog::BlockFeed feed;
  const ReplicaOptions replica_options{config.server.database_path, config.server.log_directory,
                                       config.server.segment_bytes};
  LEAT_ASSIGN(auto replica, Replica::open(replica_options, system_files(), system_clock(), system_random(),
                                          [&feed](const changelog::AppliedBlock& block) { feed.publish(block); }));
  MetricsRegistry metrics;
  ReadingHalf::Options reading_options;
  reading_options.database_path = config.server.database_path;
  reading_options.lease_ttl_ms = config.lease_ttl_ms;
  std::optional<Replication> replication;
  reading_options.lag = [&]() -> ReadingHalf::Lag {
    return {lag_writes(*replication, *replica), replication->lag_ms()};
  };
  LEAT_ASSIGN(auto reading_half, ReadingHalf::open(reading_options, system_clock(), system_random(), metrics));
  const auto reading =
      feed.connect([&reading_half](const changelog::AppliedBlock& block) { reading_half->publish(block); });
  const ReplicationOptions replication_options{config.server.name, config.source, config.source_token};
  replication.emplace(*replica, replication_options, system_clock());
  add_metrics(metrics, *replication, *replica);

  const char* project = std::getenv("RINDLE_PROJECT_ID");
  const FrontDoor door({"rindled", project == nullptr ? "" : project, std::move(access),
                        [&] { return check_ready(*replication, *replica); }},
                       metrics);
  const HttpHandler handler = [&](HttpRequest request, HttpReply reply) {
    reply = with_headers(std::move(reply), {{"Rindle-Boot-Id", reading_half->boot_id()}});
    auto admitted = door.admit(request, std::move(reply), plane_of(request.path));
    if (!admitted || reading_half->handle(request, *admitted)) return;
    if (request.method == "POST" && is_master_path(request.path)) {
      admitted->send(error_text_response(409, "this follower takes no writes; send " + request.path +
                                                  " to the master at " + config.source.host + ':' +
                                                  std::to_string(config.source.port)));
    } else {
      admitted->send(error_text_response(404, "not found"));
    }
  };

  HttpServer server(HttpServerLimits{}, 1);
  const auto acceptor = reading_half->acceptor();
  LEAT_ASSIGN(const auto http_port, server.listen(config.server.bind_host, config.server.http_port, handler, acceptor));
  LEAT_ASSIGN(const auto ws_port, server.listen(config.server.bind_host, config.server.ws_port, nullptr, acceptor));
  server.start();
  LEAT_TRY(print_ready_line(R"({"ready":true,"httpPort":)" + std::to_string(http_port) + R"(,"wsPort":)" +
                            std::to_string(ws_port) + R"(,"cursor":")" + replica->applied().to_text() + "\"}"));
  wait_for_stop_signal();
  server.stop();
  replication->stop();
  reading_half->stop();
  return {};
}

}  // namespace
}  // namespace leat::follower

int main(int argc, char** argv) {
  leat::block_signals();
  CLI::App app("Leat's follower: a copy of the master's database that answers reads and live queries");
  std::string config_path;
  app.add_option("--config", config_path, "configuration file (JSON)")->required();
  CLI11_PARSE(app, argc, argv);
  if (auto served = leat::follower::serve(config_path); served.has_error()) {
    leat::log().error(served.error().message);
    return 1;
  }
  return 0;
}
