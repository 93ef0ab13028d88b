#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "changelog/block_layout.h"
#include "changelog/log.h"
#include "changelog/segment_layout.h"
#include "core/testing/faulty_files.h"

namespace leat::changelog {
namespace {

constexpr std::uint64_t kSegmentBytes = 24 << 10;
const std::string kDirectory = "/log";

DatabaseId a_database_id(std::uint8_t byte) {
  DatabaseId::Bytes bytes{};
  bytes.fill(byte);
  return DatabaseId(bytes);
}

EncodedBlock a_block(Cursor first, std::uint64_t count, const std::string& body) {
  std::vector<Transaction> group;
  for (std::uint64_t i = 0; i < count; ++i) {
    RowChange change;
    change.table = "t";
    change.new_row = {Blob{body}};
    group.push_back({Cursor(first.value() + i), Origin::kSystem, "", {change}});
  }
  return encode_block(group, UnixMs{static_cast<std::int64_t>(first.sequence())}).value();
}

EncodedBlock a_block(std::uint64_t sequence, const std::string& body = "body") {
  return a_block(Cursor(Epoch{1}, sequence), 1, body);
}

std::string noise(std::mt19937_64& random, std::size_t bytes) {
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

class SegmentLogTest : public ::testing::Test {
 protected:
  SegmentLogTest() { files_.only_paths_with("/segment-"); }

  Result<std::unique_ptr<ChangeLog>> try_open() {
    return open_segment_log({kDirectory, a_database_id(7), kSegmentBytes}, files_, random_);
  }
  std::unique_ptr<ChangeLog> open() {
    auto log = try_open();
    if (!log) ADD_FAILURE() << log.error().message;
    return std::move(log).value();
  }
  static std::vector<EncodedBlock> read_all(ChangeLog& log, Cursor after) {
    auto reader = log.read_after(after);
    if (!reader) {
      ADD_FAILURE() << reader.error().message;
      return {};
    }
    std::vector<EncodedBlock> blocks;
    for (;;) {
      auto block = (*reader)->next();
      if (!block) {
        ADD_FAILURE() << block.error().message;
        return blocks;
      }
      if (!*block) return blocks;
      blocks.push_back(std::move(**block));
    }
  }
  static void expect_durable(const AppendOutcome& outcome) {
    EXPECT_EQ(outcome.durability, Durability::kDurable) << outcome.error.message;
  }
  std::string last_segment() {
    std::string last;
    for (const std::string& name : files_.list(kDirectory).value()) {
      if (name.starts_with("segment-")) last = name;
    }
    return kDirectory + "/" + last;
  }

  FaultyFiles files_;
  SeededRandom random_{42};
};
constexpr Cursor at(std::uint64_t sequence) { return Cursor(Epoch{1}, sequence); }

TEST_F(SegmentLogTest, BlocksComeBackByteForByteAcrossSegmentsAndRestarts) {
  std::mt19937_64 random(1);
  std::vector<EncodedBlock> blocks;
  {
    auto log = open();
    EXPECT_EQ(log->durable_cursor(), Cursor());
    EXPECT_EQ(log->first_cursor(), Cursor());
    for (std::uint64_t i = 1; i <= 60; ++i) {
      blocks.push_back(a_block(i, noise(random, random() % 4000)));
      expect_durable(log->append(blocks.back()));
      EXPECT_EQ(log->durable_cursor(), at(i));
    }
    EXPECT_EQ(read_all(*log, Cursor()).size(), 60u);
  }
  auto log = open();
  EXPECT_EQ(log->durable_cursor(), at(60));
  EXPECT_EQ(log->first_cursor(), at(1));
  EXPECT_EQ(log->last_commit_time(), UnixMs{60});
  EXPECT_GT(log->retained_bytes(), 3 * kSegmentBytes);
  for (std::uint64_t after = 0; after <= 60; ++after) {
    const auto read = read_all(*log, after == 0 ? Cursor() : at(after));
    ASSERT_EQ(read.size(), 60 - after);
    for (std::size_t i = 0; i < read.size(); ++i) EXPECT_EQ(read[i].bytes(), blocks[after + i].bytes());
  }
}

TEST_F(SegmentLogTest, AppendSyncsOnce) {
  auto log = open();
  expect_durable(log->append(a_block(1)));
  const int before = files_.data_syncs();
  expect_durable(log->append(a_block(2)));
  EXPECT_EQ(files_.data_syncs(), before + 1);
}

TEST_F(SegmentLogTest, AReaderBeginsAtTheBlockThatHoldsTheNextCursor) {
  auto log = open();
  expect_durable(log->append(a_block(at(1), 10, "a")));
  expect_durable(log->append(a_block(at(11), 10, "b")));
  EXPECT_EQ(read_all(*log, at(9)).front().header().first, at(1));
  EXPECT_EQ(read_all(*log, at(10)).front().header().first, at(11));
  EXPECT_TRUE(read_all(*log, at(20)).empty());
  EXPECT_EQ(log->read_after(at(21)).error().code, ErrorCode::kNotFound);
}

TEST_F(SegmentLogTest, ABlockLargerThanASegmentGetsOneOfItsOwn) {
  std::mt19937_64 random(3);
  const EncodedBlock large = a_block(2, noise(random, 5 * kSegmentBytes));
  {
    auto log = open();
    expect_durable(log->append(a_block(1)));
    expect_durable(log->append(large));
    expect_durable(log->append(a_block(3)));
  }
  auto log = open();
  const auto blocks = read_all(*log, Cursor());
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[1].bytes(), large.bytes());
}

TEST_F(SegmentLogTest, ABlockThatDoesNotFollowIsRefusedAndNothingIsWritten) {
  auto log = open();
  expect_durable(log->append(a_block(1)));
  for (const std::uint64_t wrong : {1u, 3u}) {
    EXPECT_EQ(log->append(a_block(wrong)).durability, Durability::kAbsent);
  }
  expect_durable(log->append(a_block(2)));
}

TEST_F(SegmentLogTest, ALogOfAnotherDatabaseIsRefused) {
  open();
  const auto log = open_segment_log({kDirectory, a_database_id(8), kSegmentBytes}, files_, random_);
  ASSERT_TRUE(log.has_error());
  EXPECT_EQ(log.error().code, ErrorCode::kDatabaseMismatch);
  EXPECT_EQ(segment_log_database_id(kDirectory, files_).value(), a_database_id(7));
  EXPECT_EQ(segment_log_database_id("/other", files_).value(), std::nullopt);
}

TEST_F(SegmentLogTest, RetentionRecyclesSegmentsButNotUnderAReader) {
  std::mt19937_64 random(4);
  auto log = open();
  std::uint64_t sequence = 0;
  const auto append_some = [&] {
    for (int i = 0; i < 40; ++i) expect_durable(log->append(a_block(++sequence, noise(random, 1500))));
  };
  append_some();
  auto reader = log->read_after(Cursor()).value();
  ASSERT_EQ(reader->next().value()->header().first, at(1));
  ASSERT_TRUE(log->retain(at(20), 0).has_value());
  EXPECT_GT(log->first_cursor(), at(1));
  EXPECT_LE(log->first_cursor(), at(21));
  append_some();
  ASSERT_TRUE(log->retain(at(sequence), 0).has_value());
  append_some();
  // What the reader stands in is still there for it; then it is told.
  std::uint64_t read = 1;
  auto block = reader->next();
  for (; block && *block; block = reader->next()) EXPECT_EQ((*block)->header().first, at(++read));
  ASSERT_TRUE(block.has_error());
  EXPECT_EQ(block.error().code, ErrorCode::kNotFound);
  EXPECT_GT(read, 5u);
  EXPECT_EQ(log->read_after(at(1)).error().code, ErrorCode::kNotFound);
  const Cursor first = log->first_cursor();
  log.reset();
  log = open();
  EXPECT_EQ(log->durable_cursor(), at(sequence));
  EXPECT_EQ(log->first_cursor(), first);
}

TEST_F(SegmentLogTest, RestartAtBeginsANewHistoryThatSurvivesAPowerCut) {
  std::mt19937_64 random(5);
  auto log = open();
  for (std::uint64_t i = 1; i <= 40; ++i) expect_durable(log->append(a_block(i, noise(random, 1000))));
  auto reader = log->read_after(at(3)).value();
  ASSERT_TRUE(log->restart_at(at(1000)).has_value());
  EXPECT_EQ(log->durable_cursor(), at(1000));
  EXPECT_EQ(log->first_cursor(), Cursor());
  EXPECT_EQ(log->append(a_block(41)).durability, Durability::kAbsent);
  expect_durable(log->append(a_block(1001)));
  auto block = reader->next();
  while (block && *block) block = reader->next();
  EXPECT_EQ(block.error().code, ErrorCode::kNotFound);
  reader.reset();
  log.reset();
  files_.power_cut(random, 0);
  log = open();
  EXPECT_EQ(log->first_cursor(), at(1001));
  EXPECT_EQ(log->durable_cursor(), at(1001));
}

TEST_F(SegmentLogTest, AFullDiskRefusesTheNextSegmentAndTheLogGoesOnWhenThereIsSpace) {
  std::mt19937_64 random(6);
  auto log = open();
  std::uint64_t sequence = 0;
  for (; sequence < 20; ++sequence) expect_durable(log->append(a_block(sequence + 1, noise(random, 1000))));
  files_.set_free_bytes(1000);
  AppendOutcome outcome;
  while (outcome.durability == Durability::kDurable) outcome = log->append(a_block(++sequence, noise(random, 1000)));
  EXPECT_EQ(outcome.durability, Durability::kAbsent);
  EXPECT_NE(outcome.error.message.find("No space left"), std::string::npos);
  EXPECT_EQ(log->durable_cursor(), at(sequence - 1));
  files_.set_free_bytes(100 * kSegmentBytes);
  expect_durable(log->append(a_block(sequence)));
  EXPECT_EQ(read_all(*log, Cursor()).size(), sequence);
}

using Hazard01 = SegmentLogTest;

TEST_F(Hazard01, AFailedWriteIsCutAndAbsent) {
  auto log = open();
  expect_durable(log->append(a_block(1)));
  for (const std::size_t written : {0u, 10u, 60u, 100u}) {
    files_.fail_writes(0, 1, written);
    EXPECT_EQ(log->append(a_block(2, "refused")).durability, Durability::kAbsent);
    EXPECT_EQ(log->durable_cursor(), at(1));
  }
  expect_durable(log->append(a_block(2, "kept")));
  log.reset();
  log = open();
  EXPECT_EQ(read_all(*log, at(1)).at(0).bytes(), a_block(2, "kept").bytes());
}

TEST_F(Hazard01, AFailedSyncIsCutAndAbsentAlsoAfterAPowerCut) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random(seed);
    files_.seed(seed);
    auto log = open();
    const std::uint64_t next = log->durable_cursor() == Cursor() ? 1 : log->durable_cursor().sequence() + 1;
    expect_durable(log->append(a_block(next, noise(random, 100))));
    files_.fail_syncs(0);
    EXPECT_EQ(log->append(a_block(next + 1, noise(random, random() % 3000))).durability, Durability::kAbsent);
    EXPECT_EQ(log->durable_cursor(), at(next));
    log.reset();
    files_.power_cut(random, static_cast<int>(random() % 101));
    EXPECT_EQ(open()->durable_cursor(), at(next));
  }
}

