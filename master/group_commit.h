// One group of writes, from savepoints to replies: the log first, then COMMIT (DESIGN section 1).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "changelog/capture.h"
#include "changelog/record.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "master/store.h"
#include "master/write.h"
#include "master/write_executor.h"

namespace leat::master {

// The writer's thread.
class GroupCommit {
 public:
  struct Options {
    std::vector<std::string> excluded_tables;
    std::size_t transaction_bytes_max = 64u << 20;
    std::uint64_t disk_reserve_bytes = 0;
  };
  // `sink` gets each block after its COMMIT and before its replies are sent.
  GroupCommit(Store& store, Options options, FileSystem& files, Clock& clock, BlockSink sink);

  // Answers every write of the group. False when the log and the database may now disagree: nothing more may be
  // committed before recover() has succeeded.
  bool commit(std::span<Write> writes);
  // Resolves what is unknown: recovers the log and replays it.
  Result<void> recover();

 private:
  struct Pending;
  // Commits a run of writes, as far as it gets, and says how many it has answered; at least one.
  std::size_t commit_run(std::span<Write> writes);
  std::size_t commit_exclusive(Write& write);
  Result<void> execute_one(Pending& pending, Write& write);
  void finish(std::span<Write> writes, Pending& pending);
  Result<void> log_and_commit(Pending& pending);
  Result<void> check_recovered() const;
  Result<void> check_disk_reserve();
  Result<void> run_cached(std::string_view sql);
  void rollback();
  void make_executor();

  Store& store_;
  Options options_;
  FileSystem& files_;
  Clock& clock_;
  BlockSink sink_;
  std::optional<changelog::Capture> capture_;
  std::optional<WriteExecutor> executor_;
  bool must_recover_ = false;
  std::optional<Error> commit_failure_;  // of the last commit_run
  std::int64_t reserve_checked_us_ = 0;
};

}  // namespace leat::master
