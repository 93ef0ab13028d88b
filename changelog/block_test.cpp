#include "changelog/block.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <random>

#include "changelog/block_layout.h"
#include "changelog/limits.h"
#include "core/crc32c.h"

namespace leat::changelog {
namespace {

RowChange an_insert(std::int64_t id, const std::string& body) {
  RowChange change;
  change.table = "messages";
  change.operation = Operation::kInsert;
  change.new_rowid = id;
  change.new_row = {id, Text{"user"}, Text{body}, Null{}};
  return change;
}

Transaction a_transaction(std::uint64_t sequence) {
  Transaction transaction;
  transaction.cursor = Cursor(Epoch{1}, sequence);
  transaction.request_id = "request-" + std::to_string(sequence);
  transaction.records = {an_insert(static_cast<std::int64_t>(sequence), "hello number " + std::to_string(sequence))};
  return transaction;
}

std::vector<Transaction> a_group(std::uint64_t first, std::uint64_t count) {
  std::vector<Transaction> group;
  for (std::uint64_t i = 0; i < count; ++i) group.push_back(a_transaction(first + i));
  return group;
}

std::vector<Transaction> round_trip(const std::vector<Transaction>& group) {
  const EncodedBlock block = encode_block(group, UnixMs{1234}).value();
  return decode_block(EncodedBlock::parse(block.bytes()).value()).value();
}

// Puts the right checksum on changed bytes, so that what lies behind it is reached.
std::string with_checksum(std::string bytes) {
  store(bytes.data() + block_layout::kChecksumAt, crc32c(as_bytes(bytes).subspan(block_layout::kCheckedFrom)));
  return bytes;
}

TEST(Block, EveryKindOfRecordComesBackAsItWas) {
  RowChange update;
  update.table = "messages";
  update.operation = Operation::kUpdate;
  update.old_rowid = 5;
  update.new_rowid = -6;
  update.old_row = {std::int64_t{5}, Text{"same"}, Null{}, 1.5, Blob{std::string("\0\x01", 2)}, Null{}};
  update.new_row = {std::int64_t{6}, Text{"same"}, Null{}, 1.5, Text{"now text"}, std::int64_t{0}};
  RowChange removal;
  removal.table = "other";
  removal.operation = Operation::kDelete;
  removal.old_row = {Text{"key"}, std::numeric_limits<double>::infinity(), std::numeric_limits<std::int64_t>::min()};
  Transaction transaction;
  transaction.cursor = Cursor(Epoch{3}, 9);
  transaction.origin = Origin::kMigration;
  transaction.records = {update, SchemaChange{"create table other (a text primary key, b, c)"}, removal,
                         SequenceChange{"messages", 77}, an_insert(1, "")};
  Transaction empty;
  empty.cursor = transaction.cursor.next();
  empty.origin = Origin::kLedger;
  const std::vector<Transaction> group{transaction, empty};
  EXPECT_EQ(round_trip(group), group);
}

TEST(Block, RealsComeBackBitForBit) {
  RowChange update;
  update.table = "t";
  update.operation = Operation::kUpdate;
  update.old_row = {0.0, std::int64_t{1}};
  update.new_row = {-0.0, 1.0};
  Transaction transaction;
  transaction.cursor = Cursor(Epoch{1}, 1);
  transaction.records = {update};
  const auto group = round_trip({transaction});
  const auto& back = std::get<RowChange>(group.at(0).records.at(0));
  EXPECT_TRUE(std::signbit(std::get<double>(back.new_row.at(0))));
  EXPECT_FALSE(std::signbit(std::get<double>(back.old_row.at(0))));
  EXPECT_EQ(std::get<double>(back.new_row.at(1)), 1.0);
}

TEST(Block, AnUpdateRepeatsOnlyWhatChanged) {
  RowChange update;
  update.table = "t";
  update.operation = Operation::kUpdate;
  std::mt19937 random(7);
  std::string large(10000, '\0');
  for (char& c : large) c = static_cast<char>(random());
  update.old_row = {std::int64_t{1}, Blob{large}, Text{"a"}};
  update.new_row = {std::int64_t{1}, Blob{large}, Text{"b"}};
  Transaction transaction;
  transaction.cursor = Cursor(Epoch{1}, 1);
  transaction.records = {update};
  EXPECT_LT(encode_block({transaction}, UnixMs{}).value().header().raw_bytes, 10100u);
  EXPECT_EQ(round_trip({transaction}).front(), transaction);
}

TEST(Block, IsCompressedOnlyWhenThatIsSmaller) {
  const auto group = a_group(1, 200);
  const EncodedBlock block = encode_block(group, UnixMs{5}).value();
  EXPECT_LT(block.header().payload_bytes, block.header().raw_bytes / 2);
  EXPECT_EQ(block.header().first, Cursor(Epoch{1}, 1));
  EXPECT_EQ(block.header().last, Cursor(Epoch{1}, 200));
  EXPECT_EQ(block.header().commit_time, UnixMs{5});
  EXPECT_EQ(round_trip(group), group);
  const EncodedBlock small = encode_block(a_group(1, 1), UnixMs{}).value();
  EXPECT_EQ(small.header().payload_bytes, small.header().raw_bytes);
}

TEST(Block, CursorsMustBeConsecutiveAndOfOneEpoch) {
  auto group = a_group(1, 2);
  group[1].cursor = Cursor(Epoch{1}, 3);
  EXPECT_TRUE(encode_block(group, UnixMs{}).has_error());
  EXPECT_TRUE(encode_block({}, UnixMs{}).has_error());
  group.resize(1);
  group[0].cursor = Cursor(Epoch{1}, 0);
  EXPECT_TRUE(encode_block(group, UnixMs{}).has_error());
}

TEST(Block, AStreamIsSplitByTheHeaderAlone) {
  const std::string one = encode_block(a_group(1, 3), UnixMs{}).value().bytes();
  const std::string two = encode_block(a_group(4, 1), UnixMs{}).value().bytes();
  EXPECT_EQ(block_size(one + two).value(), one.size());
  EXPECT_EQ(block_size(one.substr(0, 47)).value(), 0u);
  EXPECT_TRUE(block_size(std::string(48, 'x')).has_error());
}

TEST(Block, EveryChangedByteAndEveryLengthIsNoticed) {
  const std::string good = encode_block(a_group(1, 5), UnixMs{1}).value().bytes();
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    EXPECT_TRUE(EncodedBlock::parse(bad).has_error()) << "byte " << at;
    EXPECT_TRUE(EncodedBlock::parse(good.substr(0, at)).has_error()) << "length " << at;
  }
  EXPECT_TRUE(EncodedBlock::parse(good + "x").has_error());
}

TEST(Block, HostileSizesAreRefusedBeforeMemoryIsTaken) {
  std::string bytes = encode_block(a_group(1, 50), UnixMs{1}).value().bytes();
  store<std::uint32_t>(bytes.data() + block_layout::kRawBytesAt, static_cast<std::uint32_t>(block_bytes_max) + 1);
  EXPECT_EQ(EncodedBlock::parse(with_checksum(bytes)).error().code, ErrorCode::kCorrupt);
  store<std::uint32_t>(bytes.data() + block_layout::kRawBytesAt, static_cast<std::uint32_t>(block_bytes_max));
  EXPECT_EQ(EncodedBlock::parse(with_checksum(bytes)).error().code, ErrorCode::kCorrupt);
}

TEST(Block, RandomDamageBehindARightChecksumIsAnErrorOrAValue) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (const std::uint64_t count : {1u, 2u, 40u}) {
    const std::string good = encode_block(a_group(1, count), UnixMs{1}).value().bytes();
    for (int round = 0; round < 3000; ++round) {
      std::string bad = good;
      const auto changes = random() % 4 + 1;
      for (std::uint32_t i = 0; i < changes; ++i) bad[random() % bad.size()] = static_cast<char>(random());
      if (random() % 4 == 0) bad.resize(random() % bad.size());
      if (bad.size() >= block_layout::kHeaderBytes) bad = with_checksum(bad);
      const auto block = EncodedBlock::parse(bad);
      if (!block) continue;
      const auto group = decode_block(*block);
      if (group) {
        EXPECT_EQ(group->size(), block->header().last.value() - block->header().first.value() + 1);
      } else {
        EXPECT_EQ(group.error().code, ErrorCode::kCorrupt);
      }
    }
  }
}

