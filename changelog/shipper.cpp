#include "changelog/shipper.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

#include "changelog/subscribe_protocol.h"
#include "core/log.h"

namespace leat::changelog {

namespace {

constexpr std::size_t message_bytes_aim = 256u << 10;  // blocks are gathered into messages of about this size
constexpr std::size_t queue_bytes_max = 4u << 20;      // waiting in one follower's socket; the rest waits in the log
constexpr std::uint16_t close_refused = 4000;

}  // namespace

// One follower's connection. What the socket says arrives on an I/O thread and is left here, under the mutex, for the
// shipper's thread; the reader and what follows it belong to that thread alone.
class Shipper::Session final : public WebSocketListener, public std::enable_shared_from_this<Session> {
 public:
  explicit Session(Shipper& shipper) : shipper_(&shipper) {}

  void on_open(std::shared_ptr<WebSocket> socket) override {
    const std::lock_guard lock(mutex_);
    socket_ = std::move(socket);
  }
  void on_message(std::string_view message, bool text) override {
    auto frame = text
                     ? parse_subscribe_frame(message)
                     : Result<SubscribeFrame>(make_error(ErrorCode::kStatementInvalid, "a follower sends text frames"));
    const std::lock_guard lock(mutex_);
    if (frame.has_error()) {
      problem_ = frame.error().message;
    } else if (auto* hello = std::get_if<Hello>(&*frame)) {
      hello_ = std::move(*hello);
      status_.name = hello_->name;
    } else if (const auto* ack = std::get_if<Acknowledgement>(&*frame)) {
      status_.durable = ack->durable;
      status_.applied = ack->applied;
      if (shipper_ != nullptr) status_.acknowledged_at = shipper_->clock_.now();
    }
    if (shipper_ != nullptr) shipper_->wake();
  }
  void on_close() override {
    const std::lock_guard lock(mutex_);
    socket_.reset();
    if (shipper_ != nullptr) shipper_->wake();
  }

  void detach() {
    const std::lock_guard lock(mutex_);
    shipper_ = nullptr;
  }

  struct Mail {
    std::shared_ptr<WebSocket> socket;
    std::optional<Hello> hello;
    std::string problem;
  };
  Mail take_mail() {
    const std::lock_guard lock(mutex_);
    return {socket_, std::exchange(hello_, std::nullopt), std::exchange(problem_, {})};
  }
  FollowerStatus status() const {
    const std::lock_guard lock(mutex_);
    return status_;
  }

  // The shipper's thread.
  std::unique_ptr<LogReader> reader;
  std::optional<EncodedBlock> held;  // read, but not committed yet
  std::int64_t beaten_us = 0;
  bool refused = false;

  void refuse(WebSocket& socket, std::string code, std::string message) {
    leat::log().warn("a follower was refused", {{"follower", status().name}, {"code", code}, {"message", message}});
    send_text(socket, Refusal{std::move(code), std::move(message)});
    socket.close(close_refused, "refused");
    refused = true;
  }
  static void send_text(WebSocket& socket, const SubscribeFrame& frame) { socket.send({true, encode(frame), nullptr}); }

 private:
  mutable std::mutex mutex_;
  Shipper* shipper_;
  std::shared_ptr<WebSocket> socket_;
  std::optional<Hello> hello_;
  std::string problem_;
  FollowerStatus status_;
};

Shipper::Shipper(ChangeLog& log, DatabaseId database_id, Cursor committed, Clock& clock, FloorSink on_floor)
    : log_(log), database_id_(database_id), clock_(clock), on_floor_(std::move(on_floor)), committed_(committed) {
  thread_ = std::thread([this] { run(); });
}

Shipper::~Shipper() { stop(); }

void Shipper::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
  for (const auto& session : sessions()) session->detach();
}

std::shared_ptr<WebSocketListener> Shipper::listener() {
  auto session = std::make_shared<Session>(*this);
  const std::lock_guard lock(mutex_);
  if (stopping_) {
    session->detach();
  } else {
    sessions_.push_back(session);
  }
  return session;
}

void Shipper::publish(Cursor committed) {
  {
    const std::lock_guard lock(mutex_);
    committed_ = committed;
    if (sessions_.empty()) return;
    has_work_ = true;
  }
  wake_.notify_one();
}

void Shipper::wake() {
  {
    const std::lock_guard lock(mutex_);
    has_work_ = true;
  }
  wake_.notify_one();
}

