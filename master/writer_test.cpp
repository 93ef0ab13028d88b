#include "master/writer.h"

#include <set>

#include "core/testing/faulty_files.h"
#include "master/limits.h"
#include "master/writer_test_support.h"

namespace leat::master {
namespace {

// Holds the writer's thread inside of its sink, so that writes gather behind it.
class Gate {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    is_waiting_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return is_open_; });
  }
  void until_reached() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_waiting_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
  bool is_waiting_ = false;
};

class WriterTest : public testing::Test {
 protected:
  void start(FileSystem& files = system_files()) {
    WriterOptions options;
    options.store = folder_.options();
    options.log_retention_bytes = log_retention_bytes_;
    auto started = Writer::start(options, files, clock_, random_, [this](const changelog::AppliedBlock& block) {
      if (on_block_) on_block_(block);
    });
    ASSERT_FALSE(started.has_error()) << started.error().message;
    writer_ = std::move(*started);
  }
  AnswerPointer submit(const std::string& sql) {
    const auto answer = std::make_shared<Answer>();
    writer_->submit(sql_write({sql}, answer));
    return answer;
  }
  AnswerPointer execute(const std::string& sql, const std::string& idempotency_key) {
    const auto answer = std::make_shared<Answer>();
    writer_->submit(keyed_write(sql, idempotency_key, answer));
    return answer;
  }
  void must_migrate(std::vector<std::string> statements) {
    const auto answer = std::make_shared<Answer>();
    writer_->submit(migration_write("m" + std::to_string(++migrations_), std::move(statements), answer));
    ASSERT_EQ(answer->status(), 200) << answer->body();
  }
  std::string count(const std::string& table) {
    auto reader = sqlite::Connection::open(folder_.database(), sqlite::OpenMode::kReadOnly).value();
    auto query = reader->prepare("select count(*) from " + table, sqlite::Access::kInternal).value();
    (void)query->step();
    return std::string(query->column_bytes(0));
  }
  template <class Condition>
  static bool eventually(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }

  DataFolder folder_;
  ManualClock clock_{UnixMs{test_now_ms}};
  SeededRandom random_{5};
  std::uint64_t log_retention_bytes_ = 0;
  std::function<void(const changelog::AppliedBlock&)> on_block_;
  int migrations_ = 0;
  Gate gate_;
  std::unique_ptr<Writer> writer_;
};

TEST_F(WriterTest, WritesOfManyThreadsAreAllCommittedAndLoggedOnce) {
  start();
  must_migrate({"create table t (id integer primary key, thread integer)"});
  std::vector<std::thread> clients;
  for (int client = 0; client < 8; ++client) {
    clients.emplace_back([this, client] {
      for (int i = 0; i < 50; ++i) {
        const int number = client * 50 + i;
        EXPECT_EQ(execute("insert into t (thread) values (" + std::to_string(client) + ")", key(number))->status(),
                  200);
      }
    });
  }
  for (auto& client : clients) client.join();
  EXPECT_EQ(count("t"), "400");
  EXPECT_LT(writer_->counts().groups.load(), writer_->counts().writes.load());
  EXPECT_EQ(writer_->log().durable_cursor(), writer_->committed());
}

TEST_F(WriterTest, WhatHasArrivedIsOneGroup) {
  start();
  must_migrate({"create table t (id integer primary key)"});
  std::atomic<std::size_t> largest{0};
  on_block_ = [&](const changelog::AppliedBlock& block) {
    largest = std::max(largest.load(), block.transactions->size());
    if (block.transactions->size() == 1) gate_.wait();
  };
  const auto first = submit("insert into t values (0)");
  gate_.until_reached();
  std::vector<AnswerPointer> answers;
  for (int i = 1; i <= 300; ++i) answers.push_back(submit("insert into t values (" + std::to_string(i) + ")"));
  gate_.open();
  for (const auto& answer : answers) EXPECT_EQ(answer->status(), 200);
  EXPECT_EQ(largest.load(), 300u);
}

TEST_F(WriterTest, AFullQueueAnswersAtOnce) {
  start();
  must_migrate({"create table t (id integer primary key)"});
  on_block_ = [this](const changelog::AppliedBlock&) { gate_.wait(); };
  const auto first = submit("insert into t values (0)");
  gate_.until_reached();
  std::vector<AnswerPointer> answers;
  for (std::size_t i = 1; i <= queue_writes_max; ++i) {
    answers.push_back(submit("insert or ignore into t values (" + std::to_string(i) + ")"));
  }
  const auto refused = submit("insert into t values (-1)");
  EXPECT_EQ(refused->status(), 503);
  EXPECT_TRUE(refused->has("QUEUE_FULL") && refused->has(R"("retry_scope":"request")")) << refused->body();
  const auto& headers = refused->get().headers;
  EXPECT_TRUE(
      std::any_of(headers.begin(), headers.end(), [](const auto& each) { return each.first == "Retry-After"; }));
  gate_.open();
  for (const auto& answer : answers) ASSERT_EQ(answer->status(), 200);
  EXPECT_EQ(submit("insert into t values (-1)")->status(), 200);
}

TEST_F(WriterTest, TheQueueIsBoundedInBytes) {
  start();
  must_migrate({"create table t (id integer primary key)"});
  on_block_ = [this](const changelog::AppliedBlock&) { gate_.wait(); };
  const auto first = submit("insert into t values (0)");
  gate_.until_reached();
  const auto big = [this](std::size_t bytes) {
    const auto answer = std::make_shared<Answer>();
    Write write = sql_write({"insert into t default values"}, answer);
    write.request_bytes = bytes;
    writer_->submit(std::move(write));
    return answer;
  };
  const auto fits = big(queue_bytes_max);
  EXPECT_TRUE(big(1)->has("QUEUE_FULL"));
  gate_.open();
  EXPECT_EQ(fits->status(), 200);
  EXPECT_EQ(big(queue_bytes_max)->status(), 200);
}