TEST(Hazard05, ABlockBeyondItsLimitIsRefused) {
  Transaction transaction = a_transaction(1);
  const std::string part(block_bytes_max / 4, 'x');
  for (int i = 0; i < 4; ++i) transaction.records.push_back(an_insert(i, part));
  const auto block = encode_block({transaction}, UnixMs{});
  ASSERT_TRUE(block.has_error());
  EXPECT_EQ(block.error().code, ErrorCode::kLimit);
  EXPECT_NE(block.error().message.find("block_bytes_max"), std::string::npos);
}

TEST(Hazard07, TheEpochIsInTheCursorAndInTheHeader) {
  Transaction old = a_transaction(500);
  Transaction promoted = a_transaction(500);
  promoted.cursor = Cursor(Epoch{2}, 500);
  const EncodedBlock first = encode_block({old}, UnixMs{}).value();
  const EncodedBlock second = encode_block({promoted}, UnixMs{}).value();
  EXPECT_LT(first.header().last, second.header().first);
  std::string forged = second.bytes();
  store<std::uint16_t>(forged.data() + block_layout::kEpochAt, 1);
  EXPECT_TRUE(EncodedBlock::parse(with_checksum(forged)).has_error());
}

TEST(Hazard08, TextThatIsNotUtf8IsReadableEverywhereInABlock) {
  const std::string bytes = std::string("\xff\xfe\0", 3);
  Transaction transaction = a_transaction(1);
  RowChange change = an_insert(1, bytes);
  change.table = "t\xff";
  transaction.request_id = bytes;
  transaction.records = {change, SchemaChange{bytes}, SequenceChange{bytes, 1}};
  EXPECT_EQ(round_trip({transaction}).front(), transaction);
}

}  // namespace
}  // namespace leat::changelog
