// The follower's configuration (ops/docs/operations.md lists the keys).
#pragma once

#include <cstdint>
#include <string>

#include "core/error.h"
#include "core/http_client.h"
#include "core/server_config.h"

namespace leat::follower {

struct FollowerConfig {
  ServerConfig server;
  std::int64_t lease_ttl_ms = 0;  // `defaultLeaseTtlMs`
  Url source;                     // `sources[0].url`
  std::string source_token;       // `sources[0].authToken`; by default the server's own
};

// Error: kConfigInvalid naming file and key.
Result<FollowerConfig> load_follower_config(const std::string& path);

}  // namespace leat::follower
