#include "core/service.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <csignal>
#include <thread>

namespace leat {
namespace {

TEST(Service, StopSignalsWaitUntilTheyAreAskedFor) {
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  block_signals();
  for (const int signal : {SIGTERM, SIGINT}) {
    ::kill(::getpid(), signal);
    EXPECT_EQ(wait_for_stop_signal(), signal);
  }
  std::jthread other([] { request_stop(); });
  EXPECT_EQ(wait_for_stop_signal(), SIGTERM);
  other.join();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(Service, TheReadyLineIsOneLineOnStandardOutput) {
  testing::internal::CaptureStdout();
  EXPECT_TRUE(print_ready_line(R"({"ready":true})").has_value());
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "{\"ready\":true}\n");
}

TEST(Service, TheOpenFilesLimitIsRaisedToTheHardLimit) {
  const std::uint64_t limit = raise_open_files_limit();
  rlimit now{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(limit, now.rlim_cur);
  EXPECT_EQ(now.rlim_cur, now.rlim_max);
}

}  // namespace
}  // namespace leat
