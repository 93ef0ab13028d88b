// The file seam between Leat and the operating system. Everything the change log writes goes through
// it, so that a test can fail a write, fail a sync, drop what was not synced, or run out of space.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"

namespace leat {

using Bytes = std::span<const std::byte>;

// One open file. One thread at a time, but `read_at` may run beside anything.
class File {
 public:
  virtual ~File() = default;
  // Reads up to `into.size()` bytes at `offset`; fewer only at the end of the file.
  virtual Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> into) const = 0;
  // Writes all of `bytes` or fails; after a failure any part may have been written.
  virtual Result<void> write_at(std::uint64_t offset, Bytes bytes) = 0;
  // fdatasync. After a failure nobody knows which unsynced bytes are durable (HAZARDS 1).
  virtual Result<void> sync_data() = 0;
  virtual Result<void> truncate(std::uint64_t size) = 0;
  virtual Result<std::uint64_t> size() const = 0;
};

// Any thread.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  enum class Mode { kReadOnly, kReadWrite, kCreate };  // kCreate: read-write, made if missing
  virtual Result<std::unique_ptr<File>> open(const std::string& path, Mode mode) = 0;
  virtual Result<void> create_directories(const std::string& path) = 0;
  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  virtual Result<void> remove(const std::string& path) = 0;
  virtual Result<bool> exists(const std::string& path) = 0;
  // Names (not paths) of the regular files in a directory, sorted.
  virtual Result<std::vector<std::string>> list(const std::string& directory) = 0;
  // Makes creations, renames and removals in a directory durable.
  virtual Result<void> sync_directory(const std::string& directory) = 0;
  virtual Result<std::uint64_t> free_bytes(const std::string& directory) = 0;
};

FileSystem& system_files();

// Whether a directory's device keeps `reserve_bytes` free (HAZARDS 15). Errors: kUnavailable naming both numbers, kIo.
Result<void> check_free_space(FileSystem& files, const std::string& directory, std::uint64_t reserve_bytes);

}  // namespace leat
