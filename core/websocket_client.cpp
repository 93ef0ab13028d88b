#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <chrono>

#include "core/http_client.h"
#include "core/http_client_io.h"

namespace leat {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using client_detail::IoError;
using client_detail::run_until;
using client_detail::unavailable;

namespace {
constexpr std::size_t message_bytes_max = 1u << 30;
constexpr auto kCloseTimeout = std::chrono::seconds(2);
}  // namespace

struct WebSocketClient::Impl {
  Url url;
  std::chrono::milliseconds timeout{};
  asio::io_context context;
  // Keeps the loop waiting, rather than out of work, between operations.
  asio::executor_work_guard<asio::io_context::executor_type> guard = asio::make_work_guard(context);
  websocket::stream<beast::tcp_stream> stream{context};
  beast::flat_buffer buffer;
  std::atomic<bool> is_cancelled{false};
  // A read outlives the receive() that began it when that one timed out.
  bool is_reading = false;
  std::optional<IoError> read;

  ~Impl() {
    // Lets handlers that refer to this object run before it goes.
    IoError ignored;
    stream.next_layer().socket().close(ignored);
    guard.reset();
    context.restart();
    context.run();
  }

  // Runs the loop until `is_done()`; false when the time is over or the client was cancelled.
  template <class IsDone>
  bool run_for(std::chrono::milliseconds time, IsDone is_done) {
    const auto deadline = std::chrono::steady_clock::now() + time;
    context.restart();
    while (!is_done()) {
      if (is_cancelled || context.run_one_until(deadline) == 0) return is_done();
    }
    return true;
  }

  Error over(const IoError& error) {
    if (is_cancelled) return make_error(ErrorCode::kUnavailable, "cancelled", RetryScope::kRequest);
    if (error == websocket::error::closed) {
      const websocket::close_reason& reason = stream.reason();
      return make_error(ErrorCode::kUnavailable,
                        "closed by the server with code " + std::to_string(reason.code) + ": " +
                            std::string(reason.reason.data(), reason.reason.size()),
                        RetryScope::kRequest);
    }
    return unavailable(url, "connection lost", error);
  }
};

WebSocketClient::WebSocketClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WebSocketClient::~WebSocketClient() { close(); }

Result<std::unique_ptr<WebSocketClient>> WebSocketClient::connect(const Url& url, const HttpHeaders& headers,
                                                                  std::int64_t timeout_ms) {
  if (url.scheme != "ws") {
    return make_error(ErrorCode::kConfigInvalid, "scheme " + url.scheme + " is not supported here, only ws");
  }
  auto impl = std::make_unique<Impl>();
  impl->url = url;
  impl->timeout = std::chrono::milliseconds(timeout_ms);
  LEAT_ASSIGN(const auto endpoints, client_detail::resolve(impl->context, url));
  auto& tcp = beast::get_lowest_layer(impl->stream);
  tcp.expires_after(impl->timeout);
  std::optional<IoError> done;
  tcp.async_connect(endpoints, [&](IoError error, const auto&) { done = error; });
  run_until(impl->context, [&] { return done.has_value(); });
  if (*done) return unavailable(url, "cannot connect", *done);
  IoError ignored;
  tcp.socket().set_option(asio::ip::tcp::no_delay(true), ignored);

  impl->stream.set_option(websocket::stream_base::decorator([&](websocket::request_type& request) {
    for (const auto& [name, value] : headers) request.set(name, value);
  }));
  impl->stream.read_message_max(message_bytes_max);
  impl->stream.auto_fragment(false);
  websocket::response_type response;
  done.reset();
  impl->stream.async_handshake(response, client_detail::authority(url), url.path, [&](IoError error) { done = error; });
  run_until(impl->context, [&] { return done.has_value(); });
  if (*done) {
    const bool is_answer = *done == websocket::error::upgrade_declined;
    if (!is_answer) return unavailable(url, "the WebSocket handshake failed", *done);
    const unsigned status = response.result_int();
    const std::string message =
        "the server refused the WebSocket with status " + std::to_string(status) + ": " + response.body();
    if (status == 401) return make_error(ErrorCode::kUnauthorized, message);
    if (status == 404) return make_error(ErrorCode::kNotFound, message);
    return make_error(ErrorCode::kUnavailable, message, RetryScope::kRequest);
  }
  tcp.expires_never();
  return std::unique_ptr<WebSocketClient>(new WebSocketClient(std::move(impl)));
}

Result<void> WebSocketClient::send(std::string_view bytes, bool text) {
  std::optional<IoError> done;
  impl_->stream.text(text);
  impl_->stream.async_write(asio::buffer(bytes), [&](IoError error, std::size_t) { done = error; });
  if (!impl_->run_for(impl_->timeout, [&] { return done.has_value(); })) {
    // The write refers to this frame, so it must end first.
    IoError ignored;
    impl_->stream.next_layer().socket().close(ignored);
    run_until(impl_->context, [&] { return done.has_value(); });
  }
  if (*done) return impl_->over(*done);
  return {};
}

Result<std::optional<WebSocketMessage>> WebSocketClient::receive(std::int64_t timeout_ms) {
  if (!impl_->is_reading && !impl_->read) {
    impl_->is_reading = true;
    impl_->stream.async_read(impl_->buffer, [impl = impl_.get()](IoError error, std::size_t) {
      impl->is_reading = false;
      impl->read = error;
    });
  }
  const bool is_done = impl_->run_for(std::chrono::milliseconds(timeout_ms), [&] { return impl_->read.has_value(); });
  if (impl_->is_cancelled) return impl_->over({});
  if (!is_done) return std::optional<WebSocketMessage>();
  // An error stays: the connection is over for good.
  if (*impl_->read) return impl_->over(*impl_->read);
  const auto data = impl_->buffer.data();
  WebSocketMessage message{impl_->stream.got_text(), {static_cast<const char*>(data.data()), data.size()}};
  impl_->buffer.consume(impl_->buffer.size());
  impl_->read.reset();
  return std::optional<WebSocketMessage>(std::move(message));
}

void WebSocketClient::close() {
  if (!impl_->stream.is_open() || impl_->is_cancelled) return;
  std::optional<IoError> done;
  impl_->stream.async_close(websocket::close_code::normal, [&](IoError error) { done = error; });
  if (!impl_->run_for(kCloseTimeout, [&] { return done.has_value(); })) {
    IoError ignored;
    impl_->stream.next_layer().socket().close(ignored);
    run_until(impl_->context, [&] { return done.has_value(); });
  }
}

void WebSocketClient::cancel() {
  impl_->is_cancelled = true;
  asio::post(impl_->context, [impl = impl_.get()] {
    IoError ignored;
    impl->stream.next_layer().socket().close(ignored);
  });
}

}  // namespace leat
