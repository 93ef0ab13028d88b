#include "core/websocket_session.h"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>

namespace leat::http_detail {

namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;

namespace {
constexpr std::size_t close_reason_bytes_max = 123;  // RFC 6455, 5.5
constexpr std::size_t idle_buffer_bytes_max = 64u << 10;
}  // namespace

WebSocketSession::WebSocketSession(std::shared_ptr<IoThread> io, Socket socket,
                                   std::shared_ptr<WebSocketListener> listener)
    : io_(std::move(io)), stream_(std::move(socket)), listener_(std::move(listener)) {}

Awaitable<void> WebSocketSession::run(WebSocketHandshake handshake) {
  const std::shared_ptr<WebSocketSession> self = shared_from_this();
  io_->add(self);
  ++io_->state->websockets;
  auto serving = serve(std::move(handshake));
  co_await std::move(serving);
  {
    const std::lock_guard lock(mutex_);
    is_close_requested_ = true;
    queue_.clear();
    queued_bytes_ = 0;
  }
  IoError ignored;
  stream_.next_layer().close(ignored);
  if (is_open_) listener_->on_close();
  is_open_ = false;
  listener_.reset();
  io_->remove(this);
  --io_->state->websockets;
}

Awaitable<void> WebSocketSession::serve(WebSocketHandshake handshake) {
  const HttpServerLimits& limits = io_->state->limits;
  beast::http::request<beast::http::empty_body> request{beast::http::verb::get, handshake.path, 11};
  request.set(beast::http::field::host, handshake.host);
  request.set(beast::http::field::upgrade, "websocket");
  request.set(beast::http::field::connection, "upgrade");
  request.set(beast::http::field::sec_websocket_key, handshake.key);
  request.set(beast::http::field::sec_websocket_version, "13");
  stream_.set_option(websocket::stream_base::decorator([protocol = handshake.subprotocol](auto& response) {
    if (!protocol.empty()) response.set(beast::http::field::sec_websocket_protocol, protocol);
  }));
  stream_.auto_fragment(false);
  stream_.read_message_max(limits.websocket_message_bytes_max);
  stream_.control_callback([this](websocket::frame_type kind, beast::string_view) {
    if (kind == websocket::frame_type::pong) heard_ms_ = IoThread::now_ms();
    if (kind == websocket::frame_type::close) {
      is_closing_ = true;
      deadline_ms_ = IoThread::now_ms() + kLingerMs;
    }
  });
  deadline_ms_ = IoThread::now_ms() + limits.read_timeout_ms;
  IoError error;
  auto token = asio::redirect_error(UseAwaitable{}, error);
  co_await stream_.async_accept(request, token);
  if (error) co_return;

  deadline_ms_ = 0;
  heard_ms_ = pinged_ms_ = IoThread::now_ms();
  is_open_ = true;
  listener_->on_open(shared_from_this());
  if (io_->state->is_stopping) begin_stop();
  pump();
  for (;;) {
    co_await stream_.async_read(buffer_, token);
    if (error) co_return;
    const auto data = buffer_.data();
    listener_->on_message({static_cast<const char*>(data.data()), data.size()}, stream_.got_text());
    buffer_.consume(buffer_.size());
    if (buffer_.capacity() > idle_buffer_bytes_max) buffer_.shrink_to_fit();
  }
}

void WebSocketSession::send(WebSocketFrame frame) {
  bool must_wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (is_close_requested_) return;
    queued_bytes_ += frame.size();
    queue_.push_back(std::move(frame));
    must_wake = !std::exchange(is_woken_, true);
  }
  if (must_wake) io_->notify(shared_from_this());
}

void WebSocketSession::close(std::uint16_t code, std::string reason) {
  request_close(code, std::move(reason), false, io_->state->limits.read_timeout_ms);
}

void WebSocketSession::request_close(std::uint16_t code, std::string reason, bool drops_queue,
                                     std::int64_t timeout_ms) {
  {
    const std::lock_guard lock(mutex_);
    if (is_close_requested_ && !drops_queue) return;
    if (!is_close_requested_) {
      reason.resize(std::min(reason.size(), close_reason_bytes_max));
      close_reason_ = websocket::close_reason(static_cast<websocket::close_code>(code), reason);
    }
    is_close_requested_ = true;
    close_timeout_ms_ = timeout_ms;
    if (drops_queue) {
      for (const WebSocketFrame& frame : queue_) queued_bytes_ -= frame.size();
      queue_.clear();
    }
    is_woken_ = true;
  }
  io_->notify(shared_from_this());
}

void WebSocketSession::wake() {
  {
    const std::lock_guard lock(mutex_);
    is_woken_ = false;
    if (is_close_requested_ && deadline_ms_ == 0) deadline_ms_ = IoThread::now_ms() + close_timeout_ms_;
  }
  pump();
}

void WebSocketSession::pump() {
  if (!is_open_ || is_writing_ || is_closing_) return;
  {
    const std::lock_guard lock(mutex_);
    if (queue_.empty()) {
      if (is_close_requested_) start_close();
      return;
    }
    current_ = std::move(queue_.front());
    queue_.pop_front();
  }
  is_writing_ = true;
  stream_.text(current_.text);
  const std::array<asio::const_buffer, 2> parts{
      asio::buffer(current_.head), current_.shared ? asio::buffer(*current_.shared) : asio::const_buffer()};
  stream_.async_write(parts, [self = shared_from_this()](IoError error, std::size_t) {
    self->is_writing_ = false;
    {
      const std::lock_guard lock(self->mutex_);
      const std::size_t queued = self->queued_bytes_;
      self->queued_bytes_ = queued - std::min(queued, self->current_.size());
    }
    self->current_ = {};
    if (!error) self->pump();
  });
}

void WebSocketSession::start_close() {
  is_closing_ = true;
  stream_.async_close(close_reason_, [self = shared_from_this()](IoError) {});
}

void WebSocketSession::sweep(std::int64_t now_ms) {
  if (deadline_ms_ != 0 && now_ms >= deadline_ms_) return abort();
  if (!is_open_ || is_closing_) return;
  const HttpServerLimits& limits = io_->state->limits;
  if (now_ms - heard_ms_ >= limits.pong_timeout_ms) {
    heard_ms_ = now_ms;
    deadline_ms_ = now_ms + kLingerMs;
    return request_close(websocket::close_code::policy_error, "no pong in time", true, kLingerMs);
  }
  if (now_ms - pinged_ms_ < limits.ping_interval_ms || is_pinging_) return;
  pinged_ms_ = now_ms;
  is_pinging_ = true;
  stream_.async_ping({}, [self = shared_from_this()](IoError) { self->is_pinging_ = false; });
}

void WebSocketSession::begin_stop() { close(websocket::close_code::going_away, "server stopping"); }

void WebSocketSession::abort() {
  IoError ignored;
  stream_.next_layer().close(ignored);
}

}  // namespace leat::http_detail