std::vector<FollowerStatus> Shipper::followers() const {
  std::vector<FollowerStatus> all;
  for (const auto& session : sessions()) {
    if (auto status = session->status(); !status.name.empty()) all.push_back(std::move(status));
  }
  return all;
}

std::vector<std::shared_ptr<Shipper::Session>> Shipper::sessions() const {
  std::vector<std::shared_ptr<Session>> alive;
  const std::lock_guard lock(mutex_);
  for (const auto& weak : sessions_) {
    if (auto session = weak.lock()) alive.push_back(std::move(session));
  }
  return alive;
}

void Shipper::run() {
  while (true) {
    Cursor committed;
    {
      std::unique_lock lock(mutex_);
      // A follower's socket that drains says nothing, so a short wait serves those that catch up, too.
      const auto wait = std::chrono::milliseconds(sessions_.empty() ? 1'000 : 20);
      wake_.wait_for(lock, wait, [&] { return stopping_ || has_work_; });
      if (stopping_) return;
      has_work_ = false;
      sessions_.remove_if([](const auto& session) { return session.expired(); });
      committed = committed_;
    }
    for (const auto& session : sessions()) {
      const auto mail = session->take_mail();
      if (mail.socket == nullptr || session->refused) continue;
      if (!mail.problem.empty()) {
        session->refuse(*mail.socket, "PROTOCOL", mail.problem);
      } else if (mail.hello) {
        welcome(*session, *mail.socket, *mail.hello, committed);
      }
      if (session->reader != nullptr) pump(*session, *mail.socket, committed);
    }
    if (on_floor_) report_floor();
  }
}

void Shipper::report_floor() {
  Cursor floor(std::numeric_limits<std::uint64_t>::max());
  for (const auto& session : sessions()) {
    if (session->reader != nullptr) floor = std::min(floor, session->status().durable);
  }
  on_floor_(floor);
}

void Shipper::welcome(Session& session, WebSocket& socket, const Hello& hello, Cursor committed) {
  if (!hello.database_id.is_nil() && hello.database_id != database_id_) {
    session.refuse(socket, "DATABASE_MISMATCH",
                   "follower \"" + hello.name + "\" holds database " + hello.database_id.to_text() +
                       ", this master is database " + database_id_.to_text() +
                       "; give the follower an empty folder, or the right master");
    return;
  }
  if (hello.cursor > committed) {
    session.refuse(socket, "FOLLOWER_AHEAD",
                   "follower \"" + hello.name + "\" stands at " + hello.cursor.to_text() +
                       ", ahead of this master at " + committed.to_text() +
                       "; the master was restored from an older copy, or lost the end of its log");
    return;
  }
  auto reader = log_.read_after(hello.cursor);
  if (reader.has_error()) {
    const bool is_gone = reader.error().code == ErrorCode::kNotFound;
    session.refuse(socket, is_gone ? "SNAPSHOT_REQUIRED" : "CORRUPT", reader.error().message);
    return;
  }
  session.reader = std::move(*reader);
  session.held.reset();
  Session::send_text(socket, Welcome{database_id_, committed, clock_.now()});
  leat::log().info("a follower subscribed", {{"follower", hello.name}, {"cursor", hello.cursor.to_text()}});
}

void Shipper::pump(Session& session, WebSocket& socket, Cursor committed) {
  std::string message;
  while (socket.queued_bytes() < queue_bytes_max) {
    if (!session.held) {
      auto next = session.reader->next();
      if (next.has_error()) {
        const bool is_gone = next.error().code == ErrorCode::kNotFound;
        session.refuse(socket, is_gone ? "SNAPSHOT_REQUIRED" : "CORRUPT", next.error().message);
        return;
      }
      session.held = std::move(*next);
    }
    if (!session.held || session.held->header().last > committed) break;
    message += session.held->bytes();
    session.held.reset();
    if (message.size() >= message_bytes_aim) socket.send({false, std::exchange(message, {}), nullptr});
  }
  if (!message.empty()) socket.send({false, std::move(message), nullptr});
  const std::int64_t now_us = clock_.monotonic_us();
  if (now_us - session.beaten_us >= heartbeat_interval_ms * 1000) {
    session.beaten_us = now_us;
    Session::send_text(socket, Heartbeat{committed, clock_.now()});
  }
}

}  // namespace leat::changelog
