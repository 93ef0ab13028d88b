// A folder of a test's own, gone when the test is over.
#pragma once

#include <string>

namespace leat::testing {

class TemporaryFolder {
 public:
  TemporaryFolder();  // below $TMPDIR or /tmp
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace leat::testing
