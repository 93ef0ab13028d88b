// The keys that both servers' configurations share; defaults and ranges are in ops/docs/operations.md.
#pragma once

#include <cstdint>
#include <string>

#include "core/auth.h"
#include "core/config.h"
#include "core/error.h"
#include "core/log.h"

namespace leat {

struct ServerConfig {
  std::string database_path;                // `db`
  std::string name;                         // `name`
  std::string bind_host = "127.0.0.1";      // `bindHost`
  std::uint16_t http_port = 0;              // `httpPort`; 0 takes any free port
  std::uint16_t ws_port = 0;                // `wsPort`
  std::string auth_token;                   // `authToken`
  std::string sql_auth_token;               // `sqlAuthToken`
  std::string log_directory;                // `logDirectory`; by default the database's path with "-log"
  std::uint64_t segment_bytes = 0;          // `segmentBytes`; set by read_server_config, 64 KiB to 1 GiB
  LogLevel log_level = LogLevel::kInfo;     // `logLevel`
  LogFormat log_format = LogFormat::kText;  // `logFormat`
};

// Reads the shared keys; the problem of a key is found by `reader`'s finish().
ServerConfig read_server_config(ConfigReader& reader, std::string_view default_name);
// The rules that the tokens make, once it is known that they may guard the bind address.
Result<AccessRules> make_access_rules(const ServerConfig& config);

}  // namespace leat
