// The reading half over a file that a test writes as an applier would.
#include "follower/read_service.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <mutex>

#include "changelog/state.h"
#include "core/sqlite.h"

namespace leat::follower {
namespace {

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
  void close(std::uint16_t, std::string) override {}
  // The next frame, in order.
  json::object next() {
    std::unique_lock lock(mutex_);
    if (!arrived_.wait_for(lock, std::chrono::seconds(10), [this] { return read_ < frames_.size(); })) {
      ADD_FAILURE() << "no frame came";
      return {};
    }
    return frames_[read_++].as_object();
  }
  std::atomic<bool> is_stuck{false};

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
    ReadingHalf::Options options;
    options.database_path = path_;
    options.queue_bytes_max = 4096;
    half_ = ReadingHalf::open(options, system_clock(), system_random(), metrics_).value();
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
  HttpResponse ask(const std::string& path, const std::string& body) {
    HttpRequest request;
    request.method = "POST";
    request.path = path;
    request.body = body;
    auto sink = std::make_shared<Sink>();
    auto answer = sink->answer.get_future();
    HttpReply reply(sink);
    EXPECT_TRUE(half_->handle(request, reply));
    return answer.get();
  }
  std::string lease(const std::string& ast) {
    const HttpResponse response = ask("/materialize", "{\"ast\":" + ast + "}");
    EXPECT_EQ(response.status, 200) << response.body;
    return std::string(json::parse(response.body).as_object().at("leaseToken").as_string());
  }
  struct Client {
    std::shared_ptr<WebSocketListener> listener;
    std::shared_ptr<RecordingSocket> socket = std::make_shared<RecordingSocket>();
    void send(const std::string& text) { listener->on_message(text, true); }
  };
  Client connect() {
    Client client;
    client.listener = half_->acceptor()({}).listener;
    client.listener->on_open(client.socket);
    return client;
  }

  std::string path_;
  MetricsRegistry metrics_;
  std::unique_ptr<sqlite::Connection> writer_;
  std::unique_ptr<ReadingHalf> half_;
  Cursor cursor_;
};

constexpr const char* kOpenIssues =
    R"({"table":"issue","where":{"type":"simple","op":"=","left":{"type":"column","name":"open"},
        "right":{"type":"literal","value":true}}})";

std::string subscribe(int query, const std::string& lease) {
  return "{\"t\":\"subscribe\",\"queryId\":" + std::to_string(query) + ",\"leaseToken\":\"" + lease + "\"}";
}

TEST_F(ReadingHalfTest, ASubscriberGetsTheSnapshotAndThenEachDelta) {
  insert("i1", "one", 1, 3);
  Client client = connect();
  client.send("garbage");
  client.send(R"({"t":"init","clientID":"c1"})");
  client.send(subscribe(1, lease(kOpenIssues)));
  const json::object hello = client.socket->next();
  EXPECT_EQ(hello.at("t").as_string(), "nhello");
  EXPECT_EQ(json::serialize(hello.at("hello").at("tables")),
            R"([{"name":"issue","columns":["id","title","open","pri"],"primaryKey":[0]}])");
  const json::object snapshot = client.socket->next();
  EXPECT_EQ(json::serialize(snapshot.at("batch").at("ops")),
            R"([{"table":"issue","op":"add","row":["i1","one",true,3]}])");
  EXPECT_EQ(snapshot.at("batch").at("seq").as_int64(), 0);
  EXPECT_EQ(client.socket->next().at("t").as_string(), "progress");
  insert("i2", "two", 0, 1);
  insert("i3", "three", 1, 2);
  const json::object delta = client.socket->next();
  EXPECT_EQ(json::serialize(delta.at("batch").at("ops")),
            R"([{"table":"issue","op":"add","row":["i3","three",true,2]}])");
  EXPECT_EQ(delta.at("batch").at("seq").as_int64(), 1);
  EXPECT_EQ(client.socket->next().at("t").as_string(), "progress");
  client.send(subscribe(1, lease(kOpenIssues)));
  EXPECT_EQ(client.socket->next().at("hello").at("epoch").as_int64(), 2);
  client.listener->on_close();
}

TEST_F(ReadingHalfTest, ANewFingerprintIsTheClientsOwn) {
  writer_->execute("create table fissue (id text primary key, title text, open boolean, pri integer, owner text)")
      .value();
  const HttpResponse answer = ask("/query", R"({"ast":{"table":"fissue"}})");
  EXPECT_EQ(json::parse(answer.body).at("schema").at("normalizedFp").as_string(), "359880c763da41c0") << answer.body;
}

TEST_F(ReadingHalfTest, AnUnknownLeaseIsRetryable) {
  Client client = connect();
  client.send(subscribe(9, "nope"));
  const json::object error = client.socket->next();
  EXPECT_EQ(error.at("code").as_string(), "lease_expired");
  EXPECT_TRUE(error.at("retryable").as_bool());
}

TEST_F(ReadingHalfTest, AConnectionThatDoesNotReadIsShedAndOthersGoOn) {
  const std::string token = lease(R"({"table":"issue"})");
  Client slow = connect();
  Client quick = connect();
  for (Client* client : {&slow, &quick}) {
    client->send(subscribe(1, token));
    client->socket->next();
    client->socket->next();
  }
  slow.socket->is_stuck = true;
  const std::string title(2000, 'x');
  for (int i = 0; i < 6; ++i) insert(("k" + std::to_string(i)).c_str(), title.c_str(), 1, i);
  json::object last;
  while (last.empty() || last.at("t").as_string() == "nbatch") last = slow.socket->next();
  EXPECT_EQ(last.at("code").as_string(), "shed");
  EXPECT_LT(slow.socket->queued_bytes(), 4096u + 512u);
  std::size_t rows = 0;
  while (rows < 6) rows += quick.socket->next().at("batch").at("ops").as_array().size();
}

TEST_F(ReadingHalfTest, ReadsCannotWrite) {
  const HttpResponse answer = ask("/execute-sql-read", R"({"sql":"delete from issue"})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.body, R"({"error":"sqlite error during read: attempt to write a readonly database"})");
  insert("i1", "one", 1, 3);
  EXPECT_EQ(ask("/execute-sql-read", R"({"sql":"select id, pri from issue"})").body,
            R"({"cols":["id","pri"],"rows":[["i1",3]]})");
}

TEST_F(ReadingHalfTest, ASchemaChangeEndsItsQueriesRetryably) {
  Client client = connect();
  client.send(subscribe(1, lease(R"({"table":"issue"})")));
  client.socket->next();
  client.socket->next();
  const std::string sql = "alter table issue add column owner text";
  apply(sql, {changelog::SchemaChange{sql}});
  EXPECT_EQ(client.socket->next().at("code").as_string(), "faulted");
}

TEST_F(ReadingHalfTest, MaterializeWaitsForATableWhoseMigrationIsOnTheWay) {
  auto pending = std::async(std::launch::async, [this] { return ask("/materialize", R"({"ast":{"table":"later"}})"); });
  const std::string sql = "create table later (id integer primary key)";
  apply(sql, {changelog::SchemaChange{sql}});
  EXPECT_EQ(pending.get().status, 200);
}

TEST_F(ReadingHalfTest, WaitingForACursorEndsWhenItIsApplied) {
  std::promise<bool> done;
  half_->when_applied(Cursor(Epoch{1}, 1), 5'000, [&](bool applied) { done.set_value(applied); });
  insert("i1", "one", 1, 3);
  EXPECT_TRUE(done.get_future().get());
}

}  // namespace
}  // namespace leat::follower
