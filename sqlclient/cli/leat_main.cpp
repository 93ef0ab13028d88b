// The program `leat`: everything a person types.
#include <CLI/CLI.hpp>
#include <iostream>

#include "sqlclient/cli/sql_command.h"
#include "sqlclient/cli/up.h"
#include "sqlclient/cli/watch_command.h"

namespace {

using leat::cli::ServerOptions;

void add_server_options(CLI::App& command, ServerOptions& server) {
  command.add_option("--url", server.url, "the server, by default http://127.0.0.1:7600")->envname("LEAT_URL");
  command.add_option("--token", server.token, "the bearer token")->envname("LEAT_TOKEN");
  command.add_option("--dir", server.folder, "the folder of a running `leat up`, instead of --url and --token");
}

int parse_and_run(int argc, char** argv) {
  CLI::App app{"Leat: one SQLite database's writes, durable and delivered to everyone who reads them."};
  app.require_subcommand(1);
  app.footer("Exit codes: 0 done, 1 refused by the server, 2 wrong usage, 3 no server answered.");

  leat::cli::UpOptions up;
  CLI::App* up_command = app.add_subcommand("up", "Serve one folder: writes, reads and live queries on one port");
  up_command->add_option("DIR", up.folder, "the folder; made if missing; DIR/migrations/*.sql are applied")->required();
  up_command->add_option("--address", up.address, "the address to listen on")->capture_default_str();
  up_command->add_option("--port", up.port, "the port; 0 for any free one")->capture_default_str();
  up_command->add_option("--token", up.token, "the bearer token that every request must carry")->envname("LEAT_TOKEN");

  leat::cli::SqlOptions sql;
  CLI::App* sql_command = app.add_subcommand("sql", "Run one SQL statement");
  add_server_options(*sql_command, sql.server);
  sql_command->add_flag("--json", sql.json, "print the server's answer as it stands");
  sql_command->add_option("SQL", sql.sql, "the statement, with ? for each parameter")->required();
  sql_command->add_option("PARAMETER", sql.parameters,
                          "integers, numbers, null, x'ff' for bytes; else text, or 'text' where that is unclear");

  leat::cli::WatchOptions watch;
  CLI::App* watch_command = app.add_subcommand("watch", "Print the rows of a table and each change as it comes");
  add_server_options(*watch_command, watch.server);
  watch_command->add_flag("--json", watch.json, "print the server's frames as they stand");
  watch_command->add_option("--where", watch.conditions, "column=value, also != < <= > >=; all must hold")
      ->allow_extra_args(false);
  watch_command->add_option("--select", watch.columns, "only these columns, with commas between")->delimiter(',');
  watch_command->add_option("TABLE", watch.table, "the table")->required();

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? leat::cli::kDone : leat::cli::kUsage;
  }
  if (up_command->parsed()) return leat::cli::run_up(up);
  if (sql_command->parsed()) return leat::cli::run_sql(sql, std::cout);
  return leat::cli::run_watch(watch, std::cout);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return parse_and_run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "leat: " << error.what() << '\n';
    return leat::cli::kRefused;
  }
}
