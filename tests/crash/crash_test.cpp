// SIGKILL at random moments under concurrent writes. LEAT_CRASH_ROUNDS says how often, LEAT_SEED repeats a run's
// choices.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>

#include "tests/crash/writer.h"
#include "tests/support/cluster.h"
#include "tests/support/database_difference.h"
#include "tests/support/temporary_folder.h"

namespace leat::testing {
namespace {

constexpr std::int64_t kRounds = 20;
constexpr std::int64_t kAcknowledgedBeforeAKillMax = 300;
constexpr std::int64_t kProgressMsMax = 60'000;

std::int64_t number_from_environment(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoll(text, nullptr, 10);
}

class Crash : public ::testing::Test {
 protected:
  void SetUp() override {
    start_master();
    ClusterClient client(cluster_.master_port());
    auto migrated = client.post("/v1/sql/migrate", migrate_body("hit", kHitSchema));
    ASSERT_TRUE(migrated.has_value()) << migrated.error().message;
    ASSERT_EQ(migrated->status, 200) << migrated->body;
    start_follower();
  }

  void start_master() {
    auto started = cluster_.start_master();
    ASSERT_TRUE(started.has_value()) << started.error().message;
  }
  void start_follower() {
    auto started = cluster_.start_follower();
    ASSERT_TRUE(started.has_value()) << started.error().message;
  }

  void start_writers() {
    for (int i = 0; i < 4; ++i) {
      const auto kind = i % 2 == 0 ? Writer::Kind::kIdempotencyKey : Writer::Kind::kProducer;
      writers_.push_back(std::make_unique<Writer>("writer-" + std::to_string(i), kind, cluster_.master_port()));
    }
  }

  std::int64_t acknowledged() const {
    std::int64_t sum = 0;
    for (const auto& writer : writers_) sum += writer->acknowledged();
    return sum;
  }

  // Waits until `count` more writes have been acknowledged.
  void await_progress(std::int64_t count) {
    const std::int64_t goal = acknowledged() + count;
    ASSERT_TRUE(wait_until([&] { return acknowledged() >= goal; }, kProgressMsMax))
        << acknowledged() << " of " << goal << " writes acknowledged; the master's log ends with:\n"
        << cluster_.master().log_tail();
  }

  // The promise: every acknowledged write is there once, and nothing else is.
  void finish_and_check_every_write_is_there_once() {
    for (const auto& writer : writers_) writer->finish();
    ClusterClient client(cluster_.master_port());
    for (const auto& writer : writers_) {
      for (const std::string& failure : writer->failures()) ADD_FAILURE() << failure;
      const std::string of_writer = " from hit where writer = '" + writer->name() + "'";
      const std::string expected = std::to_string(writer->acknowledged());
      EXPECT_EQ(client.scalar("select count(*)" + of_writer).value(), expected) << writer->name();
      EXPECT_EQ(client.scalar("select count(distinct number)" + of_writer).value(), expected) << writer->name();
      EXPECT_EQ(client.scalar("select ifnull(max(number), 0)" + of_writer).value(), expected) << writer->name();
      for (const Writer::Exchange& exchange : writer->last_exchanges()) {
        const auto again = client.post(exchange.path, exchange.request);
        ASSERT_TRUE(again.has_value()) << again.error().message;
        EXPECT_EQ(again->body, exchange.answer);
      }
    }
    EXPECT_EQ(client.scalar("select count(*) from hit").value(), std::to_string(acknowledged()));
  }

  void stop_and_compare_row_for_row() {
    auto agrees = cluster_.wait_until_follower_agrees("select count(*) || ' ' || sum(id) from hit");
    ASSERT_TRUE(agrees.has_value()) << agrees.error().message;
    EXPECT_EQ(cluster_.follower().stop(), 0) << cluster_.follower().log_tail();
    EXPECT_EQ(cluster_.master().stop(), 0) << cluster_.master().log_tail();
    auto found = differences(cluster_.master_database(), cluster_.follower_database());
    ASSERT_TRUE(found.has_value()) << found.error().message;
    for (const std::string& line : *found) ADD_FAILURE() << line;
  }

  TemporaryFolder folder_;
  Cluster cluster_{folder_.path()};
  std::vector<std::unique_ptr<Writer>> writers_;
};

TEST_F(Crash, AnAcknowledgedWriteSurvivesSigkillOnceAndReachesTheFollower) {
  const auto seed = static_cast<std::uint64_t>(number_from_environment("LEAT_SEED", std::random_device{}()));
  const std::int64_t rounds =
      number_from_environment("LEAT_CRASH_ROUNDS", kRounds) * number_from_environment("LEAT_SOAK_FACTOR", 1);
  std::cout << "LEAT_SEED=" << seed << " LEAT_CRASH_ROUNDS=" << rounds << std::endl;
  std::mt19937_64 random(seed);
  start_writers();
  for (std::int64_t round = 0; round < rounds; ++round) {
    ASSERT_NO_FATAL_FAILURE(
        await_progress(std::uniform_int_distribution<std::int64_t>(1, kAcknowledgedBeforeAKillMax)(random)));
    const int victims = std::uniform_int_distribution<int>(1, 3)(random);
    const bool kills_master = (victims & 1) != 0;
    const bool kills_follower = (victims & 2) != 0;
    if (kills_master) cluster_.master().kill();
    if (kills_follower) cluster_.follower().kill();
    SCOPED_TRACE("round " + std::to_string(round));
    if (kills_master) {
      ASSERT_NO_FATAL_FAILURE(start_master());
    }
    if (kills_follower) {
      ASSERT_NO_FATAL_FAILURE(start_follower());
    }
  }
  finish_and_check_every_write_is_there_once();
  stop_and_compare_row_for_row();
}

TEST_F(Crash, AFollowerThatWasStoppedResumesAtItsCursor) {
  start_writers();
  ASSERT_NO_FATAL_FAILURE(await_progress(100));
  EXPECT_EQ(cluster_.follower().stop(), 0) << cluster_.follower().log_tail();
  ASSERT_NO_FATAL_FAILURE(await_progress(500));
  ASSERT_NO_FATAL_FAILURE(start_follower());
  ASSERT_NO_FATAL_FAILURE(await_progress(100));
  finish_and_check_every_write_is_there_once();
  stop_and_compare_row_for_row();
}

TEST_F(Crash, AFollowerThatLagsCatchesUpAndNeverSlowsTheWriters) {
  start_writers();
  ASSERT_NO_FATAL_FAILURE(await_progress(100));
  ASSERT_EQ(::kill(cluster_.follower().pid(), SIGSTOP), 0);
  await_progress(2'000);
  ASSERT_EQ(::kill(cluster_.follower().pid(), SIGCONT), 0);
  ASSERT_NO_FATAL_FAILURE(await_progress(100));
  finish_and_check_every_write_is_there_once();
  stop_and_compare_row_for_row();
}

TEST_F(Crash, AFollowerWhoseConnectionIsLostConnectsAgain) {
  start_writers();
  for (int i = 0; i < 3; ++i) {
    ASSERT_NO_FATAL_FAILURE(await_progress(100));
    EXPECT_EQ(cluster_.master().stop(), 0) << cluster_.master().log_tail();
    ASSERT_NO_FATAL_FAILURE(start_master());
  }
  finish_and_check_every_write_is_there_once();
  stop_and_compare_row_for_row();
}

}  // namespace
}  // namespace leat::testing
