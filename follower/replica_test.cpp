#include "follower/replica.h"

#include <random>

#include "changelog/state.h"
#include "follower/replication_test_support.h"

namespace leat::follower {
namespace {

class ReplicaTest : public testing::Test {
 protected:
  std::unique_ptr<Replica> open() {
    auto replica = folder_.open();
    EXPECT_TRUE(replica.has_value()) << replica.error().message;
    return std::move(replica).value();
  }
  std::unique_ptr<Replica> open_adopted() {
    auto replica = open();
    EXPECT_FALSE(replica->adopt(database_).has_error());
    return replica;
  }
  // What another connection that holds the database's write lock does to the applier: its transaction fails.
  void fail_to_apply(Replica& replica, const std::string& blocks) {
    auto other = sqlite::Connection::open(folder_.database(), sqlite::OpenMode::kReadWrite).value();
    other->execute("begin immediate").value();
    EXPECT_TRUE(replica.apply(blocks).has_error());
    other->execute("rollback").value();
  }
  // The database as it is now, brought back by the function returned.
  std::function<void()> keep_database() {
    const auto kept = folder_.path() / "kept";
    std::filesystem::create_directories(kept);
    for (const char* suffix : {"", "-wal"}) {
      std::filesystem::copy_file(folder_.database() + suffix, kept / (std::string("f.db") + suffix),
                                 std::filesystem::copy_options::overwrite_existing);
    }
    return [this, kept] {
      std::filesystem::remove(folder_.database() + "-shm");
      for (const char* suffix : {"", "-wal"}) {
        std::filesystem::copy_file(kept / (std::string("f.db") + suffix), folder_.database() + suffix,
                                   std::filesystem::copy_options::overwrite_existing);
      }
    };
  }

