// A file system in memory that does to a program what disks do: fails writes and syncs, fills up, loses power.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/file.h"

namespace leat {

// Any thread. Files outlive the program under test: close everything, call power_cut() or not, and open again. Without
// a power cut a new "process" sees everything written, synced or not, as from a page cache.
class FaultyFiles final : public FileSystem {
 public:
  static constexpr std::size_t sector_bytes = 512;

  // Faults strike only operations on paths that contain `text`; all when empty.
  void only_paths_with(std::string text);
  // Lets `passing` further writes through, then fails `failing` of them, each after the first `written_bytes` of it.
  void fail_writes(int passing, int failing = 1, std::size_t written_bytes = 0);
  // Lets `passing` further syncs through, then fails `failing` of them. As on Linux, a failed sync leaves the data
  // readable, marks it clean, and may have written any of it: later syncs do not write it again.
  void fail_syncs(int passing, int failing = 1);
  void fail_directory_syncs(int passing, int failing = 1);
  // Writes that need more than this many further bytes of new space fail, with what fits written.
  void set_free_bytes(std::uint64_t bytes);

  // Undoes what was not synced, except that each unsynced sector and the first few unsynced directory changes survive
  // by chance: `keep_percent` 0 keeps nothing, 100 everything.
  void power_cut(std::mt19937_64& random, int keep_percent);
  // Chooses what failed syncs have written; 50 percent of the sectors.
  void seed(std::uint64_t seed);

  int data_syncs() const;
  int writes() const;
  // The bytes a file holds now, for tests that damage them.
  std::string contents(const std::string& path) const;
  void set_contents(const std::string& path, std::string bytes);  // durable

  Result<std::unique_ptr<File>> open(const std::string& path, Mode mode) override;
  Result<void> create_directories(const std::string& path) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  Result<bool> exists(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& directory) override;
  Result<void> sync_directory(const std::string& directory) override;
  Result<std::uint64_t> free_bytes(const std::string& directory) override;

 private:
  class OpenFile;
  struct Inode {
    std::string path;  // its name now
    std::string live;
    std::string durable;
    std::set<std::size_t> dirty;  // sectors that differ from `durable` and that a sync would write
    std::set<std::size_t> lost;   // sectors that a failed sync has marked clean
  };
  using Directory = std::map<std::string, std::shared_ptr<Inode>>;
  struct Countdown {
    int passing = 0;
    int failing = 0;
    bool strikes();
  };

  bool concerns(const std::string& path) const { return path.find(only_paths_with_) != std::string::npos; }
  static void write(Inode& inode, std::uint64_t offset, Bytes bytes);
  static void persist(Inode& inode, std::size_t sector);

  mutable std::mutex mutex_;
  Directory live_;
  Directory durable_;
  std::vector<std::function<void(Directory&)>> unsynced_changes_;
  std::string only_paths_with_;
  Countdown write_faults_;
  Countdown sync_faults_;
  Countdown directory_sync_faults_;
  std::size_t faulty_write_bytes_ = 0;
  std::optional<std::uint64_t> free_bytes_;
  std::mt19937_64 random_{1};
  int data_syncs_ = 0;
  int writes_ = 0;
};

}  // namespace leat
