#include "core/reader_pool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <future>

namespace leat {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Readers : testing::Test {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("leat-readers-" + std::to_string(getpid()) + "-" +
                                                testing::UnitTest::GetInstance()->current_test_info()->name());
  std::unique_ptr<sqlite::Connection> writer;

  Readers() {
    std::filesystem::create_directories(folder);
    writer = sqlite::Connection::open(path(), sqlite::OpenMode::kCreate).value();
    sqlite::configure_writer(*writer).value();
    writer->execute("create table t (id integer primary key); insert into t values (1), (2)").value();
  }
  ~Readers() override {
    writer.reset();
    std::filesystem::remove_all(folder);
  }
  std::string path() const { return folder / "db"; }
  ReaderPool::Options options(std::size_t threads) const {
    ReaderPool::Options options;
    options.path = path();
    options.threads = threads;
    return options;
  }
};

Result<std::int64_t> number(sqlite::Connection& connection, std::string_view sql) {
  LEAT_ASSIGN(auto statement, connection.prepare_cached(sql, sqlite::Access::kRead));
  LEAT_TRY(statement->step());
  return statement->column_int64(0);
}

Result<std::int64_t> read(ReaderPool& pool, std::string sql, milliseconds time_max = seconds(20)) {
  auto answer = std::make_shared<std::promise<Result<std::int64_t>>>();
  auto future = answer->get_future();
  pool.read<std::int64_t>(
      time_max, [sql](sqlite::Connection& connection) { return number(connection, sql); },
      [answer](Result<std::int64_t> result) { answer->set_value(std::move(result)); });
  return future.get();
}

template <class Condition>
bool eventually(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST_F(Readers, AnswerReadsAndRefuseWrites) {
  ReaderPool pool(options(4));
  EXPECT_EQ(read(pool, "select count(*) from t").value(), 2);
  writer->execute("insert into t values (3)").value();
  EXPECT_EQ(read(pool, "select count(*) from t").value(), 3);
  const auto refused = read(pool, "delete from t");
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().sqlite_code, 8);
  std::promise<Result<void>> written;
  ASSERT_TRUE(pool.submit(seconds(20),
                          [&](Result<sqlite::Connection*> connection) {
                            written.set_value((*connection)->execute("delete from t"));
                          })
                  .has_value());
  EXPECT_TRUE(written.get_future().get().has_error()) << "query_only holds whatever the access";
}

TEST_F(Readers, EndAStatementAtItsDeadline) {
  ReaderPool pool(options(1));
  const auto ended = read(
      pool, "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c", milliseconds(10));
  ASSERT_TRUE(ended.has_error());
  EXPECT_EQ(ended.error().sqlite_code, 9);
  EXPECT_EQ(read(pool, "select 5").value(), 5);
}

TEST_F(Readers, RefuseWhatTheQueueCannotHoldAndFinishTheRestWhenStopped) {
  auto limited = options(1);
  limited.queue_max = 2;
  ReaderPool pool(limited);
  std::promise<void> gate;
  auto opened = gate.get_future().share();
  std::atomic<int> ran = 0;
  ASSERT_TRUE(pool.submit(seconds(20), [&](auto) { opened.wait(), ++ran; }).has_value());
  ASSERT_TRUE(eventually([&] { return pool.waiting() == 0; }));
  ASSERT_TRUE(pool.submit(seconds(20), [&](auto) { ++ran; }).has_value());
  ASSERT_TRUE(pool.submit(seconds(20), [&](auto) { ++ran; }).has_value());
  const auto full = pool.submit(seconds(20), [&](auto) { ++ran; });
  ASSERT_TRUE(full.has_error());
  EXPECT_EQ(full.error().code, ErrorCode::kQueueFull);
  EXPECT_EQ(full.error().retry_scope, RetryScope::kRequest);
  gate.set_value();
  pool.stop();
  EXPECT_EQ(ran, 3);
  const auto late = pool.submit(seconds(20), [&](auto) { ++ran; });
  ASSERT_TRUE(late.has_error());
  EXPECT_EQ(late.error().code, ErrorCode::kUnavailable);
}

TEST_F(Readers, CloseConnectionsThatHaveNothingToDo) {
  auto impatient = options(2);
  impatient.idle_max = milliseconds(1);
  ReaderPool pool(impatient);
  EXPECT_EQ(read(pool, "select 1").value(), 1);
  EXPECT_TRUE(eventually([&] { return pool.open_connections() == 0; }));
  EXPECT_EQ(read(pool, "select 2").value(), 2);
}

TEST_F(Readers, LeaveNoTransactionOpen) {
  ReaderPool pool(options(1));
  ASSERT_TRUE(pool.submit(seconds(20),
                          [](Result<sqlite::Connection*> connection) {
                            (*connection)->execute("begin; select * from t").value();
                          })
                  .has_value());
  EXPECT_EQ(read(pool, "select 1").value(), 1);
  writer->execute("insert into t values (9)").value();
  EXPECT_EQ(read(pool, "select max(id) from t").value(), 9);
}

TEST_F(Readers, SayWhyThereIsNoConnection) {
  auto missing = options(1);
  missing.path = folder / "nosuch" / "db";
  ReaderPool pool(missing);
  const auto failed = read(pool, "select 1");
  ASSERT_TRUE(failed.has_error());
  EXPECT_EQ(failed.error().sqlite_code, 14);
}

TEST(ReaderThreads, AreFourToSixteen) {
  EXPECT_GE(ReaderPool::default_threads(), 4u);
  EXPECT_LE(ReaderPool::default_threads(), 16u);
}

}  // namespace
}  // namespace leat
