// Inside the HTTP server: the I/O threads, what lives on them, and how other threads reach it.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/http.h"

namespace leat::http_detail {

namespace asio = boost::asio;
using Executor = asio::io_context::executor_type;
using Socket = asio::basic_stream_socket<asio::ip::tcp, Executor>;
template <class T>
using Awaitable = asio::awaitable<T, Executor>;
using UseAwaitable = asio::use_awaitable_t<Executor>;
using IoError = boost::system::error_code;

// How long a side that was told to go may take to close its end.
inline constexpr std::int64_t kLingerMs = 1'000;

// What the connections of one server share.
struct ServerState {
  explicit ServerState(HttpServerLimits server_limits) : limits(server_limits) {}
  const HttpServerLimits limits;
  std::atomic<std::size_t> connections{0};
  std::atomic<std::size_t> websockets{0};
  std::atomic<bool> is_stopping{false};
  std::mutex mutex;  // for waiting until `connections` is 0
  std::condition_variable closed;

  void release_connection() {
    const std::lock_guard lock(mutex);
    --connections;
    closed.notify_all();
  }
};

// One connection. Everything but IoThread::notify() happens on its I/O thread.
class Session {
 public:
  virtual ~Session() = default;
  virtual void wake() = 0;                      // after notify()
  virtual void sweep(std::int64_t now_ms) = 0;  // enforces timeouts
  virtual void begin_stop() = 0;                // end when what is under way is done
  virtual void abort() = 0;                     // end now
};

class IoThread : public std::enable_shared_from_this<IoThread> {
 public:
  explicit IoThread(std::shared_ptr<ServerState> server_state);

  asio::io_context context{1};
  const std::shared_ptr<ServerState> state;

  void start();
  // Runs until nothing is left to do.
  void finish();

  // Any thread: calls session->wake() on this thread. A burst of calls costs about one wake-up.
  void notify(std::shared_ptr<Session> session);

  bool is_here() const { return std::this_thread::get_id() == id_.load(std::memory_order_relaxed); }

  // On this thread.
  void add(std::shared_ptr<Session> session) {
    Session* key = session.get();
    sessions_.emplace(key, std::move(session));
  }
  void remove(Session* session) { sessions_.erase(session); }
  void begin_stop();
  void abort();
  std::string_view date() const { return date_; }
  static std::int64_t now_ms();

 private:
  void drain();
  void schedule_sweep();
  std::vector<std::shared_ptr<Session>> sessions() const;

  std::optional<asio::executor_work_guard<Executor>> guard_;
  asio::steady_timer sweep_timer_;
  std::int64_t sweep_ms_;
  std::string date_;
  std::unordered_map<Session*, std::shared_ptr<Session>> sessions_;
  std::atomic<std::thread::id> id_;
  std::thread thread_;

  std::mutex mutex_;
  bool is_over_ = false;
  std::vector<std::shared_ptr<Session>> ready_;
  std::vector<std::shared_ptr<Session>> draining_;
};

}  // namespace leat::http_detail
