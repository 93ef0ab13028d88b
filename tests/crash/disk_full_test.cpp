// A disk that really fills up: a small filesystem of its own, mounted for the test. Needs root.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "tests/support/cluster.h"
#include "tests/support/temporary_folder.h"

namespace leat::testing {
namespace {

constexpr const char* kFilesystemSize = "size=128m";
constexpr std::uint64_t kSegmentBytes = std::uint64_t{4} << 20;
constexpr std::int64_t kLeftForWritesBytes = std::int64_t{8} << 20;
constexpr std::int64_t kRecoveryMsMax = 30'000;
constexpr int kWritesMax = 5'000;
constexpr std::size_t kTextBytes = 64u << 10;

// The parameter is what the master keeps free. Without any, the disk really is full in the middle of something.
class DiskFull : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(mount_point_);
    if (::mount("tmpfs", mount_point_.c_str(), "tmpfs", 0, kFilesystemSize) != 0) {
      GTEST_SKIP() << "a filesystem of its own cannot be mounted here: " << std::strerror(errno);
    }
    is_mounted_ = true;
  }
  void TearDown() override {
    cluster_.reset();
    if (is_mounted_) ::umount2(mount_point_.c_str(), MNT_DETACH);
  }

  void start_master() {
    auto started = cluster_->start_master();
    ASSERT_TRUE(started.has_value()) << started.error().message;
  }

  std::string ballast() const { return mount_point_ + "/ballast"; }

  // Leaves `bytes_left` free.
  void fill_the_disk(std::int64_t bytes_left) {
    struct statvfs space {};
    ASSERT_EQ(::statvfs(mount_point_.c_str(), &space), 0);
    const auto bytes_free = static_cast<std::int64_t>(space.f_bavail * space.f_bsize);
    ASSERT_GT(bytes_free, bytes_left);
    const int file = ::open(ballast().c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    ASSERT_GE(file, 0);
    EXPECT_EQ(::posix_fallocate(file, 0, bytes_free - bytes_left), 0);
    ::close(file);
  }

  // The HTTP status of inserting one row, 0 when nobody answered.
  int insert(int id) {
    ClusterClient client(cluster_->master_port());
    const std::string sql =
        "insert into t (id, text) values (" + std::to_string(id) + ", '" + std::string(kTextBytes, 'x') + "')";
    auto response = client.post("/v1/sql/execute", execute_body(sql, new_idempotency_key()));
    if (response.has_error()) return 0;
    last_answer_ = response->body;
    return response->status;
  }

  TemporaryFolder folder_;
  const std::string mount_point_ = folder_ / "disk";
  std::optional<Cluster> cluster_{std::in_place, mount_point_, ClusterOptions{kSegmentBytes, GetParam()}};
  bool is_mounted_ = false;
  std::string last_answer_;
};

TEST_P(DiskFull, AWriteIsAnsweredWithAnErrorReadsGoOnAndWritesComeBackWithTheSpace) {
  ASSERT_NO_FATAL_FAILURE(start_master());
  ClusterClient client(cluster_->master_port());
  auto migrated =
      client.post("/v1/sql/migrate", migrate_body("t", "create table t (id integer primary key, text text)"));
  ASSERT_TRUE(migrated.has_value()) << migrated.error().message;
  ASSERT_EQ(migrated->status, 200) << migrated->body;

  ASSERT_NO_FATAL_FAILURE(fill_the_disk(static_cast<std::int64_t>(GetParam()) + kLeftForWritesBytes));
  std::set<int> acknowledged;
  std::set<int> unknown;
  int id = 1;
  for (int status = 200; status == 200; ++id) {
    ASSERT_LT(id, kWritesMax) << "the disk never filled up";
    status = insert(id);
    if (status == 200) acknowledged.insert(id);
    ASSERT_NE(status, 0) << cluster_->master().log_tail();
    // Only an answer that says so may leave the outcome open.
    if (status != 200 && last_answer_.find("OUTCOME_UNKNOWN") != std::string::npos) unknown.insert(id);
  }
  EXPECT_FALSE(acknowledged.empty());
  const auto count = client.scalar("select count(*) from t");
  ASSERT_TRUE(count.has_value()) << "reads stopped: " << count.error().message;

  std::filesystem::remove(ballast());
  ASSERT_TRUE(wait_until(
      [&] {
        ++id;
        const int status = insert(id);
        if (status == 200) acknowledged.insert(id);
        if (status == 0 || last_answer_.find("OUTCOME_UNKNOWN") != std::string::npos) unknown.insert(id);
        return status == 200;
      },
      kRecoveryMsMax))
      << "writes did not come back: " << last_answer_ << "\n"
      << cluster_->master().log_tail();

  for (int restarts = 0; restarts < 2; ++restarts) {
    for (int each = 1; each <= id; ++each) {
      if (unknown.contains(each)) continue;
      ASSERT_EQ(client.scalar("select count(*) from t where id = " + std::to_string(each)).value(),
                acknowledged.contains(each) ? "1" : "0")
          << "row " << each << " after " << restarts << " restarts";
    }
    cluster_->master().kill();
    ASSERT_NO_FATAL_FAILURE(start_master());
  }
}

INSTANTIATE_TEST_SUITE_P(WithAReserve, DiskFull, ::testing::Values(std::uint64_t{16} << 20));
INSTANTIATE_TEST_SUITE_P(WithoutAReserve, DiskFull, ::testing::Values(std::uint64_t{0}));

}  // namespace
}  // namespace leat::testing
