// Where the change log is durable, as one interface; nothing above it knows which implementation runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "changelog/block.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "core/ids.h"
#include "core/random.h"

namespace leat::changelog {

// HAZARDS 1. Absent means proven: never written, or cut off and the cut made durable.
enum class Durability : std::uint8_t { kDurable, kAbsent, kUnknown };

struct AppendOutcome {
  Durability durability = Durability::kDurable;
  Error error;  // when not durable
};

// Reads blocks from a cursor while the head moves; never past the durable cursor. One thread.
class LogReader {
 public:
  virtual ~LogReader() = default;
  // The next block, or nullopt when the reader stands at the durable cursor. Errors: kCorrupt (names file and offset),
  // kIo, kNotFound when retention has removed what comes next.
  virtual Result<std::optional<EncodedBlock>> next() = 0;
};

// append, recover and retain: one thread (the writer). The rest: any thread.
class ChangeLog {
 public:
  virtual ~ChangeLog() = default;

  // Appends and makes durable. The block must begin at durable_cursor().next(), or be the first of a greater epoch.
  // After kUnknown nothing may be appended before recover() has succeeded.
  virtual AppendOutcome append(const EncodedBlock& block) = 0;
  // The same without the sync: the block is written but not counted in durable_cursor() until sync(). For followers.
  virtual Result<void> append_unsynced(const EncodedBlock& block) = 0;
  virtual Result<void> sync() = 0;

  // Finds the tail, cuts what is torn, rewrites and syncs what is kept (HAZARDS 2). Called by open, and after kUnknown.
  // Errors: kCorrupt (file and offset), kIo.
  virtual Result<void> recover() = 0;

  virtual Cursor durable_cursor() const = 0;  // of the last durable block; zero when empty
  virtual Cursor written_cursor() const = 0;  // of the last written block
  virtual Cursor first_cursor() const = 0;    // of the oldest block retained; zero when empty
  virtual UnixMs last_commit_time() const = 0;
  virtual std::uint64_t retained_bytes() const = 0;

  // A reader whose first block is the one that holds `after.next()`. Errors: kNotFound (retention removed it),
  // kCorrupt.
  virtual Result<std::unique_ptr<LogReader>> read_after(Cursor after) = 0;

  // Recycles whole segments all of whose blocks are <= `floor`, oldest first, while more than `bytes_max` are retained.
  virtual Result<void> retain(Cursor floor, std::uint64_t bytes_max) = 0;
  // Throws all blocks away and starts again so that the next append begins at `cursor.next()` (HAZARDS 6).
  virtual Result<void> restart_at(Cursor cursor) = 0;
};

struct SegmentLogOptions {
  std::string directory;
  DatabaseId database_id;  // a log of another database is refused: kDatabaseMismatch
  std::uint64_t segment_bytes = 64u << 20;
};

// The log in segment files of a local directory (made if missing), recovered and ready.
Result<std::unique_ptr<ChangeLog>> open_segment_log(SegmentLogOptions options, FileSystem& files, Random& random);
// The database id that the segment files in a directory carry; nullopt when there are none.
Result<std::optional<DatabaseId>> segment_log_database_id(const std::string& directory, FileSystem& files);

}  // namespace leat::changelog