TEST_F(Hazard01, ACutThatCannotBeSyncedIsUnknownUntilRecovery) {
  auto log = open();
  expect_durable(log->append(a_block(1)));
  files_.fail_syncs(0, 2);
  EXPECT_EQ(log->append(a_block(2)).durability, Durability::kUnknown);
  EXPECT_EQ(log->append(a_block(2)).durability, Durability::kAbsent);
  EXPECT_TRUE(log->append_unsynced(a_block(2)).has_error());
  EXPECT_TRUE(read_all(*log, at(1)).empty());
  files_.fail_syncs(0);
  EXPECT_TRUE(log->recover().has_error());
  EXPECT_EQ(log->append(a_block(2)).durability, Durability::kAbsent);
  ASSERT_TRUE(log->recover().has_value());
  expect_durable(log->append(a_block(log->durable_cursor().sequence() + 1)));
}

TEST_F(Hazard01, AnUnknownBlockThatRecoveryFindsIsKept) {
  auto log = open();
  expect_durable(log->append(a_block(1)));
  files_.fail_syncs(0, 1);
  files_.fail_writes(1, 1);  // the block is written, the cut is not
  EXPECT_EQ(log->append(a_block(2)).durability, Durability::kUnknown);
  EXPECT_EQ(log->durable_cursor(), at(1));
  ASSERT_TRUE(log->recover().has_value());
  EXPECT_EQ(log->durable_cursor(), at(2));
  std::mt19937_64 random(1);
  log.reset();
  files_.power_cut(random, 0);
  EXPECT_EQ(open()->durable_cursor(), at(2));
}

