// The reading half over a file that a test writes as an applier would.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <boost/json.hpp>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "changelog/state.h"
#include "core/sqlite.h"
#include "follower/read_service.h"

namespace leat::follower {

namespace json = boost::json;
using changelog::Operation;
using changelog::RowChange;

class RecordingSocket final : public WebSocket {
 public:
  void send(WebSocketFrame frame) override {
    const std::lock_guard lock(mutex_);
    if (is_stuck) queued_ += frame.size();
    std::string text = frame.head + (frame.shared ? *frame.shared : "");
    frames_.push_back(json::parse(text));
    arrived_.notify_all();
  }
  std::size_t queued_bytes() const override {
    const std::lock_guard lock(mutex_);
    return queued_;
  }
  void close(std::uint16_t code, std::string) override { close_code = code; }
  // The next frame, in order.
  json::object next() {
    std::unique_lock lock(mutex_);
    if (!arrived_.wait_for(lock, std::chrono::seconds(10), [this] { return read_ < frames_.size(); })) {
      ADD_FAILURE() << "no frame came";
      return {};
    }
    return frames_[read_++].as_object();
  }
  std::size_t frames() const {
    const std::lock_guard lock(mutex_);
    return frames_.size();
  }
  std::atomic<bool> is_stuck{false};
  std::atomic<int> close_code{0};

 private:
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<json::value> frames_;
  std::size_t read_ = 0;
  std::size_t queued_ = 0;
};

class ReadingHalfTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() / ("leat-reading-" + system_random().hex(8) + ".db");
    writer_ = sqlite::Connection::open(path_, sqlite::OpenMode::kCreate).value();
    writer_->execute("pragma journal_mode=wal").value();
    changelog::create_state(*writer_, {system_random().uuid(), Cursor()}).value();
    writer_->execute("create table issue (id text primary key not null, title text, open boolean, pri integer)")
        .value();
    open(system_clock());
  }
  void open(Clock& clock, std::size_t queue_bytes_max = 4096) {
    if (half_ != nullptr) half_->stop();
    ReadingHalf::Options options;
    options.database_path = path_;
    options.queue_bytes_max = queue_bytes_max;
    options.lag = [this] { return lag_; };
    half_ = ReadingHalf::open(options, clock, system_random(), metrics_).value();
  }
  void TearDown() override {
    half_->stop();
    writer_.reset();
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path_ + suffix);
  }

  void apply(const std::string& sql, std::vector<changelog::ChangeRecord> records) {
    cursor_ = cursor_ == Cursor() ? Cursor(Epoch{1}, 1) : cursor_.next();
    writer_->execute("begin immediate").value();
    writer_->execute(sql).value();
    changelog::write_applied_cursor(*writer_, cursor_).value();
    writer_->execute("commit").value();
    changelog::Transaction transaction;
    transaction.cursor = cursor_;
    transaction.records = std::move(records);
    half_->publish({cursor_, cursor_, UnixMs{0},
                    std::make_shared<const std::vector<changelog::Transaction>>(1, std::move(transaction))});
  }
  static Row row(const char* id, const char* title, std::int64_t open, std::int64_t pri) {
    return {Text{id}, Text{title}, open, pri};
  }
  void insert(const char* id, const char* title, std::int64_t open, std::int64_t pri) {
    apply("insert into issue values ('" + std::string(id) + "','" + title + "'," + std::to_string(open) + "," +
              std::to_string(pri) + ")",
          {RowChange{"issue", Operation::kInsert, {}, {}, {}, row(id, title, open, pri)}});
  }

  struct Sink final : HttpReply::Sink {
    std::promise<HttpResponse> answer;
    void send(HttpResponse response) override { answer.set_value(std::move(response)); }
  };
  HttpResponse ask(const std::string& path, const std::string& body, const char* method = "POST") {
    HttpRequest request;
    request.method = method;
    request.path = path;
    request.body = body;
    auto sink = std::make_shared<Sink>();
    auto answer = sink->answer.get_future();
    HttpReply reply(sink);
    EXPECT_TRUE(half_->handle(request, reply));
    return answer.get();
  }
  json::object materialize(const std::string& ast, const std::string& more = "") {
    const HttpResponse response = ask("/materialize", "{\"ast\":" + ast + more + "}");
    EXPECT_EQ(response.status, 200) << response.body;
    return json::parse(response.body).as_object();
  }
  std::string lease(const std::string& ast, const std::string& more = "") {
    return std::string(materialize(ast, more).at("leaseToken").as_string());
  }
  json::object stats() { return json::parse(ask("/stats", "{}").body).as_object(); }
  struct Client {
    std::shared_ptr<WebSocketListener> listener;
    std::shared_ptr<RecordingSocket> socket = std::make_shared<RecordingSocket>();
    void send(const std::string& text) { listener->on_message(text, true); }
  };
  Client connect(const WebSocketUpgrade& upgrade = {}) {
    Client client;
    client.listener = half_->acceptor()(upgrade).listener;
    client.listener->on_open(client.socket);
    return client;
  }

  std::string path_;
  MetricsRegistry metrics_;
  std::unique_ptr<sqlite::Connection> writer_;
  std::unique_ptr<ReadingHalf> half_;
  Cursor cursor_;
  ReadingHalf::Lag lag_;
};

inline constexpr const char* kOpenIssues =
    R"({"table":"issue","where":{"type":"simple","op":"=","left":{"type":"column","name":"open"},
        "right":{"type":"literal","value":true}}})";

inline std::string subscribe(int query, const std::string& lease) {
  return "{\"t\":\"subscribe\",\"queryId\":" + std::to_string(query) + ",\"leaseToken\":\"" + lease + "\"}";
}

}  // namespace leat::follower
