#include "core/http_connection.h"

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>

#include "core/websocket_session.h"

namespace leat::http_detail {

namespace http = boost::beast::http;

namespace {

constexpr std::size_t kReadBytes = 4u << 10;
constexpr std::size_t kBodyReadBytes = 64u << 10;
constexpr std::size_t idle_buffer_bytes_max = 64u << 10;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

HttpConnection::HttpConnection(std::shared_ptr<IoThread> io, Socket socket, std::shared_ptr<const Routes> routes)
    : io_(std::move(io)), socket_(std::move(socket)), routes_(std::move(routes)) {}

void HttpConnection::start(std::shared_ptr<HttpConnection> self, bool is_refused) {
  self->io_->add(self);
  HttpConnection& connection = *self;
  asio::co_spawn(connection.io_->context, connection.run(is_refused),
                 [self = std::move(self)](const std::exception_ptr& bug) {
                   if (bug) std::rethrow_exception(bug);
                 });
}

Awaitable<void> HttpConnection::run(bool is_refused) {
  IoError ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  if (is_refused) {
    response_ = error_response(503, "too many connections");
    if (co_await write(false)) co_await linger();
  } else {
    co_await serve();
  }
  enter(Phase::kOver, 0);
  if (!has_socket_moved_) socket_.close(ignored);
  io_->remove(this);
  io_->state->release_connection();
}

Awaitable<void> HttpConnection::serve() {
  for (;;) {
    parser_.emplace(io_->state->limits);
    const bool is_whole = co_await read_request();
    if (!is_whole) {
      if (!response_) co_return;
      const bool is_written = co_await write(false);
      if (is_written) co_await linger();
      co_return;
    }
    if (parser_->upgrade() && parser_->upgrade_header.is_websocket) {
      co_await upgrade();
      co_return;
    }

    enter(Phase::kHandling, 0);
    if (routes_->handler) {
      HttpReply reply(shared_from_this());
      is_in_handler_ = true;
      routes_->handler(std::move(parser_->request), std::move(reply));
      is_in_handler_ = false;
      if (!response_) co_await wait_for_reply();
    } else {
      response_ = error_response(404, "not found");
    }
    if (is_aborted_ || !response_) co_return;

    const bool keep_alive = parser_->keep_alive() && !is_stopping_;
    const bool is_written = co_await write(keep_alive);
    if (!is_written) co_return;
    if (!keep_alive) {
      co_await linger();
      co_return;
    }
  }
}

Awaitable<bool> HttpConnection::read_request() {
  const HttpServerLimits& limits = io_->state->limits;
  enter(Phase::kIdle, limits.idle_timeout_ms);
  if (buffer_.size() == 0 && buffer_.capacity() > idle_buffer_bytes_max) buffer_.shrink_to_fit();
  for (;;) {
    if (phase_ == Phase::kIdle) skip_line_ends();
    if (buffer_.size() > 0) {
      if (phase_ == Phase::kIdle) enter(Phase::kReading, limits.read_timeout_ms);
      IoError error;
      const std::size_t used = parser_->put(buffer_.data(), error);
      buffer_.consume(used);
      if (error && error != http::error::need_more) {
        refuse(error);
        co_return false;
      }
      if (parser_->is_done()) co_return true;
      if (!error && used > 0 && buffer_.size() > 0) continue;
      if (parser_->is_header_done() && parser_->expects_continue) {
        parser_->expects_continue = false;
        const asio::const_buffer text(kContinue.data(), kContinue.size());
        auto token = asio::redirect_error(UseAwaitable{}, error);
        co_await asio::async_write(socket_, text, token);
      }
    }
    if (is_stopping_ && phase_ == Phase::kIdle) co_return false;
    IoError error;
    const auto space = buffer_.prepare(parser_->is_header_done() ? kBodyReadBytes : kReadBytes);
    auto token = asio::redirect_error(UseAwaitable{}, error);
    const std::size_t got = co_await socket_.async_read_some(space, token);
    buffer_.commit(got);
    if (error == asio::error::operation_aborted && phase_ == Phase::kReading && !is_aborted_) {
      response_ = error_response(408, "request timed out");
    }
    if (error) co_return false;
  }
}

// RFC 9112, 2.2: empty lines before a request are ignored.
void HttpConnection::skip_line_ends() {
  const char* data = static_cast<const char*>(buffer_.data().data());
  std::size_t count = 0;
  while (count < buffer_.size() && (data[count] == '\r' || data[count] == '\n')) ++count;
  buffer_.consume(count);
}

void HttpConnection::refuse(const IoError& error) {
  if (error == http::error::body_limit) {
    response_ = error_response(413, "request body too large");
  } else if (error == http::error::header_limit) {
    response_ = error_response(431, "request header too large");
  } else {
    response_ = error_response(400, "malformed request");
  }
}

Awaitable<void> HttpConnection::wait_for_reply() {
  auto keep = [this](ReplyWaiter waiter) { waiter_.emplace(std::move(waiter)); };
  UseAwaitable token;
  auto waiting = asio::async_initiate<UseAwaitable, void()>(std::move(keep), token);
  co_await std::move(waiting);
}

Awaitable<bool> HttpConnection::write(bool keep_alive) {
  enter(Phase::kWriting, io_->state->limits.read_timeout_ms);
  const HttpResponse response = std::move(*response_);
  response_.reset();
  write_response_head(head_, response, io_->date(), keep_alive);
  const bool has_body = response.status != 204 && response.status != 304 && !(parser_ && parser_->is_head);
  std::array<asio::const_buffer, 2> parts{asio::buffer(head_),
                                          has_body ? asio::buffer(response.body) : asio::const_buffer()};
  const std::size_t total = parts[0].size() + parts[1].size();
  IoError error;
  // Nearly always the socket takes it all at once, without a trip through the event loop.
  std::size_t wrote = socket_.write_some(parts, error);
  if (error == asio::error::would_block) error = {};
  if (!error && wrote < total) {
    for (asio::const_buffer& part : parts) {
      const std::size_t step = std::min(part.size(), wrote);
      part += step;
      wrote -= step;
    }
    auto token = asio::redirect_error(UseAwaitable{}, error);
    co_await asio::async_write(socket_, parts, token);
  }
  co_return !error;
}

// Closing with unread input would make the kernel reset the connection and take the answer from the client.
Awaitable<void> HttpConnection::linger() {
  IoError error;
  socket_.shutdown(Socket::shutdown_send, error);
  buffer_.consume(buffer_.size());
  enter(Phase::kLingering, kLingerMs);
  while (!error) {
    const auto space = buffer_.prepare(kReadBytes);
    auto token = asio::redirect_error(UseAwaitable{}, error);
    co_await socket_.async_read_some(space, token);
  }
}

Awaitable<void> HttpConnection::upgrade() {
  UpgradeHeader& header = parser_->upgrade_header;
  WebSocketAccept accept;
  accept.refusal = error_response(404, "not found");
  if (parser_->request.method != "GET" || header.key.empty() || header.version != "13" || buffer_.size() > 0) {
    accept.refusal = error_response(400, "malformed WebSocket upgrade");
  } else if (is_stopping_) {
    accept.refusal = error_response(503, "stopping");
  } else if (routes_->acceptor) {
    accept =
        routes_->acceptor(WebSocketUpgrade{parser_->request.path, parser_->request.authorization, header.subprotocols});
  }
  if (!accept.listener) {
    response_ = std::move(accept.refusal);
    const bool is_written = co_await write(false);
    if (is_written) co_await linger();
    co_return;
  }
  WebSocketHandshake handshake{parser_->request.path, parser_->host, header.key, std::move(accept.subprotocol)};
  has_socket_moved_ = true;
  auto session = std::make_shared<WebSocketSession>(io_, std::move(socket_), std::move(accept.listener));
  io_->remove(this);
  auto running = session->run(std::move(handshake));
  co_await std::move(running);
}

void HttpConnection::enter(Phase phase, std::int64_t timeout_ms) {
  phase_ = phase;
  deadline_ms_ = timeout_ms == 0 ? 0 : IoThread::now_ms() + timeout_ms;
}

void HttpConnection::send(HttpResponse response) {
  if (io_->is_here() && is_in_handler_) {
    response_ = std::move(response);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    sent_response_ = std::move(response);
  }
  io_->notify(shared_from_this());
}

void HttpConnection::wake() {
  if (phase_ == Phase::kHandling) {
    const std::lock_guard lock(mutex_);
    response_ = std::move(sent_response_);
    sent_response_.reset();
  }
  if (!waiter_) return;
  ReplyWaiter waiter = std::move(*waiter_);
  waiter_.reset();
  std::move(waiter)();
}

void HttpConnection::sweep(std::int64_t now_ms) {
  if (deadline_ms_ == 0 || now_ms < deadline_ms_) return;
  IoError ignored;
  if (phase_ == Phase::kIdle || phase_ == Phase::kReading) {
    socket_.cancel(ignored);
  } else {
    socket_.close(ignored);
  }
}

void HttpConnection::begin_stop() {
  is_stopping_ = true;
  IoError ignored;
  if (phase_ == Phase::kIdle) socket_.cancel(ignored);
}

void HttpConnection::abort() {
  is_aborted_ = true;
  is_stopping_ = true;
  IoError ignored;
  socket_.close(ignored);
  if (waiter_) wake();
}

}  // namespace leat::http_detail
