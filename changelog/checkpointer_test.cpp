#include "changelog/checkpointer.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <optional>

#include "changelog/state.h"
#include "core/random.h"

namespace leat::changelog {
namespace {

using namespace std::chrono_literals;

class CheckpointerTest : public ::testing::Test {
 protected:
  CheckpointerTest() {
    std::filesystem::create_directories(folder_);
    connection_ = sqlite::Connection::open(path(), sqlite::OpenMode::kCreate).value();
    sqlite::configure_writer(*connection_).value();
    create_state(*connection_, {system_random().uuid(), Cursor(Epoch{1}, 7)}).value();
    connection_->execute("create table filler (id integer primary key, bytes blob not null)").value();
  }
  ~CheckpointerTest() override {
    connection_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::string path() const { return (folder_ / "test.db").string(); }
  void write_long_wal() {
    connection_
        ->execute(
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < 1500) "
            "insert into filler (bytes) select randomblob(4000) from n")
        .value();
  }

  const std::filesystem::path folder_ = std::filesystem::temp_directory_path() / ("leat-" + system_random().hex(8));
  std::unique_ptr<sqlite::Connection> connection_;
};

TEST_F(CheckpointerTest, MovesALongWalAndThenWaitsWithoutUsingTheProcessor) {
  std::mutex mutex;
  std::condition_variable moved;
  std::optional<Cursor> floor;
  Checkpointer::Hooks hooks;
  hooks.moved_everything = [&](Cursor until) {
    const std::lock_guard lock(mutex);
    floor = until;
    moved.notify_one();
  };
  const auto checkpointer = Checkpointer::start(path(), std::move(hooks)).value();
  report_wal_pages(*connection_, *checkpointer);
  write_long_wal();

  std::unique_lock lock(mutex);
  ASSERT_TRUE(moved.wait_for(lock, 10s, [&] { return floor.has_value(); }));
  EXPECT_EQ(floor, Cursor(Epoch{1}, 7));

  const auto used_before = std::clock();
  EXPECT_FALSE(moved.wait_for(lock, 400ms, [&] { return floor != Cursor(Epoch{1}, 7); }));
  const double used_seconds = static_cast<double>(std::clock() - used_before) / CLOCKS_PER_SEC;
  EXPECT_LT(used_seconds, 0.2) << "of 0.4 s in which there was nothing to do";
  lock.unlock();
}

}  // namespace
}  // namespace leat::changelog
