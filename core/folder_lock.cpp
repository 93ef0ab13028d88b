#include "core/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace leat {

Result<FolderLock> FolderLock::acquire(const std::string& directory) {
  const std::string path = directory + "/lock";
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return make_error(ErrorCode::kIo, path + ": cannot open: " + std::generic_category().message(errno));
  }
  FolderLock lock(descriptor);
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) {
      return make_error(ErrorCode::kUnavailable, directory + " is in use by another process");
    }
    return make_error(ErrorCode::kIo, path + ": cannot lock: " + std::generic_category().message(errno));
  }
  return lock;
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace leat
