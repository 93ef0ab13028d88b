// One process at a time owns a data folder (HAZARDS 26).
#pragma once

#include <string>
#include <utility>

#include "core/error.h"

namespace leat {

// Held from acquire to destruction; the kernel lets go when the process ends, however it ends. Children do not inherit
// it across exec.
class FolderLock {
 public:
  // Locks `<directory>/lock`, made if missing. Errors: kUnavailable when another holder has it, kIo.
  static Result<FolderLock> acquire(const std::string& directory);
  FolderLock(FolderLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FolderLock& operator=(FolderLock&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~FolderLock();

 private:
  explicit FolderLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace leat