TEST_F(Hazard01, ARollOverWhoseDirectorySyncFailsIsAbsentAndHealsItself) {
  std::mt19937_64 random(9);
  files_.only_paths_with("");
  auto log = open();
  std::uint64_t sequence = 0;
  for (int round = 0; round < 5; ++round) {
    // The spare for this roll-over is made by now or by the retry; either way the outcome is the same.
    files_.fail_directory_syncs(0, 1);
    AppendOutcome outcome;
    for (int i = 0; i < 60 && outcome.durability == Durability::kDurable; ++i) {
      outcome = log->append(a_block(++sequence, noise(random, 2000)));
    }
    if (outcome.durability != Durability::kDurable) {
      EXPECT_EQ(outcome.durability, Durability::kAbsent);
      expect_durable(log->append(a_block(sequence)));
    }
  }
  log.reset();
  files_.power_cut(random, 0);
  EXPECT_EQ(read_all(*open(), Cursor()).size(), sequence);
}

using Hazard02 = SegmentLogTest;

TEST_F(Hazard02, RecoveryMakesDurableWhatANewProcessOnlyFoundInThePageCache) {
  std::mt19937_64 random(2);
  {
    auto log = open();
    expect_durable(log->append(a_block(1)));
    files_.fail_syncs(0, 1);
    files_.fail_writes(1, 1);
    files_.seed(3);
    EXPECT_EQ(log->append(a_block(2, noise(random, 8000))).durability, Durability::kUnknown);
  }
  EXPECT_EQ(open()->durable_cursor(), at(2));  // the process was replaced, the page cache is the same
  files_.power_cut(random, 0);
  EXPECT_EQ(open()->durable_cursor(), at(2));
}

