// Blocking clients for programs, tests and threads of their own. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"

namespace leat {

struct Url {
  std::string scheme;  // http, https, ws, wss
  std::string host;
  std::uint16_t port = 0;
  std::string path;  // begins with '/', query included
  static Result<Url> parse(std::string_view text);
};

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpClientResponse {
  int status = 0;
  std::string body;
  HttpHeaders headers;
  std::string_view header(std::string_view name) const;  // case-insensitive, "" if absent
};

// Keeps its connection between requests; reconnects once when an idle one was closed by the server, and only before any
// byte of the answer has arrived. Errors: kUnavailable (connect refused, reset, timed out), retry scope kRequest.
class HttpClient {
 public:
  explicit HttpClient(Url base, std::int64_t timeout_ms = 30'000);
  ~HttpClient();
  Result<HttpClientResponse> request(std::string_view method, std::string_view path, std::string_view body = {},
                                     const HttpHeaders& headers = {});
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct WebSocketMessage {
  bool text = true;
  std::string bytes;
};

class WebSocketClient {
 public:
  static Result<std::unique_ptr<WebSocketClient>> connect(const Url& url, const HttpHeaders& headers = {},
                                                          std::int64_t timeout_ms = 10'000);
  ~WebSocketClient();
  Result<void> send(std::string_view bytes, bool text = true);
  // The next message; nullopt when none came within `timeout_ms`; an error when the connection is over (the message
  // says the close code and reason).
  Result<std::optional<WebSocketMessage>> receive(std::int64_t timeout_ms);
  void close();
  // Makes a receive() that waits on another thread return an error soon. The one call that is safe from any thread.
  void cancel();

 private:
  struct Impl;
  explicit WebSocketClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace leat
