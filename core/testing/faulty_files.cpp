#include "core/testing/faulty_files.h"

#include <algorithm>
#include <cstring>

namespace leat {

namespace {

Error io_error(const std::string& path, const char* what) {
  return make_error(ErrorCode::kIo, path + ": " + what + " (injected fault)");
}

}  // namespace

class FaultyFiles::OpenFile final : public File {
 public:
  OpenFile(FaultyFiles& files, std::string path, std::shared_ptr<Inode> inode, bool writable)
      : files_(files), path_(std::move(path)), inode_(std::move(inode)), writable_(writable) {}

  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    const std::scoped_lock lock(files_.mutex_);
    if (offset >= inode_->live.size()) return std::size_t{0};
    const std::size_t count = std::min<std::size_t>(into.size(), inode_->live.size() - offset);
    std::memcpy(into.data(), inode_->live.data() + offset, count);
    return count;
  }

  Result<void> write_at(std::uint64_t offset, Bytes bytes) override {
    const std::scoped_lock lock(files_.mutex_);
    if (!writable_) return io_error(path_, "open for reading only");
    ++files_.writes_;
    if (files_.concerns(inode_->path) && files_.write_faults_.strikes()) {
      write(*inode_, offset, bytes.first(std::min(bytes.size(), files_.faulty_write_bytes_)));
      return io_error(path_, "write failed");
    }
    const std::uint64_t size = inode_->live.size();
    const std::uint64_t grown = offset + bytes.size() > size ? offset + bytes.size() - size : 0;
    if (files_.free_bytes_) {
      if (grown > *files_.free_bytes_) {
        write(*inode_, offset, bytes.first(bytes.size() - std::min<std::size_t>(bytes.size(), grown)));
        return io_error(path_, "No space left on device");
      }
      *files_.free_bytes_ -= grown;
    }
    write(*inode_, offset, bytes);
    return {};
  }

  Result<void> sync_data() override {
    const std::scoped_lock lock(files_.mutex_);
    ++files_.data_syncs_;
    const bool fails = files_.concerns(inode_->path) && files_.sync_faults_.strikes();
    for (const std::size_t sector : inode_->dirty) {
      if (!fails || files_.random_() % 2 == 0) {
        persist(*inode_, sector);
      } else {
        inode_->lost.insert(sector);
      }
    }
    inode_->dirty.clear();
    if (fails) return io_error(path_, "sync failed");
    return {};
  }

  Result<void> truncate(std::uint64_t size) override {
    const std::scoped_lock lock(files_.mutex_);
    const std::size_t old_size = inode_->live.size();
    inode_->live.resize(size);
    for (std::size_t at = std::min<std::size_t>(old_size, size); at < std::max<std::size_t>(old_size, size);
         at += sector_bytes) {
      inode_->dirty.insert(at / sector_bytes);
    }
    return {};
  }

  Result<std::uint64_t> size() const override {
    const std::scoped_lock lock(files_.mutex_);
    return std::uint64_t{inode_->live.size()};
  }

 private:
  FaultyFiles& files_;
  std::string path_;
  std::shared_ptr<Inode> inode_;
  bool writable_;
};

bool FaultyFiles::Countdown::strikes() {
  if (failing == 0) return false;
  if (passing > 0) {
    --passing;
    return false;
  }
  --failing;
  return true;
}

void FaultyFiles::write(Inode& inode, std::uint64_t offset, Bytes bytes) {
  if (bytes.empty()) return;
  if (inode.live.size() < offset + bytes.size()) inode.live.resize(offset + bytes.size());
  std::memcpy(inode.live.data() + offset, bytes.data(), bytes.size());
  for (std::size_t sector = offset / sector_bytes; sector <= (offset + bytes.size() - 1) / sector_bytes; ++sector) {
    inode.dirty.insert(sector);
    inode.lost.erase(sector);
  }
}

void FaultyFiles::persist(Inode& inode, std::size_t sector) {
  const std::size_t from = sector * sector_bytes;
  if (from >= inode.live.size()) {
    inode.durable.resize(std::min(inode.durable.size(), inode.live.size()));
    return;
  }
  const std::size_t count = std::min(sector_bytes, inode.live.size() - from);
  if (inode.durable.size() < from + count) inode.durable.resize(from + count);
  std::memcpy(inode.durable.data() + from, inode.live.data() + from, count);
}

void FaultyFiles::only_paths_with(std::string text) {
  const std::scoped_lock lock(mutex_);
  only_paths_with_ = std::move(text);
}

void FaultyFiles::fail_writes(int passing, int failing, std::size_t written_bytes) {
  const std::scoped_lock lock(mutex_);
  write_faults_ = {passing, failing};
  faulty_write_bytes_ = written_bytes;
}

