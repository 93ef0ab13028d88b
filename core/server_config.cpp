#include "core/server_config.h"

namespace leat {

namespace {

constexpr std::int64_t port_max = 65'535;
constexpr std::int64_t segment_bytes_min = 64 << 10;
constexpr std::int64_t segment_bytes_max = 1LL << 30;
constexpr std::int64_t segment_bytes_default = 64LL << 20;

}  // namespace

ServerConfig read_server_config(ConfigReader& reader, std::string_view default_name) {
  ServerConfig config;
  config.database_path = reader.required_string("db");
  config.name = reader.string("name", default_name);
  config.bind_host = reader.string("bindHost", config.bind_host);
  config.http_port = static_cast<std::uint16_t>(reader.integer("httpPort", 0, 0, port_max));
  config.ws_port = static_cast<std::uint16_t>(reader.integer("wsPort", 0, 0, port_max));
  config.auth_token = reader.string("authToken", "");
  config.sql_auth_token = reader.string("sqlAuthToken", "");
  config.log_directory = reader.string("logDirectory", config.database_path + "-log");
  config.segment_bytes = static_cast<std::uint64_t>(
      reader.integer("segmentBytes", segment_bytes_default, segment_bytes_min, segment_bytes_max));
  if (const auto level = parse_log_level(reader.string("logLevel", "info"))) {
    config.log_level = *level;
  } else {
    reader.fail("logLevel", "must be trace, debug, info, warn, error or off");
  }
  if (const auto format = parse_log_format(reader.string("logFormat", "text"))) {
    config.log_format = *format;
  } else {
    reader.fail("logFormat", "must be text or json");
  }
  return config;
}

Result<AccessRules> make_access_rules(const ServerConfig& config) {
  LEAT_ASSIGN(auto rules, AccessRules::make(config.auth_token, config.sql_auth_token));
  LEAT_TRY(rules.check_bind_address(config.bind_host));
  return rules;
}

}  // namespace leat
