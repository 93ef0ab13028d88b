// Where the server is that a command talks to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/http_client.h"

namespace leat::cli {

inline constexpr std::string_view kDefaultUrl = "http://127.0.0.1:7600";

// As given on the command line; empty is "not given".
struct ServerOptions {
  std::string url;
  std::string token;
  std::string folder;  // of `leat up`, whose leat.json names url and token
};

struct ServerAddress {
  Url url;            // the base of every path; scheme http or https, path "/"
  std::string token;  // empty for none

  HttpHeaders headers() const;  // of every request
  Url web_socket() const;       // one URL is one port
};

// The options, else the folder's leat.json, else kDefaultUrl without a token. Errors: kConfigInvalid.
Result<ServerAddress> resolve(const ServerOptions& options);

// Writes `folder`/leat.json, readable by its owner only, for commands that are given `--dir folder`.
Result<void> write_server_file(const std::string& folder, std::string_view url, std::string_view token);

}  // namespace leat::cli
