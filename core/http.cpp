#include "core/http.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <chrono>

#include "core/http_connection.h"
#include "core/http_io.h"

namespace leat {

using namespace http_detail;

namespace {

using Acceptor = asio::basic_socket_acceptor<asio::ip::tcp, Executor>;

// Connections beyond the limit that may be told so at the same time; more are just closed.
constexpr std::size_t refusals_max = 64;
// After accept() failed (no file descriptors left, as a rule).
constexpr auto kAcceptRetry = std::chrono::milliseconds(50);
// Between aborting what is left and giving up on it; only a handler that blocks an I/O thread takes that long.
constexpr auto kAbortWait = std::chrono::seconds(5);

struct ListeningPort {
  explicit ListeningPort(asio::io_context& context) : acceptor(context), retry(context) {}
  Acceptor acceptor;
  asio::steady_timer retry;
  std::shared_ptr<const Routes> routes;
};

}  // namespace

HttpReply::~HttpReply() {
  if (sink_) send(error_response(500, "internal error"));
}

void HttpReply::send(HttpResponse response) {
  const std::shared_ptr<Sink> sink = std::move(sink_);
  if (sink) sink->send(std::move(response));
}

struct HttpServer::Impl {
  std::shared_ptr<ServerState> state;
  std::vector<std::shared_ptr<IoThread>> threads;
  std::vector<std::unique_ptr<ListeningPort>> ports;
  std::size_t next_thread = 0;
  bool is_started = false;
  std::mutex stop_mutex;
  bool is_stopped = false;

  Awaitable<void> accept_all(ListeningPort& port) {
    while (port.acceptor.is_open()) {
      const std::shared_ptr<IoThread> io = threads[next_thread++ % threads.size()];
      Socket socket(io->context);
      IoError error;
      auto token = asio::redirect_error(UseAwaitable{}, error);
      co_await port.acceptor.async_accept(socket, token);
      if (!port.acceptor.is_open()) break;
      if (error) {
        port.retry.expires_after(kAcceptRetry);
        co_await port.retry.async_wait(token);
        continue;
      }
      const std::size_t count = ++state->connections;
      if (count > state->limits.connections_max + refusals_max) {
        state->release_connection();
        continue;
      }
      const bool is_refused = count > state->limits.connections_max;
      auto connection = std::make_shared<HttpConnection>(io, std::move(socket), port.routes);
      asio::dispatch(io->context, [connection = std::move(connection), is_refused]() mutable {
        HttpConnection::start(std::move(connection), is_refused);
      });
    }
  }

  bool wait_until_closed(std::chrono::milliseconds timeout) {
    std::unique_lock lock(state->mutex);
    return state->closed.wait_for(lock, timeout, [&] { return state->connections == 0; });
  }
};

HttpServer::HttpServer(HttpServerLimits limits, int io_threads) : impl_(std::make_unique<Impl>()) {
  impl_->state = std::make_shared<ServerState>(limits);
  for (int i = 0; i < std::max(io_threads, 1); ++i) {
    impl_->threads.push_back(std::make_shared<IoThread>(impl_->state));
  }
}

HttpServer::~HttpServer() { stop(); }

Result<std::uint16_t> HttpServer::listen(const std::string& address, std::uint16_t port, HttpHandler handler,
                                         WebSocketAcceptor acceptor) {
  IoError error;
  const auto ip = asio::ip::make_address(address == "localhost" ? "127.0.0.1" : address, error);
  if (error) return make_error(ErrorCode::kConfigInvalid, "not an IP address to listen on: \"" + address + "\"");
  auto listening = std::make_unique<ListeningPort>(impl_->threads.front()->context);
  const asio::ip::tcp::endpoint endpoint(ip, port);
  Acceptor& socket = listening->acceptor;
  socket.open(endpoint.protocol(), error);
  if (!error) socket.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) socket.bind(endpoint, error);
  if (!error) socket.listen(asio::socket_base::max_listen_connections, error);
  std::uint16_t bound_port = 0;
  if (!error) bound_port = socket.local_endpoint(error).port();
  if (error) {
    return make_error(ErrorCode::kIo,
                      "cannot listen on " + address + ":" + std::to_string(port) + ": " + error.message());
  }
  listening->routes = std::make_shared<const Routes>(Routes{std::move(handler), std::move(acceptor)});
  impl_->ports.push_back(std::move(listening));
  return bound_port;
}

void HttpServer::start() {
  impl_->is_started = true;
  for (const auto& thread : impl_->threads) thread->start();
  for (const auto& port : impl_->ports) {
    asio::co_spawn(impl_->threads.front()->context, impl_->accept_all(*port), [](const std::exception_ptr& bug) {
      if (bug) std::rethrow_exception(bug);
    });
  }
}

void HttpServer::stop() {
  const std::lock_guard lock(impl_->stop_mutex);
  if (impl_->is_stopped || !impl_->is_started) return;
  impl_->is_stopped = true;
  impl_->state->is_stopping = true;
  asio::post(impl_->threads.front()->context, [impl = impl_.get()] {
    IoError ignored;
    for (const auto& port : impl->ports) {
      port->acceptor.close(ignored);
      port->retry.cancel();
    }
    // Only now: no connection starts after a thread was told to stop.
    for (const auto& thread : impl->threads) {
      asio::post(thread->context, [thread] { thread->begin_stop(); });
    }
  });
  if (!impl_->wait_until_closed(std::chrono::milliseconds(impl_->state->limits.stop_grace_ms))) {
    for (const auto& thread : impl_->threads) {
      asio::post(thread->context, [thread] { thread->abort(); });
    }
    impl_->wait_until_closed(kAbortWait);
  }
  for (const auto& thread : impl_->threads) thread->finish();
}

std::size_t HttpServer::connections() const { return impl_->state->connections; }
std::size_t HttpServer::websockets() const { return impl_->state->websockets; }

}  // namespace leat
