// Segment files made ahead of need: written with zeros to their full size and synced, so that an append to one changes
// no metadata and its sync is one write to the device.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/file.h"

namespace leat::changelog {

struct SpareSegment {
  std::string path;
  std::unique_ptr<File> file;
};

// A thread of its own keeps one file ready. All calls from the log's writer thread.
class SpareSegments {
 public:
  SpareSegments(std::string directory, std::uint64_t segment_bytes, FileSystem& files);
  ~SpareSegments();
  SpareSegments(const SpareSegments&) = delete;
  SpareSegments& operator=(const SpareSegments&) = delete;

  // Adopts the spare files found in the directory, removes those that were never finished, and starts the thread.
  Result<void> start();
  // A file of at least `bytes`, waiting for it to be made if need be. It keeps its name until the caller renames it.
  Result<SpareSegment> take(std::uint64_t bytes);
  // Takes over a segment file that nobody reads any more, or removes it when there are enough. The caller syncs the
  // directory.
  Result<void> recycle(const std::string& path, std::uint64_t bytes);

 private:
  void run();
  Result<std::string> prepare(std::uint64_t bytes);
  std::string next_path_locked();

  const std::string directory_;
  const std::uint64_t segment_bytes_;
  FileSystem& files_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> ready_;
  std::uint64_t next_number_ = 1;
  bool wanted_ = false;  // make one
  std::optional<Error> failure_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace leat::changelog
