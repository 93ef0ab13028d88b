// The HTTP/1.1 and WebSocket server: one port can carry both. Request bodies arrive whole and bounded; replies may be
// sent from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"

namespace leat {

// A request with the headers that Leat knows; an absent header is an empty string.
struct HttpRequest {
  std::string method;
  std::string path;   // without the query
  std::string query;  // after '?', not decoded
  std::string body;
  std::string authorization;
  std::string request_id;  // Rindle-Request-Id as sent; the router checks it
  bool has_many_request_ids = false;
  std::string values;   // Leat-Values
  std::string project;  // x-rindle-project
};

struct HttpResponse {
  int status = 200;
  std::string body;
  std::string_view content_type = "application/json";  // static storage
  std::vector<std::pair<std::string, std::string>> headers;
};

// The right to answer one request, once, from any thread. Dropped unanswered, it answers 500.
class HttpReply {
 public:
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void send(HttpResponse response) = 0;
  };
  explicit HttpReply(std::shared_ptr<Sink> sink) : sink_(std::move(sink)) {}
  HttpReply(HttpReply&&) noexcept = default;
  HttpReply& operator=(HttpReply&&) noexcept = default;
  ~HttpReply();
  void send(HttpResponse response);

 private:
  std::shared_ptr<Sink> sink_;
};

// Called on an I/O thread, one call at a time for each connection; must not block.
using HttpHandler = std::function<void(HttpRequest, HttpReply)>;

// One message out. `shared` is sent after `head` without being copied, so that many connections can carry one
// encoded body; either part may be empty.
struct WebSocketFrame {
  bool text = true;
  std::string head;
  std::shared_ptr<const std::string> shared;
  std::size_t size() const { return head.size() + (shared ? shared->size() : 0); }
};

// One open WebSocket. All calls from any thread.
class WebSocket {
 public:
  virtual ~WebSocket() = default;
  virtual void send(WebSocketFrame frame) = 0;  // queued, in order; dropped after close
  virtual std::size_t queued_bytes() const = 0;
  // Sends what is queued, then a close frame.
  virtual void close(std::uint16_t code, std::string reason) = 0;
};

// What to do with a connection's messages. Calls come on an I/O thread, one at a time; must not block.
class WebSocketListener {
 public:
  virtual ~WebSocketListener() = default;
  virtual void on_open(std::shared_ptr<WebSocket> socket) = 0;
  virtual void on_message(std::string_view message, bool text) = 0;
  virtual void on_close() = 0;  // last call
};

struct WebSocketUpgrade {
  std::string path;
  std::string authorization;
  std::vector<std::string> subprotocols;  // as offered
};
// What the server answers an upgrade: a listener and the subprotocol to echo ("" for none), or an HTTP error.
struct WebSocketAccept {
  std::shared_ptr<WebSocketListener> listener;  // null refuses with `refusal`
  std::string subprotocol;
  HttpResponse refusal;
};
using WebSocketAcceptor = std::function<WebSocketAccept(const WebSocketUpgrade&)>;

struct HttpServerLimits {
  std::size_t request_bytes_max = 64u << 20;  // body
  std::size_t header_bytes_max = 16u << 10;
  std::size_t connections_max = 16384;                  // beyond it: accepted, answered 503, closed
  std::size_t websocket_message_bytes_max = 16u << 20;  // inbound
  std::int64_t read_timeout_ms = 30'000;                // a request that has begun must be complete by then
  std::int64_t idle_timeout_ms = 120'000;               // between requests
  std::int64_t ping_interval_ms = 15'000;
  std::int64_t pong_timeout_ms = 60'000;
  std::int64_t stop_grace_ms = 10'000;
};

class HttpServer {
 public:
  HttpServer(HttpServerLimits limits, int io_threads);
  ~HttpServer();  // stops
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Opens a listener; port 0 takes any free port; the answer is the port. `handler` may be null (404 for all HTTP),
  // `acceptor` may be null (WebSocket upgrades get 404). Call before start().
  Result<std::uint16_t> listen(const std::string& address, std::uint16_t port, HttpHandler handler,
                               WebSocketAcceptor acceptor);
  void start();
  // Graceful: stops accepting, lets requests under way be answered (`Connection: close`), closes WebSockets with 1001,
  // at most `stop_grace_ms`, then joins the threads. Any thread but an I/O thread. Idempotent.
  void stop();

  std::size_t connections() const;
  std::size_t websockets() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace leat