TEST_F(Hazard02, AlsoSeveralBlocksThatAFollowerHadNotSynced) {
  std::mt19937_64 random(2);
  {
    auto log = open();
    expect_durable(log->append(a_block(1)));
    for (std::uint64_t i = 2; i <= 6; ++i)
      ASSERT_TRUE(log->append_unsynced(a_block(i, noise(random, 1000))).has_value());
    files_.fail_syncs(0);
    EXPECT_TRUE(log->sync().has_error());
    EXPECT_EQ(log->durable_cursor(), at(1));
  }
  EXPECT_EQ(open()->durable_cursor(), at(6));
  files_.power_cut(random, 0);
  EXPECT_EQ(open()->durable_cursor(), at(6));
}

TEST_F(Hazard02, NobodyReadsPastTheDurableCursor) {
  auto log = open();
  expect_durable(log->append(a_block(1)));
  auto reader = log->read_after(at(1)).value();
  ASSERT_TRUE(log->append_unsynced(a_block(2)).has_value());
  EXPECT_EQ(log->written_cursor(), at(2));
  EXPECT_EQ(log->durable_cursor(), at(1));
  EXPECT_EQ(reader->next().value(), std::nullopt);
  EXPECT_EQ(log->read_after(at(2)).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(log->sync().has_value());
  EXPECT_EQ(reader->next().value()->header().first, at(2));
}

TEST_F(SegmentLogTest, AfterAPowerCutEveryDurableBlockIsThereAndAtMostTheUnsyncedOnesBesides) {
  const std::uint64_t seed_base = std::random_device{}() % 1000000;
  for (std::uint64_t seed = seed_base; seed < seed_base + 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FaultyFiles files;
    std::mt19937_64 random(seed);
    std::vector<std::string> written;  // by sequence - 1
    std::uint64_t durable = 0;
    for (int life = 0; life < 6; ++life) {
      auto opened = open_segment_log({kDirectory, a_database_id(7), kSegmentBytes}, files, random_);
      ASSERT_TRUE(opened.has_value()) << opened.error().message;
      auto log = std::move(opened).value();
      const std::uint64_t found = log->durable_cursor().sequence();
      ASSERT_GE(found, durable);
      ASSERT_LE(found, written.size());
      written.resize(found);
      durable = found;
      const Cursor first = log->first_cursor();
      if (found > 0 && first != Cursor()) {
        std::uint64_t sequence = first.sequence();
        for (const EncodedBlock& block : read_all(*log, first.sequence() == 1 ? Cursor() : at(first.sequence() - 1))) {
          ASSERT_EQ(block.bytes(), written.at(sequence - 1));
          ++sequence;
        }
        ASSERT_EQ(sequence, found + 1);
      }
      const auto appends = random() % 25;
      for (std::uint64_t i = 0; i < appends; ++i) {
        const EncodedBlock block = a_block(written.size() + 1, noise(random, random() % 3000));
        if (random() % 2 == 0) {
          expect_durable(log->append(block));
          written.push_back(block.bytes());
          durable = written.size();
        } else {
          ASSERT_TRUE(log->append_unsynced(block).has_value());
          written.push_back(block.bytes());
        }
        if (random() % 16 == 0) {
          ASSERT_TRUE(log->retain(log->durable_cursor(), 2 * kSegmentBytes).has_value());
        }
      }
      durable = log->durable_cursor().sequence();
      log.reset();
      if (random() % 4 != 0) files.power_cut(random, static_cast<int>(random() % 101));
    }
  }
}

TEST_F(SegmentLogTest, DamageBeforeTheTailIsReportedWithFileAndOffsetAndNothingChanges) {
  std::mt19937_64 random(11);
  std::uint64_t third_offset = segment_frames_offset;
  {
    auto log = open();
    for (std::uint64_t i = 1; i <= 5; ++i) {
      const EncodedBlock block = a_block(i, noise(random, 300));
      if (i < 3) third_offset += frame_header_bytes + block.bytes().size();
      expect_durable(log->append(block));
    }
  }
  const std::string path = last_segment();
  const std::string good = files_.contents(path);
  const std::string names = "frame length, chain, synced-to, checksum, block header, payload";
  for (std::size_t byte = 0; byte < frame_prefix_bytes + 200; ++byte) {
    std::string bad = good;
    bad[third_offset + byte] = static_cast<char>(bad[third_offset + byte] ^ 0x41);
    files_.set_contents(path, bad);
    const auto log = try_open();
    ASSERT_TRUE(log.has_error()) << "byte " << byte << " of " << names;
    EXPECT_EQ(log.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(log.error().message.find(path), std::string::npos) << log.error().message;
    EXPECT_NE(log.error().message.find("byte " + std::to_string(third_offset) + ":"), std::string::npos)
        << log.error().message;
    EXPECT_EQ(files_.contents(path), bad);
  }
  files_.set_contents(path, good);
  EXPECT_EQ(open()->durable_cursor(), at(5));
}

TEST_F(SegmentLogTest, DamageInAnEarlierSegmentIsReportedWhenItIsReadAndHeadersWhenOpened) {
  std::mt19937_64 random(12);
  {
    auto log = open();
    for (std::uint64_t i = 1; i <= 40; ++i) expect_durable(log->append(a_block(i, noise(random, 1500))));
  }
  const std::string path = kDirectory + "/" + segment_name(1);
  const std::string good = files_.contents(path);
  std::string bad = good;
  bad[segment_frames_offset + 2000] ^= 1;
  files_.set_contents(path, bad);
  {
    auto log = open();
    auto reader = log->read_after(Cursor()).value();
    ASSERT_TRUE(reader->next().has_value());
    const auto block = reader->next();
    ASSERT_TRUE(block.has_error());
    EXPECT_EQ(block.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(block.error().message.find(path + " at byte "), std::string::npos) << block.error().message;
  }
  bad = good;
  bad[33] ^= 1;
  files_.set_contents(path, bad);
  EXPECT_EQ(try_open().error().code, ErrorCode::kCorrupt);
  files_.set_contents(path, good);
  ASSERT_TRUE(files_.remove(kDirectory + "/" + segment_name(2)).has_value());
  const auto log = try_open();
  ASSERT_TRUE(log.has_error());
  EXPECT_EQ(log.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(log.error().message.find("hole"), std::string::npos);
}

using Hazard04 = SegmentLogTest;

TEST_F(Hazard04, OldBlocksOfARecycledSegmentAreNeitherTailNorCorruption) {
  std::mt19937_64 random(13);
  auto log = open();
  std::uint64_t sequence = 0;
  int rounds_beside_old_blocks = 0;
  // All blocks are of one size, so that old frames stand exactly where new ones end.
  for (int round = 0; round < 60; ++round) {
    for (int i = 0; i < 5; ++i) expect_durable(log->append(a_block(++sequence, noise(random, 900))));
    ASSERT_TRUE(log->retain(log->durable_cursor(), 0).has_value());
    log.reset();
    if (round % 2 == 0) files_.power_cut(random, 0);
    log = open();
    ASSERT_EQ(log->durable_cursor(), at(sequence));
    const std::string bytes = files_.contents(last_segment());
    std::size_t blocks = 0;
    for (std::size_t found = bytes.find("LBLK"); found != std::string::npos; found = bytes.find("LBLK", found + 1)) {
      ++blocks;
    }
    if (blocks > sequence - log->first_cursor().sequence() + 1) ++rounds_beside_old_blocks;
  }
  EXPECT_GT(rounds_beside_old_blocks, 10) << "too little that is old was left to test with";
}

TEST_F(Hazard04, ATornTailIsCutAndStaysCut) {
  std::mt19937_64 random(14);
  std::uint64_t tail_offset = segment_frames_offset;
  {
    auto log = open();
    for (std::uint64_t i = 1; i <= 3; ++i) {
      const EncodedBlock block = a_block(i, noise(random, 2000));
      if (i < 3) tail_offset += frame_header_bytes + block.bytes().size();
      expect_durable(log->append(block));
    }
  }
  const std::string path = last_segment();
  std::string torn = files_.contents(path);
  for (std::size_t i = 1000; i < 1512; ++i) torn[tail_offset + i] = 0;
  files_.set_contents(path, torn);
  EXPECT_EQ(open()->durable_cursor(), at(2));
  const std::string cut = files_.contents(path);
  EXPECT_EQ(cut.substr(tail_offset, frame_prefix_bytes), std::string(frame_prefix_bytes, '\0'));
  files_.power_cut(random, 0);
  EXPECT_EQ(files_.contents(path), cut);
}

using Hazard07Log = SegmentLogTest;

TEST_F(Hazard07Log, ACursorOfALostTailIsNotFoundInTheNewEpochsHistory) {
  auto log = open();
  for (std::uint64_t i = 1; i <= 5; ++i) expect_durable(log->append(a_block(i)));
  expect_durable(log->append(a_block(Cursor(Epoch{2}, 6), 1, "promoted")));
  EXPECT_EQ(read_all(*log, at(5)).at(0).header().first, Cursor(Epoch{2}, 6));
  EXPECT_EQ(log->read_after(at(6)).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(log->append(a_block(6)).durability, Durability::kAbsent);
  EXPECT_EQ(log->append(a_block(Cursor(Epoch{2}, 8), 1, "a hole")).durability, Durability::kAbsent);
  log.reset();
  EXPECT_EQ(open()->durable_cursor(), Cursor(Epoch{2}, 6));
}

using Hazard03 = SegmentLogTest;

TEST_F(Hazard03, ReadersOfAMovingHeadSeeEveryDurableBlockOnceAndInOrder) {
  auto log = open();
  constexpr std::uint64_t kBlocks = 2000;
  std::atomic<std::uint64_t> slowest{0};
  std::atomic<bool> failed{false};
  const auto follow = [&](bool reports) {
    auto reader = log->read_after(Cursor()).value();
    std::uint64_t expected = 1;
    while (expected <= kBlocks && !failed) {
      auto block = reader->next();
      if (!block) {
        ADD_FAILURE() << block.error().message;
        failed = true;
        return;
      }
      if (!*block) {
        std::this_thread::yield();
        continue;
      }
      if ((*block)->header().first != at(expected) || (*block)->header().first > log->durable_cursor()) failed = true;
      if (reports) slowest = expected;
      ++expected;
    }
  };
  std::thread fast(follow, true);
  std::thread beside([&] {
    while (slowest < kBlocks && !failed) {
      const Cursor durable = log->durable_cursor();
      if (durable == Cursor()) continue;
      auto reader = log->read_after(durable);
      if (!reader) {
        ADD_FAILURE() << reader.error().message;
        failed = true;
        return;
      }
      const auto block = (*reader)->next();
      if (block && *block) {
        EXPECT_EQ((*block)->header().first, durable.next());
      }
    }
  });
  std::mt19937_64 random(15);
  for (std::uint64_t i = 1; i <= kBlocks && !failed; ++i) {
    expect_durable(log->append(a_block(i, noise(random, 400))));
    if (i % 64 == 0 && slowest > 100) {
      EXPECT_TRUE(log->retain(at(slowest - 50), 0).has_value());
    }
  }
  fast.join();
  beside.join();
  EXPECT_FALSE(failed);
}

}  // namespace
}  // namespace leat::changelog
