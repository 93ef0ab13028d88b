// The program leat-master.
#include <CLI/CLI.hpp>
#include <cstdlib>

#include "changelog/block_feed.h"
#include "core/clock.h"
#include "core/front_door.h"
#include "core/log.h"
#include "core/service.h"
#include "master/config.h"
#include "master/service.h"
#include "master/writer.h"

namespace leat::master {
namespace {

Result<void> serve(const std::string& config_path) {
  LEAT_ASSIGN(const auto config, load_master_config(config_path));
  configure_log(config.server.log_level, config.server.log_format);
  LEAT_ASSIGN(auto access, make_access_rules(config.server));
  raise_open_files_limit();

  MetricsRegistry metrics;
  changelog::BlockFeed feed;
  LEAT_ASSIGN(auto writer, Writer::start(config.writer, system_files(), system_clock(), system_random(),
                                         [&feed](const changelog::AppliedBlock& block) { feed.publish(block); }));
  MasterService service(*writer, system_clock(), metrics);
  const auto shipping =
      feed.connect([&service](const changelog::AppliedBlock& block) { service.shipper().publish(block.last); });

  const char* project = std::getenv("RINDLE_PROJECT_ID");
  const FrontDoor door({"rindle-replicator", project == nullptr ? "" : project, std::move(access),
                        [&writer]() -> Result<void> {
                          if (writer->is_serving()) return {};
                          return make_error(ErrorCode::kUnavailable, "the change log is being recovered");
                        }},
                       metrics);
  const HttpHandler handler = [&](HttpRequest request, HttpReply reply) {
    auto admitted = door.admit(request, std::move(reply), MasterService::plane_of(request.path));
    if (admitted) service.handle(std::move(request), std::move(*admitted));
  };
  const WebSocketAcceptor acceptor = [&](const WebSocketUpgrade& upgrade) { return service.accept(upgrade, door); };

  HttpServer server(HttpServerLimits{}, 1);
  LEAT_ASSIGN(const auto http_port, server.listen(config.server.bind_host, config.server.http_port, handler, acceptor));
  LEAT_ASSIGN(const auto ws_port, server.listen(config.server.bind_host, config.server.ws_port, handler, acceptor));
  server.start();
  LEAT_TRY(print_ready_line(R"({"ready":true,"httpPort":)" + std::to_string(http_port) + R"(,"wsPort":)" +
                            std::to_string(ws_port) + R"(,"cursor":")" + writer->committed().to_text() + "\"}"));
  wait_for_stop_signal();
  server.stop();
  service.stop();
  writer->stop();
  return {};
}

}  // namespace
}  // namespace leat::master

int main(int argc, char** argv) {
  leat::block_signals();
  CLI::App app("Leat's write-master: takes every write and ships the change log");
  std::string config_path;
  app.add_option("--config", config_path, "configuration file (JSON)")->required();
  CLI11_PARSE(app, argc, argv);
  if (auto served = leat::master::serve(config_path); served.has_error()) {
    leat::log().error(served.error().message);
    return 1;
  }
  return 0;
}
