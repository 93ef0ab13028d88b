// Builds a log by hand from ops/docs/changelog-format.md, sharing no code with the writer, and reads it.
#include <gtest/gtest.h>

#include <string>

#include "changelog/log.h"
#include "core/crc32c.h"
#include "core/testing/faulty_files.h"

namespace leat::changelog {
namespace {

std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (; bytes > 0; --bytes, value >>= 8) text += static_cast<char>(value & 0xff);
  return text;
}

std::string checksum(const std::string& bytes) { return number(crc32c(std::as_bytes(std::span(bytes))), 4); }

std::string block_by_hand(std::uint64_t cursor, const std::string& payload) {
  const std::string rest = number(1, 2) + number(0, 1) + number(0, 1) + number(payload.size(), 4) + number(cursor, 8) +
                           number(cursor, 8) + number(1700000000123, 8) + number(payload.size(), 4) +
                           number(cursor >> 48, 2) + number(0, 2) + payload;
  return "LBLK" + checksum(rest) + rest;
}

// Payload { tables: "t", transactions: { origin: 1, records: { row: { table: 0, operation: 1, new_rowid: 3,
// new_values: { integer: 3 }, new_values: { text: "\xff" }, new_values: {} } } } }
std::string payload_by_hand() {
  const std::string values = std::string("\x32\x02\x08\x06", 4) + "\x32\x03\x1a\x01\xff" + std::string("\x32\x00", 2);
  const std::string row = std::string("\x10\x01\x20\x06", 4) + values;
  const std::string record = "\x0a" + number(row.size(), 1) + row;
  const std::string transaction = std::string("\x08\x01", 2) + "\x1a" + number(record.size(), 1) + record;
  return std::string("\x0a\x01t", 3) + "\x12" + number(transaction.size(), 1) + transaction;
}

TEST(FormatPage, ALogWrittenByHandFromThePageIsRead) {
  constexpr std::uint64_t kCursor = (std::uint64_t{1} << 48) | 1;
  const std::string block = block_by_hand(kCursor, payload_by_hand());
  const std::string header_rest = number(1, 2) + number(1, 2) + number(0, 4) + std::string(16, 'd') + number(5, 8) +
                                  number(0x1122334455667788, 8) + number(0, 8) + number(0, 8) + number(0, 4) +
                                  number(0, 4);
  std::string file = "LSEG" + checksum(header_rest) + header_rest;
  file.resize(4096);
  const std::string chain = checksum(number(5, 8) + number(0x1122334455667788, 8) + number(4096, 8) + number(4096, 8) +
                                     number(block.size(), 4) + number(0, 4) + block.substr(4, 4));
  file += number(block.size(), 4) + number(0, 4) + number(4096, 8) + chain + number(0, 4) + block;
  file.resize(16384);

  FaultyFiles files;
  files.set_contents("/log/segment-0000000000000005.log", file);
  DatabaseId::Bytes id{};
  id.fill('d');
  SeededRandom random(1);
  auto opened = open_segment_log({"/log", DatabaseId(id), 16384}, files, random);
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  auto log = std::move(opened).value();
  EXPECT_EQ(log->durable_cursor(), Cursor(kCursor));
  EXPECT_EQ(log->last_commit_time(), UnixMs{1700000000123});
  auto reader = log->read_after(Cursor()).value();
  const auto read = reader->next().value();
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->bytes(), block);

  RowChange change;
  change.table = "t";
  change.new_rowid = 3;
  change.new_row = {std::int64_t{3}, Text{"\xff"}, Null{}};
  const Transaction expected{Cursor(kCursor), Origin::kMutation, "", {change}};
  EXPECT_EQ(decode_block(*read).value(), std::vector<Transaction>{expected});
}

}  // namespace
}  // namespace leat::changelog
