#include "core/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace leat {

namespace {

Error io_error(const std::string& path, const char* action, int number) {
  return make_error(ErrorCode::kIo, path + ": cannot " + action + ": " + std::generic_category().message(number));
}

class SystemFile final : public File {
 public:
  SystemFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  ~SystemFile() override { ::close(descriptor_); }
  SystemFile(const SystemFile&) = delete;
  SystemFile& operator=(const SystemFile&) = delete;

  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    std::size_t done = 0;
    while (done < into.size()) {
      const ssize_t got =
          ::pread(descriptor_, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return io_error(path_, "read", errno);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  Result<void> write_at(std::uint64_t offset, Bytes bytes) override {
    while (!bytes.empty()) {
      const ssize_t put = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return io_error(path_, "write", errno);
      if (put == 0) return io_error(path_, "write", ENOSPC);
      bytes = bytes.subspan(static_cast<std::size_t>(put));
      offset += static_cast<std::uint64_t>(put);
    }
    return {};
  }

  // Not retried after EINTR or anything else: a second call could report success for pages that the first one lost.
  Result<void> sync_data() override {
    if (::fdatasync(descriptor_) != 0) return io_error(path_, "sync", errno);
    return {};
  }

  Result<void> truncate(std::uint64_t size) override {
    while (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) {
      if (errno != EINTR) return io_error(path_, "truncate", errno);
    }
    return {};
  }

  Result<std::uint64_t> size() const override {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) return io_error(path_, "stat", errno);
    return static_cast<std::uint64_t>(status.st_size);
  }

 private:
  std::string path_;
  int descriptor_;
};

class SystemFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<File>> open(const std::string& path, Mode mode) override {
    int flags = O_CLOEXEC;
    if (mode == Mode::kReadOnly) flags |= O_RDONLY;
    if (mode != Mode::kReadOnly) flags |= O_RDWR;
    if (mode == Mode::kCreate) flags |= O_CREAT;
    int descriptor = -1;
    do {
      descriptor = ::open(path.c_str(), flags, 0644);
    } while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0) return io_error(path, "open", errno);
    return std::unique_ptr<File>(std::make_unique<SystemFile>(path, descriptor));
  }

  Result<void> create_directories(const std::string& path) override {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) return io_error(path, "create", error.value());
    return {};
  }

  Result<void> rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) return io_error(from, "rename", errno);
    return {};
  }

  Result<void> remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0) return io_error(path, "remove", errno);
    return {};
  }

  Result<bool> exists(const std::string& path) override {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0) return true;
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return io_error(path, "stat", errno);
  }

  Result<std::vector<std::string>> list(const std::string& directory) override {
    std::error_code error;
    std::vector<std::string> names;
    std::filesystem::directory_iterator at(directory, error);
    for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
      std::error_code ignored;
      if (at->is_regular_file(ignored)) names.push_back(at->path().filename().string());
    }
    if (error) return io_error(directory, "list", error.value());
    std::sort(names.begin(), names.end());
    return names;
  }

  Result<void> sync_directory(const std::string& directory) override {
    const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return io_error(directory, "open", errno);
    const int outcome = ::fsync(descriptor);
    const int number = errno;
    ::close(descriptor);
    if (outcome != 0) return io_error(directory, "sync", number);
    return {};
  }

  Result<std::uint64_t> free_bytes(const std::string& directory) override {
    struct statvfs status {};
    if (::statvfs(directory.c_str(), &status) != 0) return io_error(directory, "stat", errno);
    return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
  }
};

}  // namespace

FileSystem& system_files() {
  static SystemFileSystem files;
  return files;
}

Result<void> check_free_space(FileSystem& files, const std::string& directory, std::uint64_t reserve_bytes) {
  LEAT_ASSIGN(const std::uint64_t free, files.free_bytes(directory));
  if (free >= reserve_bytes) return {};
  return make_error(ErrorCode::kUnavailable, directory + ": " + std::to_string(free) + " bytes are free, and " +
                                                 std::to_string(reserve_bytes) + " are kept in reserve");
}

}  // namespace leat
