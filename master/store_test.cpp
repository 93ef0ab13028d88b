#include "master/store.h"

#include "master/limits.h"
#include "master/writer_test_support.h"

namespace leat::master {
namespace {

class StoreTest : public GroupTest {
 protected:
  void SetUp() override {
    GroupTest::SetUp();
    must_migrate({"create table t (id integer primary key, a blob)"});
  }
  // Opening must be refused with these words, and leave every file as it is.
  void expect_refused(ErrorCode code, std::vector<std::string> words) {
    const std::string before = folder_.fingerprint();
    auto opened = Store::open(folder_.options(), *files_, random_);
    ASSERT_TRUE(opened.has_error());
    EXPECT_EQ(opened.error().code, code) << opened.error().message;
    for (const auto& word : words) {
      EXPECT_NE(opened.error().message.find(word), std::string::npos) << opened.error().message;
    }
    EXPECT_EQ(folder_.fingerprint(), before);
  }
  // Writes enough for several segments.
  void fill() {
    for (int i = 0; i < 40; ++i) {
      ASSERT_EQ(run({"insert into t (a) values (randomblob(20000))"})->status(), 200);
    }
  }
  std::vector<std::string> segments() {
    std::vector<std::string> paths;
    for (const auto& name : files_->list(folder_.log()).value()) {
      if (name.ends_with(".log") || name.find("seg") != std::string::npos) paths.push_back(folder_.log() + "/" + name);
    }
    return paths;
  }
};

TEST_F(StoreTest, ADatabaseThatIsBehindItsLogIsBroughtUpByReplay) {
  close();
  folder_.save_database();
  open();
  fill();
  must_migrate({"alter table t add column b text default 'd'"});
  run("update t set b = 'x' where id % 2 = 0");
  const std::string expected = rows("select id, hex(a), b from t");
  close();
  folder_.restore_database();
  open();
  EXPECT_EQ(replayed_, 42);
  EXPECT_EQ(rows("select id, hex(a), b from t"), expected);
  EXPECT_EQ(store_->applied(), store_->log().durable_cursor());
  EXPECT_EQ(rows("pragma foreign_keys"), "1");
}

TEST_F(StoreTest, ALostDatabaseIsMadeAgainFromTheLog) {
  fill();
  const auto id = store_->database_id();
  const std::string expected = rows("select id, hex(a) from t");
  close();
  std::filesystem::remove(folder_.database());
  std::filesystem::remove(folder_.database() + "-wal");
  std::filesystem::remove(folder_.database() + "-shm");
  open();
  EXPECT_EQ(store_->database_id(), id);
  EXPECT_EQ(rows("select id, hex(a) from t"), expected);
}

TEST_F(StoreTest, ADatabaseAheadOfItsLogIsRefused) {
  close();
  std::filesystem::copy(folder_.log(), folder_.path() + "/old-log");
  open();
  run("insert into t values (1, 'x')");
  close();
  std::filesystem::remove_all(folder_.log());
  std::filesystem::rename(folder_.path() + "/old-log", folder_.log());
  expect_refused(ErrorCode::kCorrupt, {folder_.database(), "ahead of its change log", folder_.log()});
}

TEST_F(StoreTest, AHoleInTheLogIsRefused) {
  fill();
  close();
  const auto paths = segments();
  ASSERT_GE(paths.size(), 4u);
  std::filesystem::remove(paths[paths.size() / 2]);
  expect_refused(ErrorCode::kCorrupt, {folder_.log()});
}

TEST_F(StoreTest, ALogWhoseBeginningIsGoneCannotMakeALostDatabase) {
  fill();
  ASSERT_FALSE(store_->log().retain(store_->applied(), 0).has_error());
  close();
  std::filesystem::remove(folder_.database());
  std::filesystem::remove(folder_.database() + "-wal");
  std::filesystem::remove(folder_.database() + "-shm");
  expect_refused(ErrorCode::kCorrupt, {"cannot be replayed"});
  EXPECT_FALSE(std::filesystem::exists(folder_.database()));
}

TEST_F(StoreTest, AnotherDatabasesLogIsRefused) {
  close();
  DataFolder other;
  SeededRandom other_random(99);
  { auto made = Store::open(other.options(), *files_, other_random).value(); }
  std::filesystem::remove_all(folder_.log());
  std::filesystem::copy(other.log(), folder_.log());
  expect_refused(ErrorCode::kDatabaseMismatch, {folder_.log(), "belongs to database"});
}

TEST_F(StoreTest, AMissingLogIsRefused) {
  close();
  std::filesystem::remove_all(folder_.log());
  std::filesystem::create_directories(folder_.log());
  expect_refused(ErrorCode::kCorrupt, {folder_.database(), "there is no change log"});
}

TEST_F(StoreTest, ARefusedDatabaseKeepsItsWal) {
  run("insert into t values (1, 'x')");
  folder_.save_database();  // as a killed process leaves it
  close();
  folder_.restore_database();
  ASSERT_GT(std::filesystem::file_size(folder_.database() + "-wal"), 0u);
  std::filesystem::remove_all(folder_.log());
  std::filesystem::create_directories(folder_.log());
  expect_refused(ErrorCode::kCorrupt, {"there is no change log"});
}

TEST_F(StoreTest, ASqliteFileThatLeatDidNotMakeIsRefused) {
  close();
  std::filesystem::remove_all(folder_.log());
  std::filesystem::create_directories(folder_.log());
  for (const bool wal : {false, true}) {
    std::filesystem::remove(folder_.database());
    std::filesystem::remove(folder_.database() + "-wal");
    std::filesystem::remove(folder_.database() + "-shm");
    auto foreign = sqlite::Connection::open(folder_.database(), sqlite::OpenMode::kCreate).value();
    if (wal) (void)foreign->execute("pragma journal_mode = wal");
    ASSERT_FALSE(foreign->execute("create table theirs (a); insert into theirs values (1)").has_error());
    foreign.reset();
    expect_refused(ErrorCode::kDatabaseMismatch, {folder_.database(), "did not make"});
  }
}

TEST_F(StoreTest, AFileThatIsNoDatabaseIsRefused) {
  close();
  std::ofstream(folder_.database(), std::ios::trunc) << std::string(5'000, 'x');
  std::filesystem::remove(folder_.database() + "-wal");
  const std::string before = folder_.fingerprint();
  auto opened = Store::open(folder_.options(), *files_, random_);
  EXPECT_TRUE(opened.has_error());
  EXPECT_EQ(folder_.fingerprint(), before);
}

TEST_F(StoreTest, Hazard26AFolderThatIsHeldIsNotTakenOver) {
  auto second = Store::open(folder_.options(), *files_, random_);
  ASSERT_TRUE(second.has_error());
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(run("insert into t values (1, 'x')")->status(), 200);
  close();
  open();  // it is free once its holder is gone
}

TEST_F(StoreTest, Hazard01AfterARestartTheCursorGoesOnWithoutAGap) {
  const Cursor before = store_->applied();
  reopen();
  run("insert into t values (1, 'x')");
  EXPECT_EQ(store_->applied(), before.next());
}

}  // namespace
}  // namespace leat::master