void FaultyFiles::fail_syncs(int passing, int failing) {
  const std::scoped_lock lock(mutex_);
  sync_faults_ = {passing, failing};
}

void FaultyFiles::fail_directory_syncs(int passing, int failing) {
  const std::scoped_lock lock(mutex_);
  directory_sync_faults_ = {passing, failing};
}

void FaultyFiles::set_free_bytes(std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  free_bytes_ = bytes;
}

void FaultyFiles::power_cut(std::mt19937_64& random, int keep_percent) {
  const std::scoped_lock lock(mutex_);
  const auto survives = [&] { return static_cast<int>(random() % 100) < keep_percent; };
  std::set<std::shared_ptr<Inode>> inodes;
  for (const auto& [path, inode] : live_) inodes.insert(inode);
  for (const auto& [path, inode] : durable_) inodes.insert(inode);
  for (const auto& inode : inodes) {
    for (const std::size_t sector : inode->dirty) {
      if (survives()) persist(*inode, sector);
    }
    inode->dirty.clear();
    inode->lost.clear();
    inode->live = inode->durable;
  }
  for (const auto& change : unsynced_changes_) {
    if (!survives()) break;
    change(durable_);
  }
  unsynced_changes_.clear();
  live_ = durable_;
  for (const auto& [path, inode] : live_) inode->path = path;
  write_faults_ = sync_faults_ = directory_sync_faults_ = {};
}

void FaultyFiles::seed(std::uint64_t seed) {
  const std::scoped_lock lock(mutex_);
  random_.seed(seed);
}

int FaultyFiles::data_syncs() const {
  const std::scoped_lock lock(mutex_);
  return data_syncs_;
}

int FaultyFiles::writes() const {
  const std::scoped_lock lock(mutex_);
  return writes_;
}

std::string FaultyFiles::contents(const std::string& path) const {
  const std::scoped_lock lock(mutex_);
  return live_.at(path)->live;
}

void FaultyFiles::set_contents(const std::string& path, std::string bytes) {
  const std::scoped_lock lock(mutex_);
  auto& inode = live_[path];
  if (!inode) inode = std::make_shared<Inode>();
  *inode = Inode{path, bytes, bytes, {}, {}};
  durable_[path] = inode;
}

Result<std::unique_ptr<File>> FaultyFiles::open(const std::string& path, Mode mode) {
  const std::scoped_lock lock(mutex_);
  auto at = live_.find(path);
  if (at == live_.end()) {
    if (mode != Mode::kCreate) return make_error(ErrorCode::kIo, path + ": cannot open: No such file or directory");
    auto inode = std::make_shared<Inode>();
    inode->path = path;
    at = live_.emplace(path, inode).first;
    unsynced_changes_.emplace_back([path, inode](Directory& directory) { directory[path] = inode; });
  }
  return std::unique_ptr<File>(std::make_unique<OpenFile>(*this, path, at->second, mode != Mode::kReadOnly));
}

Result<void> FaultyFiles::create_directories(const std::string&) { return {}; }

Result<void> FaultyFiles::rename(const std::string& from, const std::string& to) {
  const std::scoped_lock lock(mutex_);
  const auto change = [from, to](Directory& directory) {
    if (auto node = directory.extract(from)) directory[to] = node.mapped();
  };
  if (live_.find(from) == live_.end()) return io_error(from, "no such file");
  change(live_);
  live_.at(to)->path = to;
  unsynced_changes_.emplace_back(change);
  return {};
}

Result<void> FaultyFiles::remove(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  const auto change = [path](Directory& directory) { directory.erase(path); };
  if (live_.find(path) == live_.end()) return io_error(path, "no such file");
  change(live_);
  unsynced_changes_.emplace_back(change);
  return {};
}

Result<bool> FaultyFiles::exists(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  const auto below = live_.lower_bound(path + "/");
  return live_.contains(path) || (below != live_.end() && below->first.starts_with(path + "/"));
}

Result<std::vector<std::string>> FaultyFiles::list(const std::string& directory) {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [path, inode] : live_) {
    if (path.starts_with(directory + "/") && path.find('/', directory.size() + 1) == std::string::npos) {
      names.push_back(path.substr(directory.size() + 1));
    }
  }
  return names;
}

Result<void> FaultyFiles::sync_directory(const std::string& directory) {
  const std::scoped_lock lock(mutex_);
  if (concerns(directory) && directory_sync_faults_.strikes()) return io_error(directory, "directory sync failed");
  for (const auto& change : unsynced_changes_) change(durable_);
  unsynced_changes_.clear();
  return {};
}

Result<std::uint64_t> FaultyFiles::free_bytes(const std::string&) {
  const std::scoped_lock lock(mutex_);
  return free_bytes_.value_or(std::uint64_t{1} << 40);
}

}  // namespace leat
