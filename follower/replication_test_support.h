// A master's log with blocks that tests write by hand, and a folder for a replica of it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "changelog/log.h"
#include "changelog/shipper.h"
#include "core/http_test_support.h"
#include "core/random.h"
#include "core/sqlite.h"
#include "core/testing/faulty_files.h"
#include "follower/replica.h"

namespace leat::follower {

inline bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

inline Cursor at(std::uint64_t sequence, std::uint16_t epoch = 1) { return Cursor(Epoch{epoch}, sequence); }

// The first block makes table t(id, v); each further one inserts the row of its own sequence number.
inline changelog::EncodedBlock test_block(Cursor cursor, UnixMs time = UnixMs{1'000}) {
  changelog::Transaction transaction;
  transaction.cursor = cursor;
  if (cursor.sequence() == 1) {
    transaction.records = {changelog::SchemaChange{"create table t (id integer primary key, v text)"}};
  } else {
    const auto id = static_cast<std::int64_t>(cursor.sequence());
    changelog::RowChange change;
    change.table = "t";
    change.new_rowid = id;
    change.new_row = {id, Text{"v" + std::to_string(id)}};
    transaction.records = {std::move(change)};
  }
  return changelog::encode_block({std::move(transaction)}, time).value();
}

inline std::string test_blocks(std::uint64_t first, std::uint64_t last) {
  std::string bytes;
  for (; first <= last; ++first) bytes += test_block(at(first)).bytes();
  return bytes;
}

// A folder on disk for the database; the segments are in memory, under the same path.
class ReplicaFolder {
 public:
  ReplicaFolder() : path_(std::filesystem::temp_directory_path() / ("leat-replica-" + system_random().hex(8))) {
    std::filesystem::create_directories(path_ / "log");
  }
  ~ReplicaFolder() { std::filesystem::remove_all(path_); }
  ReplicaFolder(const ReplicaFolder&) = delete;
  ReplicaFolder& operator=(const ReplicaFolder&) = delete;

  Result<std::unique_ptr<Replica>> open(Clock& clock = system_clock()) {
    return Replica::open({database(), log(), segment_bytes}, files, clock, system_random(),
                         [this](const changelog::AppliedBlock& block) {
                           for (const auto& each : *block.transactions) fed.push_back(each.cursor.sequence());
                         });
  }
  std::string database() const { return path_ / "f.db"; }
  std::string log() const { return path_ / "log"; }
  const std::filesystem::path& path() const { return path_; }

  // The ids in table t, from a connection of its own.
  std::vector<std::int64_t> rows() const {
    auto connection = sqlite::Connection::open(database(), sqlite::OpenMode::kReadOnly).value();
    auto statement = connection->prepare("select id from t order by id", sqlite::Access::kInternal).value();
    std::vector<std::int64_t> ids;
    while (statement->step().value()) ids.push_back(statement->column_int64(0));
    return ids;
  }
  static std::vector<std::int64_t> ids(std::int64_t first, std::int64_t last) {
    std::vector<std::int64_t> all;
    for (; first <= last; ++first) all.push_back(first);
    return all;
  }
  static std::vector<std::uint64_t> sequences(std::uint64_t first, std::uint64_t last) {
    std::vector<std::uint64_t> all;
    for (; first <= last; ++first) all.push_back(first);
    return all;
  }

  FaultyFiles files;
  std::uint64_t segment_bytes = 64 << 10;
  std::vector<std::uint64_t> fed;  // sequence numbers given to the sink, in order

 private:
  std::filesystem::path path_;
};

}  // namespace leat::follower
