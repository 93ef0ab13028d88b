#include "changelog/segment_spares.h"

#include <algorithm>

#include "changelog/limits.h"

namespace leat::changelog {

namespace {

constexpr std::string_view kReadyPrefix = "spare-";
constexpr std::string_view kUnfinishedPrefix = "unfinished-";
// Small enough that a sync on the write path never waits long behind one of these.
constexpr std::size_t kZerosBytes = std::size_t{1} << 20;

}  // namespace

SpareSegments::SpareSegments(std::string directory, std::uint64_t segment_bytes, FileSystem& files)
    : directory_(std::move(directory)), segment_bytes_(segment_bytes), files_(files) {}

SpareSegments::~SpareSegments() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Result<void> SpareSegments::start() {
  LEAT_ASSIGN(const std::vector<std::string> names, files_.list(directory_));
  for (const std::string& name : names) {
    const std::string path = directory_ + "/" + name;
    if (name.starts_with(kUnfinishedPrefix)) LEAT_TRY(files_.remove(path));
    if (!name.starts_with(kReadyPrefix)) continue;
    LEAT_ASSIGN(const auto file, files_.open(path, FileSystem::Mode::kReadOnly));
    LEAT_ASSIGN(const std::uint64_t bytes, file->size());
    if (bytes != segment_bytes_ || ready_.size() >= spare_segments_max) {
      LEAT_TRY(files_.remove(path));
      continue;
    }
    ready_.push_back(path);
    next_number_ =
        std::max<std::uint64_t>(next_number_, std::strtoull(name.c_str() + kReadyPrefix.size(), nullptr, 10) + 1);
  }
  wanted_ = ready_.empty();
  thread_ = std::thread([this] { run(); });
  return {};
}

Result<SpareSegment> SpareSegments::take(std::uint64_t bytes) {
  std::string path;
  if (bytes > segment_bytes_) {
    LEAT_ASSIGN(path, prepare(bytes));
  } else {
    std::unique_lock lock(mutex_);
    failure_.reset();
    wanted_ = wanted_ || ready_.empty();
    changed_.notify_all();
    changed_.wait(lock, [&] { return !ready_.empty() || failure_; });
    if (ready_.empty()) return *failure_;
    path = std::move(ready_.back());
    ready_.pop_back();
    wanted_ = ready_.empty();
    changed_.notify_all();
  }
  LEAT_ASSIGN(auto file, files_.open(path, FileSystem::Mode::kReadWrite));
  return SpareSegment{std::move(path), std::move(file)};
}

Result<void> SpareSegments::recycle(const std::string& path, std::uint64_t bytes) {
  std::unique_lock lock(mutex_);
  if (bytes != segment_bytes_ || ready_.size() >= spare_segments_max) {
    lock.unlock();
    return files_.remove(path);
  }
  std::string spare = next_path_locked();
  LEAT_TRY(files_.rename(path, spare));
  ready_.push_back(std::move(spare));
  changed_.notify_all();
  return {};
}

std::string SpareSegments::next_path_locked() {
  return directory_ + "/" + std::string(kReadyPrefix) + std::to_string(next_number_++);
}

Result<std::string> SpareSegments::prepare(std::uint64_t bytes) {
  std::string path;
  {
    const std::scoped_lock lock(mutex_);
    path = next_path_locked();
  }
  const std::string unfinished = directory_ + "/" + std::string(kUnfinishedPrefix) + path.substr(path.rfind('-') + 1);
  const auto fill = [&]() -> Result<void> {
    LEAT_ASSIGN(const auto file, files_.open(unfinished, FileSystem::Mode::kCreate));
    const std::vector<std::byte> zeros(std::min<std::uint64_t>(kZerosBytes, bytes));
    for (std::uint64_t at = 0; at < bytes; at += zeros.size()) {
      LEAT_TRY(file->write_at(at, Bytes(zeros).first(std::min<std::uint64_t>(zeros.size(), bytes - at))));
      LEAT_TRY(file->sync_data());
    }
    LEAT_TRY(files_.rename(unfinished, path));
    return files_.sync_directory(directory_);
  };
  if (auto filled = fill(); !filled) {
    // Frees what a full disk would need; what cannot be removed now is removed by the next start.
    (void)files_.remove(unfinished);
    return std::move(filled).error();
  }
  return path;
}

void SpareSegments::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || (wanted_ && ready_.empty() && !failure_); });
    if (stopping_) return;
    lock.unlock();
    auto path = prepare(segment_bytes_);
    lock.lock();
    if (path) {
      ready_.push_back(std::move(*path));
      wanted_ = false;
    } else {
      failure_ = std::move(path).error();
    }
    changed_.notify_all();
  }
}

}  // namespace leat::changelog
