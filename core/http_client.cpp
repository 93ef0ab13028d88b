#include "core/http_client.h"

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <charconv>
#include <chrono>

#include "core/http_client_io.h"

namespace leat {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using client_detail::IoError;
using client_detail::unavailable;

namespace {
constexpr std::uint64_t answer_bytes_max = 1u << 30;
}  // namespace

Result<Url> Url::parse(std::string_view text) {
  const auto invalid = [&](std::string_view why) {
    return make_error(ErrorCode::kConfigInvalid, "not a URL (" + std::string(why) + "): " + std::string(text));
  };
  Url url;
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) return invalid("no scheme");
  url.scheme = std::string(text.substr(0, colon));
  const bool is_secure = url.scheme == "https" || url.scheme == "wss";
  if (!is_secure && url.scheme != "http" && url.scheme != "ws") return invalid("the scheme is not http(s) or ws(s)");

  std::string_view rest = text.substr(colon + 3);
  const std::size_t slash = std::min(rest.find_first_of("/?#"), rest.size());
  std::string_view authority = rest.substr(0, slash);
  rest.remove_prefix(slash);
  if (authority.find('@') != std::string_view::npos) return invalid("user information is not supported");
  rest = rest.substr(0, rest.find('#'));
  url.path = rest.starts_with('/') ? std::string(rest) : "/" + std::string(rest);

  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos) return invalid("no ] after the address");
    url.host = std::string(authority.substr(1, end - 1));
    port = authority.substr(end + 1);
  } else {
    const std::size_t end = std::min(authority.find(':'), authority.size());
    url.host = std::string(authority.substr(0, end));
    port = authority.substr(end);
  }
  if (url.host.empty()) return invalid("no host");
  url.port = is_secure ? 443 : 80;
  if (!port.empty()) {
    if (port.front() != ':') return invalid("bad port");
    port.remove_prefix(1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
    if (error != std::errc() || end != port.data() + port.size() || url.port == 0) return invalid("bad port");
  }
  return url;
}

std::string_view HttpClientResponse::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (beast::iequals(key, name)) return value;
  }
  return {};
}

struct HttpClient::Impl {
  Url base;
  std::chrono::milliseconds timeout;
  asio::io_context context;
  std::optional<beast::tcp_stream> stream;
  beast::flat_buffer buffer;

  Result<void> connect() {
    if (base.scheme != "http") {
      return make_error(ErrorCode::kConfigInvalid, "scheme " + base.scheme + " is not supported here, only http");
    }
    LEAT_ASSIGN(const auto endpoints, client_detail::resolve(context, base));
    buffer.clear();
    stream.emplace(context);
    stream->expires_after(timeout);
    std::optional<IoError> done;
    stream->async_connect(endpoints, [&](IoError error, const auto&) { done = error; });
    client_detail::run_until(context, [&] { return done.has_value(); });
    if (*done) {
      stream.reset();
      return unavailable(base, "cannot connect", *done);
    }
    IoError ignored;
    stream->socket().set_option(asio::ip::tcp::no_delay(true), ignored);
    return {};
  }

  // What happened to one try. `is_stale` is true when the server had closed before it saw the request, as far as one
  // can tell: the connection ended without a byte of an answer.
  struct Try {
    IoError error;
    bool is_stale = false;
  };

  Try exchange(const http::request<http::string_body>& request, http::response_parser<http::string_body>& parser) {
    stream->expires_after(timeout);
    std::optional<IoError> done;
    http::async_write(*stream, request, [&](IoError error, std::size_t) { done = error; });
    client_detail::run_until(context, [&] { return done.has_value(); });
    const IoError write_error = *done;
    if (write_error == beast::error::timeout) return {write_error, false};
    // After a failed write there may still be an answer to read: the server may refuse a body before it has seen it
    // all.
    done.reset();
    http::async_read(*stream, buffer, parser, [&](IoError error, std::size_t) { done = error; });
    client_detail::run_until(context, [&] { return done.has_value(); });
    if (!*done) return {};
    const bool is_over = *done == http::error::end_of_stream || *done == asio::error::connection_reset ||
                         *done == asio::error::broken_pipe || *done == asio::error::eof;
    return {write_error ? write_error : *done, is_over && buffer.size() == 0 && !parser.got_some()};
  }
};

HttpClient::HttpClient(Url base, std::int64_t timeout_ms) : impl_(std::make_unique<Impl>()) {
  impl_->base = std::move(base);
  impl_->timeout = std::chrono::milliseconds(timeout_ms);
}

HttpClient::~HttpClient() = default;

void HttpClient::close() { impl_->stream.reset(); }

Result<HttpClientResponse> HttpClient::request(std::string_view method, std::string_view path, std::string_view body,
                                               const HttpHeaders& headers) {
  http::request<http::string_body> request;
  request.version(11);
  request.method_string({method.data(), method.size()});
  request.target({path.data(), path.size()});
  request.set(http::field::host, client_detail::authority(impl_->base));
  for (const auto& [name, value] : headers) request.insert(name, value);
  if (!body.empty() && request.find(http::field::content_type) == request.end()) {
    request.set(http::field::content_type, "application/json");
  }
  request.body() = std::string(body);
  if (!body.empty() || method != "GET") request.content_length(body.size());

  bool is_kept = impl_->stream.has_value();
  for (;;) {
    if (!impl_->stream) LEAT_TRY(impl_->connect());
    http::response_parser<http::string_body> parser;
    parser.body_limit(answer_bytes_max);
    if (method == "HEAD") parser.skip(true);
    const Impl::Try result = impl_->exchange(request, parser);
    if (result.error || !parser.is_done()) {
      close();
      if (is_kept && result.is_stale) {
        is_kept = false;
        continue;
      }
      return unavailable(impl_->base, "no answer", result.error);
    }
    const bool keep_alive = parser.get().keep_alive();
    HttpClientResponse response;
    response.status = static_cast<int>(parser.get().result_int());
    for (const auto& field : parser.get()) {
      response.headers.emplace_back(field.name_string(), field.value());
    }
    response.body = std::move(parser.get().body());
    if (!keep_alive) close();
    return response;
  }
}

}  // namespace leat
