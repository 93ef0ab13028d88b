#include "follower/config.h"

#include "follower/live_limits.h"

namespace leat::follower {

namespace {

constexpr std::int64_t lease_ttl_ms_max = 24LL * 60 * 60 * 1000;

}  // namespace

Result<FollowerConfig> load_follower_config(const std::string& path) {
  LEAT_ASSIGN(auto reader, ConfigReader::load(path));
  FollowerConfig config;
  config.server = read_server_config(reader, "leat-follower");
  config.lease_ttl_ms = reader.integer("defaultLeaseTtlMs", kLeaseTtlDefaultMs, 1, lease_ttl_ms_max);
  auto sources = reader.object_list("sources");
  if (sources.size() != 1) {
    reader.fail("sources", "must hold one source: the master, as {\"url\": \"ws://host:port/subscribe\"}");
  } else {
    auto& source = sources.front();
    source.ignore("kind");
    source.ignore("name");
    const std::string url = source.required_string("url");
    config.source_token = source.string("authToken", config.server.auth_token);
    if (auto parsed = Url::parse(url); !parsed.has_error()) {
      config.source = std::move(*parsed);
    } else if (!url.empty()) {
      source.fail("url", parsed.error().message);
    }
  }
  LEAT_TRY(reader.finish());
  return config;
}

}  // namespace leat::follower
