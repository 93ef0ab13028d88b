// Inside the HTTP server: one WebSocket.
#pragma once

#include <array>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <deque>
#include <string>

#include "core/http_io.h"

namespace leat::http_detail {

struct WebSocketHandshake {
  std::string path;
  std::string host;
  std::string key;
  std::string subprotocol;
};

class WebSocketSession final : public Session, public WebSocket, public std::enable_shared_from_this<WebSocketSession> {
 public:
  WebSocketSession(std::shared_ptr<IoThread> io, Socket socket, std::shared_ptr<WebSocketListener> listener);

  // Shakes hands and serves until the socket is closed.
  Awaitable<void> run(WebSocketHandshake handshake);

  void send(WebSocketFrame frame) override;
  std::size_t queued_bytes() const override { return queued_bytes_.load(std::memory_order_relaxed); }
  void close(std::uint16_t code, std::string reason) override;

  void wake() override;
  void sweep(std::int64_t now_ms) override;
  void begin_stop() override;
  void abort() override;

 private:
  Awaitable<void> serve(WebSocketHandshake handshake);
  void request_close(std::uint16_t code, std::string reason, bool drops_queue, std::int64_t timeout_ms);
  void pump();
  void start_close();

  const std::shared_ptr<IoThread> io_;
  boost::beast::websocket::stream<Socket, false> stream_;
  std::shared_ptr<WebSocketListener> listener_;
  boost::beast::flat_buffer buffer_;
  WebSocketFrame current_;
  bool is_open_ = false;
  bool is_writing_ = false;
  bool is_pinging_ = false;
  bool is_closing_ = false;
  std::int64_t deadline_ms_ = 0;  // of the handshake, then of the close; 0 between
  std::int64_t pinged_ms_ = 0;
  std::int64_t heard_ms_ = 0;

  std::atomic<std::size_t> queued_bytes_{0};
  std::mutex mutex_;
  std::deque<WebSocketFrame> queue_;
  bool is_woken_ = false;
  bool is_close_requested_ = false;  // nothing is queued any more
  std::int64_t close_timeout_ms_ = 0;
  boost::beast::websocket::close_reason close_reason_;
};

}  // namespace leat::http_detail
