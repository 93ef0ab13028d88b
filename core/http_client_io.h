// Inside the clients: blocking calls over a private event loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <string>

#include "core/error.h"
#include "core/http_client.h"

namespace leat::client_detail {

namespace asio = boost::asio;
using IoError = boost::system::error_code;

// Runs handlers until `is_done()`; the operations waited for have timeouts of their own.
template <class IsDone>
void run_until(asio::io_context& context, IsDone is_done) {
  context.restart();
  while (!is_done() && context.run_one() > 0) {
  }
}

inline std::string authority(const Url& url) {
  const bool is_ipv6 = url.host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + url.host + "]" : url.host) + ":" + std::to_string(url.port);
}

inline Error unavailable(const Url& url, std::string_view what, const IoError& error) {
  return make_error(ErrorCode::kUnavailable,
                    std::string(what) + " (" + url.scheme + "://" + authority(url) + "): " + error.message(),
                    RetryScope::kRequest);
}

inline Result<asio::ip::tcp::resolver::results_type> resolve(asio::io_context& context, const Url& url) {
  asio::ip::tcp::resolver resolver(context);
  IoError error;
  auto endpoints = resolver.resolve(url.host, std::to_string(url.port), error);
  if (error) return unavailable(url, "cannot resolve the host", error);
  return endpoints;
}

}  // namespace leat::client_detail
