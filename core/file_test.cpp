#include "core/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "core/folder_lock.h"

namespace leat {
namespace {

class SystemFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "leat-file-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  static Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }
  std::string directory_;
};

TEST_F(SystemFiles, ReadBackWhatWasWrittenAndStopAtTheEnd) {
  FileSystem& files = system_files();
  auto file = files.open(directory_ + "/a", FileSystem::Mode::kCreate).value();
  ASSERT_TRUE(file->write_at(2, bytes_of("hello")).has_value());
  ASSERT_TRUE(file->sync_data().has_value());
  std::string into(10, 'x');
  EXPECT_EQ(file->read_at(1, std::as_writable_bytes(std::span(into))).value(), 6u);
  EXPECT_EQ(into, std::string("\0hello", 6) + "xxxx");
  ASSERT_TRUE(file->truncate(3).has_value());
  EXPECT_EQ(file->size().value(), 3u);
}

TEST_F(SystemFiles, ErrorsNameThePathAndTheReason) {
  const auto file = system_files().open(directory_ + "/missing", FileSystem::Mode::kReadWrite);
  ASSERT_TRUE(file.has_error());
  EXPECT_EQ(file.error().code, ErrorCode::kIo);
  EXPECT_NE(file.error().message.find(directory_ + "/missing"), std::string::npos);
  EXPECT_NE(file.error().message.find("No such file"), std::string::npos);
  auto read_only_file = [&] {
    system_files().open(directory_ + "/a", FileSystem::Mode::kCreate).value();
    return system_files().open(directory_ + "/a", FileSystem::Mode::kReadOnly).value();
  }();
  EXPECT_TRUE(read_only_file->write_at(0, bytes_of("x")).has_error());
}

TEST_F(SystemFiles, ListNamesRegularFilesSorted) {
  FileSystem& files = system_files();
  ASSERT_TRUE(files.create_directories(directory_ + "/deep/er").has_value());
  for (const char* name : {"/b", "/a"}) files.open(directory_ + name, FileSystem::Mode::kCreate).value();
  ASSERT_TRUE(files.rename(directory_ + "/b", directory_ + "/c").has_value());
  EXPECT_EQ(files.list(directory_).value(), (std::vector<std::string>{"a", "c"}));
  ASSERT_TRUE(files.remove(directory_ + "/c").has_value());
  EXPECT_FALSE(files.exists(directory_ + "/c").value());
  ASSERT_TRUE(files.sync_directory(directory_).has_value());
  EXPECT_GT(files.free_bytes(directory_).value(), 0u);
}

using Hazard26 = SystemFiles;

TEST_F(Hazard26, AFolderHasOneHolderUntilItLetsGo) {
  {
    const auto first = FolderLock::acquire(directory_);
    ASSERT_TRUE(first.has_value());
    const auto second = FolderLock::acquire(directory_);
    ASSERT_TRUE(second.has_error());
    EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  }
  EXPECT_TRUE(FolderLock::acquire(directory_).has_value());
}

TEST_F(Hazard26, AChildProgramDoesNotInheritTheLock) {
  pid_t child = -1;
  int ends[2];
  ASSERT_EQ(::pipe2(ends, 0), 0);
  {
    const auto lock = FolderLock::acquire(directory_);
    ASSERT_TRUE(lock.has_value());
    child = ::fork();
    if (child == 0) {
      ::dup2(ends[0], 0);
      ::close(ends[1]);
      ::execlp("cat", "cat", nullptr);  // lives until the pipe is closed
      ::_exit(1);
    }
    // The child closes its copy of the descriptor at exec: wait until /proc shows the new program.
    for (int tries = 0; tries < 1000; ++tries) {
      std::error_code ignored;
      if (std::filesystem::read_symlink("/proc/" + std::to_string(child) + "/exe", ignored).filename() == "cat") break;
      ::usleep(1000);
    }
  }
  EXPECT_TRUE(FolderLock::acquire(directory_).has_value());
  ::close(ends[1]);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
}

}  // namespace
}  // namespace leat