TEST_F(WriterTest, StopAnswersEverything) {
  start();
  must_migrate({"create table t (id integer primary key)"});
  on_block_ = [this](const changelog::AppliedBlock& block) {
    if (block.transactions->size() == 1) gate_.wait();
  };
  const auto first = submit("insert into t values (0)");
  gate_.until_reached();
  std::vector<AnswerPointer> queued;
  for (int i = 1; i <= 100; ++i) queued.push_back(submit("insert into t values (" + std::to_string(i) + ")"));
  std::thread stopping([this] { writer_->stop(); });
  gate_.open();
  stopping.join();
  for (const auto& answer : queued) EXPECT_EQ(answer->status(), 200);
  const auto late = submit("insert into t values (101)");
  EXPECT_EQ(late->status(), 503);
  EXPECT_TRUE(late->has("UNAVAILABLE"));
  EXPECT_FALSE(writer_->is_serving());
  EXPECT_EQ(count("t"), "101");
}

TEST_F(WriterTest, StopAnswersEverythingWhileTheLogCannotBeRecovered) {
  FaultyFiles files;
  start(files);
  must_migrate({"create table t (id integer primary key)"});
  files.fail_syncs(0, 1'000'000);
  EXPECT_TRUE(submit("insert into t values (1)")->has("OUTCOME_UNKNOWN"));
  std::vector<AnswerPointer> answers;
  for (int i = 0; i < 20; ++i) answers.push_back(submit("insert into t values (2)"));
  writer_->stop();
  for (const auto& answer : answers) EXPECT_EQ(answer->status(), 503);
}

TEST_F(WriterTest, Hazard01ARetriedKeyIsAppliedExactlyOnceWhateverTheDiskDid) {
  FaultyFiles files;
  start(files);
  must_migrate({"create table t (id integer primary key)"});
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    files.seed(seed);
    const int number = static_cast<int>(seed);
    files.fail_syncs(0, 2);
    const auto first = execute("insert into t default values", key(number));
    EXPECT_TRUE(first->has("OUTCOME_UNKNOWN")) << first->body();
    AnswerPointer again;
    ASSERT_TRUE(eventually([&] {
      again = execute("insert into t default values", key(number));
      return again->status() != 503;
    }));
    EXPECT_EQ(again->status(), 200) << again->body();
    EXPECT_EQ(execute("insert into t default values", key(number))->body(), again->body());
    EXPECT_EQ(count("t"), std::to_string(number));
  }
  EXPECT_TRUE(writer_->is_serving());
}

TEST_F(WriterTest, Hazard02WhatIsRecoveredAtStartIsServedWithItsCursor) {
  start();
  must_migrate({"create table t (id integer primary key)"});
  writer_.reset();
  folder_.save_database();
  start();
  EXPECT_EQ(submit("insert into t values (1)")->status(), 200);
  const Cursor head = writer_->committed();
  writer_.reset();
  folder_.restore_database();
  start();
  EXPECT_EQ(writer_->committed(), head);
  EXPECT_EQ(count("t"), "1");
}

TEST_F(WriterTest, ANewDatabaseWhoseFirstBlockCannotBeWrittenIsNotStarted) {
  FaultyFiles files;
  files.fail_syncs(0, 1'000'000);
  WriterOptions options;
  options.store = folder_.options();
  const auto started = Writer::start(options, files, clock_, random_, {});
  ASSERT_TRUE(started.has_error());
  EXPECT_FALSE(started.error().message.empty());
}

TEST_F(WriterTest, Hazard20CheckpointsKeepTheWalBoundedUnderLoad) {
  start();
  must_migrate({"create table t (id integer primary key, a blob)"});
  std::uintmax_t largest = 0;
  for (int i = 0; i < 100; ++i) {
    clock_.advance_ms(25);
    ASSERT_EQ(submit("insert into t (a) values (randomblob(500000))")->status(), 200);
    if (i % 50 == 49) submit("delete from t");
    largest = std::max(largest, std::filesystem::file_size(folder_.database() + "-wal"));
  }
  EXPECT_LT(largest, 45u << 20) << "50 MB were written";
}

TEST_F(WriterTest, OldSegmentsAreRecycledBehindTheCheckpointOnly) {
  log_retention_bytes_ = 1;
  start();
  must_migrate({"create table t (id integer primary key, a blob)"});
  writer_->set_follower_floor(writer_->committed());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(submit("insert into t (a) values (randomblob(30000))")->status(), 200);
  const std::uint64_t all = writer_->log().retained_bytes();
  for (int i = 0; i < 3; ++i) {
    clock_.advance_ms(sweep_interval_ms + 1);
    EXPECT_EQ(submit("insert into t (a) values (randomblob(30000))")->status(), 200);
  }
  EXPECT_GE(writer_->log().retained_bytes(), all) << "a follower still needs them";
  writer_->set_follower_floor(Cursor(~std::uint64_t{0}));
  EXPECT_TRUE(eventually([&] {
    clock_.advance_ms(sweep_interval_ms + 1);
    submit("insert into t (a) values (x'')")->status();
    return writer_->log().retained_bytes() < all / 2;
  }));
}

}  // namespace
}  // namespace leat::master
