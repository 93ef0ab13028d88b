#include "follower/config.h"

#include "follower/limits.h"

namespace leat::follower {

Result<FollowerConfig> load_follower_config(const std::string& path) {
  LEAT_ASSIGN(auto reader, ConfigReader::load(path));
  FollowerConfig config;
  config.server = read_server_config(reader, "leat-follower");
  config.lease_ttl_ms = reader.integer("defaultLeaseTtlMs", lease_ttl_ms_default, 1, lease_ttl_ms_max);
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
