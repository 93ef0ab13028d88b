// Inside the HTTP server: one HTTP/1.1 connection.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <optional>
#include <string>

#include "core/http_io.h"
#include "core/http_parser.h"

namespace leat::http_detail {

// What a listening port does with what arrives.
struct Routes {
  HttpHandler handler;
  WebSocketAcceptor acceptor;
};

// Requests are taken one at a time: pipelined ones wait in the buffer until the one before is answered, so answers keep
// their order and a connection has at most one reply outstanding.
class HttpConnection final : public Session,
                             public HttpReply::Sink,
                             public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(std::shared_ptr<IoThread> io, Socket socket, std::shared_ptr<const Routes> routes);

  // Serves until the connection ends, keeping `self` alive.
  static void start(std::shared_ptr<HttpConnection> self, bool is_refused);

  void send(HttpResponse response) override;
  void wake() override;
  void sweep(std::int64_t now_ms) override;
  void begin_stop() override;
  void abort() override;

 private:
  enum class Phase { kIdle, kReading, kHandling, kWriting, kLingering, kOver };
  using ReplyWaiter = asio::async_result<UseAwaitable, void()>::handler_type;

  Awaitable<void> run(bool is_refused);
  Awaitable<void> serve();
  // True when parser_ holds a whole request. Otherwise `refusal_` may hold an answer to send before closing.
  Awaitable<bool> read_request();
  Awaitable<void> wait_for_reply();
  Awaitable<bool> write(bool keep_alive);
  Awaitable<void> linger();
  Awaitable<void> upgrade();
  void skip_line_ends();
  void enter(Phase phase, std::int64_t timeout_ms);
  void refuse(const IoError& error);

  const std::shared_ptr<IoThread> io_;
  Socket socket_;
  const std::shared_ptr<const Routes> routes_;
  boost::beast::flat_buffer buffer_;
  std::optional<RequestParser> parser_;
  std::string head_;
  Phase phase_ = Phase::kIdle;
  std::int64_t deadline_ms_ = 0;
  bool is_stopping_ = false;
  bool is_aborted_ = false;
  bool is_in_handler_ = false;
  bool has_socket_moved_ = false;
  std::optional<HttpResponse> response_;
  std::optional<ReplyWaiter> waiter_;

  std::mutex mutex_;
  std::optional<HttpResponse> sent_response_;  // by another thread, on its way to response_
};

}  // namespace leat::http_detail
