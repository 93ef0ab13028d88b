// One process, one port, one copy of the database: the master, and the reading half on the master's own file and feed.
#include "sqlclient/cli/up.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>

#include "changelog/block_feed.h"
#include "core/clock.h"
#include "core/front_door.h"
#include "core/log.h"
#include "core/service.h"
#include "core/sqlite_script.h"
#include "follower/read_service.h"
#include "master/config.h"
#include "master/fingerprint.h"
#include "master/service.h"
#include "sqlclient/cli/exit_code.h"
#include "sqlclient/cli/server_address.h"

namespace leat::cli {

namespace {

namespace fs = std::filesystem;

Result<std::string> read_file(const fs::path& path) {
  const std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return make_error(ErrorCode::kIo, path.string() + ": cannot be read");
  return text.str();
}

// `migrations/*.sql`, in the order of their names; a file's name without its ending is the migration's id.
Result<std::vector<wire::MigrationRequest>> read_migrations(const fs::path& folder) {
  std::vector<wire::MigrationRequest> migrations;
  std::vector<fs::path> paths;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".sql") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    LEAT_ASSIGN(const auto script, read_file(path));
    wire::MigrationRequest migration;
    migration.id = path.stem().string();
    migration.statements = sqlite::split_script(script);
    if (migration.statements.empty()) {
      return make_error(ErrorCode::kStatementInvalid, path.string() + ": holds no SQL statement");
    }
    migration.checksum = master::migration_checksum(migration.statements);
    migrations.push_back(std::move(migration));
  }
  return migrations;
}

class FutureSink final : public HttpReply::Sink {
 public:
  void send(HttpResponse response) override { promise_.set_value(std::move(response)); }
  std::future<HttpResponse> future() { return promise_.get_future(); }

 private:
  std::promise<HttpResponse> promise_;
};

// One after the other, so that what the first ones applied stays when a later one fails, and the failure names its
// file.
Result<void> apply_migrations(master::Writer& writer, const fs::path& folder) {
  LEAT_ASSIGN(auto migrations, read_migrations(folder));
  for (auto& migration : migrations) {
    const std::string file = (folder / (migration.id + ".sql")).string();
    auto sink = std::make_shared<FutureSink>();
    auto answer = sink->future();
    writer.submit(master::Write{changelog::Origin::kMigration,
                                "",
                                {},
                                master::MigrationsBody{{std::move(migration)}},
                                master::AnswerStyle::kControlMigration,
                                0,
                                HttpReply(sink)});
    const HttpResponse response = answer.get();
    if (response.status != 200) return make_error(ErrorCode::kStatementInvalid, file + ": " + response.body);
    if (response.body.find("\"applied\":true") != std::string::npos) log().info("migration applied", {{"file", file}});
  }
  return {};
}

Result<void> serve(const UpOptions& options) {
  LEAT_TRY(system_files().create_directories(options.folder));
  ServerConfig config;
  config.database_path = (fs::path(options.folder) / "leat.db").string();
  config.log_directory = config.database_path + "-log";
  config.segment_bytes = 64u << 20;
  config.bind_host = options.address;
  config.auth_token = options.token;
  LEAT_ASSIGN(auto access, make_access_rules(config));
  raise_open_files_limit();

  changelog::BlockFeed feed;
  LEAT_ASSIGN(auto writer, master::Writer::start(
                               master::default_writer_options(config), system_files(), system_clock(), system_random(),
                               [&feed](const changelog::AppliedBlock& block) { feed.publish(block); }));
  LEAT_TRY(apply_migrations(*writer, fs::path(options.folder) / "migrations"));
  MetricsRegistry metrics;
  master::MasterService service(*writer, system_clock(), metrics);
  follower::ReadingHalf::Options reading_options;
  reading_options.database_path = config.database_path;
  LEAT_ASSIGN(auto reading_half,
              follower::ReadingHalf::open(reading_options, system_clock(), system_random(), metrics));
  const auto feeding = feed.connect([&](const changelog::AppliedBlock& block) {
    service.shipper().publish(block.last);
    reading_half->publish(block);
  });

  const FrontDoor door({"leat", "", std::move(access),
                        [&writer]() -> Result<void> {
                          if (writer->is_serving()) return {};
                          return make_error(ErrorCode::kUnavailable, "the change log is being recovered");
                        }},
                       metrics);
  const HttpHandler handler = [&](HttpRequest request, HttpReply reply) {
    reply = with_headers(std::move(reply), {{"Rindle-Boot-Id", reading_half->boot_id()}});
    const Plane plane =
        master::MasterService::serves(request) ? master::MasterService::plane_of(request.path) : Plane::kReads;
    auto admitted = door.admit(request, std::move(reply), plane);
    if (!admitted || reading_half->handle(request, *admitted)) return;
    service.handle(std::move(request), std::move(*admitted));
  };
  const auto subscriptions = reading_half->acceptor();
  const WebSocketAcceptor acceptor = [&](const WebSocketUpgrade& upgrade) {
    return upgrade.path == "/subscribe" ? service.accept(upgrade, door) : subscriptions(upgrade);
  };

  HttpServer server(HttpServerLimits{}, 1);
  LEAT_ASSIGN(const auto port, server.listen(options.address, options.port, handler, acceptor));
  server.start();
  const std::string url = "http://" + options.address + ':' + std::to_string(port);
  LEAT_TRY(write_server_file(options.folder, url, options.token));
  LEAT_TRY(print_ready_line(R"({"ready":true,"httpPort":)" + std::to_string(port) + R"(,"wsPort":)" +
                            std::to_string(port) + R"(,"url":")" + url + R"(","cursor":")" +
                            writer->committed().to_text() + "\"}"));
  wait_for_stop_signal();
  server.stop();
  service.stop();
  writer->stop();
  reading_half->stop();
  return {};
}

}  // namespace

int run_up(const UpOptions& options) {
  if (auto served = serve(options); served.has_error()) {
    log().error(served.error().message);
    return 1;
  }
  return 0;
}

}  // namespace leat::cli
