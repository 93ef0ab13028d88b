// `leat up DIR`: a master and the reading half in one process, on one port.
#pragma once

#include <cstdint>
#include <string>

namespace leat::cli {

struct UpOptions {
  std::string folder;  // made if missing; `migrations/*.sql` in it are applied in the order of their names
  std::string address = "127.0.0.1";
  std::uint16_t port = 7600;  // 0: any free one
  std::string token;          // empty: open, loopback only
};

// Serves until SIGTERM or SIGINT. Prints the ready line on standard output and writes the folder's leat.json (with
// write_server_file). The answer is the process's exit code.
int run_up(const UpOptions& options);

}  // namespace leat::cli