  ReplicaFolder folder_;
  DatabaseId database_ = system_random().uuid();
  DatabaseId other_ = system_random().uuid();
};

TEST_F(ReplicaTest, AppliesEachBlockOnceAndFeedsItOnInOrder) {
  auto replica = open_adopted();
  ASSERT_FALSE(replica->apply(test_blocks(1, 3)).has_error());
  ASSERT_FALSE(replica->apply(test_blocks(1, 3)).has_error());
  ASSERT_FALSE(replica->apply(test_blocks(2, 5)).has_error());
  EXPECT_EQ(replica->applied(), at(5));
  EXPECT_EQ(folder_.rows(), ReplicaFolder::ids(2, 5));
  EXPECT_EQ(folder_.fed, ReplicaFolder::sequences(1, 5));
}

TEST_F(ReplicaTest, GoesOnWhereItStoodAfterARestart) {
  {
    auto replica = open_adopted();
    ASSERT_FALSE(replica->apply(test_blocks(1, 3)).has_error());
  }
  auto replica = open();
  EXPECT_EQ(replica->database_id(), database_);
  EXPECT_EQ(replica->applied(), at(3));
  EXPECT_EQ(replica->commit_time(), UnixMs{1'000});
  ASSERT_FALSE(replica->apply(test_blocks(4, 6)).has_error());
  EXPECT_EQ(folder_.rows(), ReplicaFolder::ids(2, 6));
}

TEST_F(ReplicaTest, AGapIsReportedAndChangesNothing) {
  auto replica = open_adopted();
  ASSERT_FALSE(replica->apply(test_blocks(1, 2)).has_error());
  const auto gap = replica->apply(test_blocks(3, 3) + test_blocks(5, 5));
  ASSERT_TRUE(gap.has_error());
  EXPECT_EQ(gap.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(gap.error().message.find(at(5).to_text()), std::string::npos) << gap.error().message;
  EXPECT_EQ(replica->applied(), at(2));
  EXPECT_EQ(folder_.fed, ReplicaFolder::sequences(1, 2));
  ASSERT_FALSE(replica->apply(test_blocks(3, 5)).has_error());
  EXPECT_EQ(folder_.rows(), ReplicaFolder::ids(2, 5));
}

TEST_F(ReplicaTest, PartOfABlockOrGarbageChangesNothing) {
  auto replica = open_adopted();
  ASSERT_FALSE(replica->apply(test_blocks(1, 2)).has_error());
  const std::string next = test_blocks(3, 4);
  for (std::size_t size = 1; size < next.size(); ++size) {
    if (size == test_blocks(3, 3).size()) continue;
    ASSERT_TRUE(replica->apply(next.substr(0, size)).has_error()) << size;
  }
  std::mt19937 random(5);
  for (int i = 0; i < 200; ++i) {
    std::string damaged = next;
    damaged[random() % damaged.size()] ^= static_cast<char>(1u << (random() % 8));
    ASSERT_TRUE(replica->apply(damaged).has_error());
  }
  EXPECT_EQ(replica->applied(), at(2));
  ASSERT_FALSE(replica->apply(next).has_error());
  EXPECT_EQ(folder_.rows(), ReplicaFolder::ids(2, 4));
}

TEST_F(ReplicaTest, BlocksBeforeADatabaseIsKnownAreRefused) {
  auto replica = open();
  EXPECT_EQ(replica->apply(test_blocks(1, 1)).error().code, ErrorCode::kCorrupt);
}

TEST_F(ReplicaTest, AnotherDatabaseIsRefused) {
  auto replica = open_adopted();
  EXPECT_FALSE(replica->adopt(database_).has_error());
  EXPECT_EQ(replica->adopt(other_).error().code, ErrorCode::kDatabaseMismatch);
  EXPECT_EQ(replica->database_id(), database_);
}

TEST_F(ReplicaTest, SegmentsOfAnotherDatabaseAreRefusedAndStay) {
  { auto replica = open_adopted(); }
  auto connection = sqlite::Connection::open(folder_.database(), sqlite::OpenMode::kReadWrite).value();
  changelog::write_database_id(*connection, other_).value();
  EXPECT_EQ(folder_.open().error().code, ErrorCode::kDatabaseMismatch);
  // An empty database beside them, too.
  changelog::write_database_id(*connection, DatabaseId()).value();
  connection.reset();
  auto replica = open();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(replica->adopt(other_).error().code, ErrorCode::kDatabaseMismatch);
  EXPECT_FALSE(replica->adopt(database_).has_error());
  EXPECT_FALSE(replica->apply(test_blocks(1, 2)).has_error());
}

TEST_F(ReplicaTest, ADatabaseThatIsNotLeatsIsRefused) {
  auto connection = sqlite::Connection::open(folder_.database(), sqlite::OpenMode::kCreate).value();
  connection->execute("create table mine (id integer primary key)").value();
  EXPECT_EQ(folder_.open().error().code, ErrorCode::kDatabaseMismatch);
}

TEST_F(ReplicaTest, AFolderBelongsToOneProcess) {
  auto replica = open_adopted();
  EXPECT_EQ(folder_.open().error().code, ErrorCode::kUnavailable);
}

TEST_F(ReplicaTest, Hazard06SegmentsBehindTheDatabaseStartAgainAtItsCursor) {
  {
    auto replica = open_adopted();
    ASSERT_FALSE(replica->apply(test_blocks(1, 2)).has_error());
    ASSERT_FALSE(replica->sync().has_error());
    ASSERT_FALSE(replica->apply(test_blocks(3, 6)).has_error());
    std::mt19937_64 random(1);
    folder_.files.fail_syncs(0, 1'000);
    replica.reset();
    folder_.files.fail_syncs(0, 0);
    folder_.files.power_cut(random, 0);
  }
  folder_.fed.clear();
  auto replica = open();
  EXPECT_EQ(replica->applied(), at(6));
  EXPECT_EQ(replica->durable(), at(6));
  EXPECT_TRUE(folder_.fed.empty());
  ASSERT_FALSE(replica->apply(test_blocks(7, 8)).has_error());
  EXPECT_EQ(folder_.rows(), ReplicaFolder::ids(2, 8));
}

TEST_F(ReplicaTest, Hazard06SegmentsAheadOfTheDatabaseAreReplayedAndFed) {
  std::function<void()> restore;
  {
    auto replica = open_adopted();
    ASSERT_FALSE(replica->apply(test_blocks(1, 2)).has_error());
    restore = keep_database();
    ASSERT_FALSE(replica->apply(test_blocks(3, 6)).has_error());
  }
  restore();
  folder_.fed.clear();
  auto replica = open();
  EXPECT_EQ(replica->applied(), at(6));
  EXPECT_EQ(folder_.fed, ReplicaFolder::sequences(3, 6));
  EXPECT_EQ(folder_.rows(), ReplicaFolder::ids(2, 6));
}

TEST_F(ReplicaTest, Hazard06NoCheckpointRunsAheadOfTheSegments) {
  folder_.segment_bytes = 64 << 20;
  auto replica = open_adopted();
  ASSERT_FALSE(replica->apply(test_blocks(1, 2)).has_error());
  ASSERT_TRUE(eventually([&] { return replica->durable() == at(2); })) << "the checkpointer syncs first";
  folder_.files.fail_syncs(0, 1'000'000);
  changelog::Transaction transaction;
  transaction.cursor = at(3);
  changelog::RowChange change;
  change.table = "t";
  change.new_rowid = 3;
  // Past the size at which the writer itself starts the WAL again.
  change.new_row = {std::int64_t{3}, Text{std::string(20u << 20, 'x')}};
  transaction.records = {change};
  const auto block = changelog::encode_block({transaction}, UnixMs{1}).value();
  ASSERT_FALSE(replica->apply(block.bytes()).has_error());
  EXPECT_TRUE(replica->sync().has_error());
  // The checkpoint of what was durable before may still be under way; this block's pages must not be in it.
  EXPECT_LT(std::filesystem::file_size(folder_.database()), 20u << 20);
  folder_.files.fail_syncs(0, 0);
  EXPECT_TRUE(eventually([&] { return std::filesystem::file_size(folder_.database()) > (20u << 20); }));
  EXPECT_EQ(replica->durable(), at(3));
}

TEST_F(ReplicaTest, BlocksThatWereWrittenButNotAppliedAreNotWrittenAgain) {
  auto replica = open_adopted();
  ASSERT_FALSE(replica->apply(test_blocks(1, 2)).has_error());
  fail_to_apply(*replica, test_blocks(3, 4));
  EXPECT_EQ(replica->applied(), at(2));
  ASSERT_FALSE(replica->apply(test_blocks(3, 5)).has_error());
  EXPECT_EQ(folder_.rows(), ReplicaFolder::ids(2, 5));
  EXPECT_EQ(folder_.fed, ReplicaFolder::sequences(1, 5));
  ASSERT_FALSE(replica->sync().has_error());
  EXPECT_EQ(replica->durable(), at(5));
  replica.reset();
  EXPECT_EQ(open()->applied(), at(5));
}

TEST_F(ReplicaTest, BlocksThatWereWrittenButNotAppliedAreReplayedByARestart) {
  {
    auto replica = open_adopted();
    ASSERT_FALSE(replica->apply(test_blocks(1, 2)).has_error());
    fail_to_apply(*replica, test_blocks(3, 4));
  }
  EXPECT_EQ(open()->applied(), at(4));
  EXPECT_EQ(folder_.rows(), ReplicaFolder::ids(2, 4));
}

TEST_F(ReplicaTest, Hazard07BlocksOfALostHistoryThatWereNeverAppliedAreThrownAway) {
  std::function<void()> restore;
  {
    auto replica = open_adopted();
    ASSERT_FALSE(replica->apply(test_blocks(1, 2)).has_error());
    restore = keep_database();
    fail_to_apply(*replica, test_blocks(3, 4));
    ASSERT_FALSE(replica->apply(test_block(at(3, 2)).bytes()).has_error());
  }
  EXPECT_EQ(open()->applied(), at(3, 2));
  EXPECT_EQ(folder_.rows(), ReplicaFolder::ids(2, 3));
}

TEST_F(ReplicaTest, GoesOnAfterAFailedWriteOrSyncOfItsSegments) {
  auto replica = open_adopted();
  std::uint64_t applied = 1;
  ASSERT_FALSE(replica->apply(test_blocks(1, 1)).has_error());
  for (const bool write : {true, false, true, false}) {
    if (write) {
      folder_.files.fail_writes(0, 2, 100);
      EXPECT_TRUE(replica->apply(test_blocks(applied + 1, applied + 2)).has_error());
    } else {
      ASSERT_FALSE(replica->apply(test_blocks(applied + 1, applied + 2)).has_error());
      folder_.files.fail_syncs(0, 1);
      EXPECT_TRUE(replica->sync().has_error());
    }
    folder_.files.fail_writes(0, 0);
    folder_.files.fail_syncs(0, 0);
    ASSERT_FALSE(replica->apply(test_blocks(applied + 1, applied + 3)).has_error());
    applied += 3;
    const auto synced = replica->sync();
    ASSERT_FALSE(synced.has_error()) << synced.error().message;
    EXPECT_EQ(replica->durable(), at(applied));
  }
  replica.reset();
  std::mt19937_64 random(1);
  folder_.files.power_cut(random, 0);
  EXPECT_EQ(open()->durable(), at(applied));
  EXPECT_EQ(folder_.rows(), ReplicaFolder::ids(2, static_cast<std::int64_t>(applied)));
}

TEST_F(ReplicaTest, ReopensAfterAPowerCutAtAnyMoment) {
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    ReplicaFolder folder;
    std::mt19937_64 random(seed);
    std::uint64_t next = 1;
    for (int life = 0; life < 4; ++life) {
      auto replica = folder.open().value();
      ASSERT_FALSE(replica->adopt(database_).has_error());
      ASSERT_GE(replica->applied().sequence() + 1, next) << "the database was not cut: seed " << seed;
      for (int i = 0; i < 20; ++i) {
        const std::uint64_t blocks = 1 + random() % 5;
        ASSERT_FALSE(replica->apply(test_blocks(next, next + blocks - 1)).has_error());
        next += blocks;
        if (random() % 4 == 0) {
          EXPECT_FALSE(replica->sync().has_error());
        }
      }
      folder.files.fail_syncs(0, 1'000);  // what the end of the process syncs is lost as well
      replica.reset();
      folder.files.fail_syncs(0, 0);
      folder.files.power_cut(random, static_cast<int>(random() % 101));
    }
    EXPECT_EQ(folder.rows(), ReplicaFolder::ids(2, static_cast<std::int64_t>(next) - 1)) << "seed " << seed;
    EXPECT_EQ(folder.fed, ReplicaFolder::sequences(1, next - 1)) << "seed " << seed;
  }
}

TEST_F(ReplicaTest, ASchemaChangeArrivesWhileReadsRun) {
  auto replica = open_adopted();
  ASSERT_FALSE(replica->apply(test_blocks(1, 3)).has_error());
  auto reader = sqlite::Connection::open(folder_.database(), sqlite::OpenMode::kReadOnly).value();
  auto statement = reader->prepare("select id from t order by id", sqlite::Access::kInternal).value();
  ASSERT_TRUE(statement->step().value());
  changelog::Transaction transaction;
  transaction.cursor = at(4);
  transaction.records = {changelog::SchemaChange{"alter table t add column w text default 'd'"}};
  ASSERT_FALSE(replica->apply(changelog::encode_block({transaction}, UnixMs{1}).value().bytes()).has_error());
  EXPECT_TRUE(statement->step().value());
  EXPECT_EQ(statement->column_int64(0), 3);
  statement.reset();
  auto again = reader->prepare("select w from t", sqlite::Access::kInternal).value();
  ASSERT_TRUE(again->step().value());
  EXPECT_EQ(again->column_bytes(0), "d");
}

}  // namespace
}  // namespace leat::follower
