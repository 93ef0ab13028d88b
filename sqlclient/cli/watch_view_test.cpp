#include "sqlclient/cli/watch_view.h"

#include <gtest/gtest.h>

namespace leat::cli {
namespace {

using Lines = std::vector<std::string>;

std::string hello() {
  return R"({"t":"nhello","queryId":1,"bootId":"b","hello":{"epoch":1,"comparatorVersion":2,"normalizedFp":"0",
    "tables":[{"name":"messages","columns":["id","status","text"],"primaryKey":[0]}]}})";
}

std::string batch(int seq, const std::string& operations) {
  return R"({"t":"nbatch","queryId":1,"batch":{"epoch":1,"seq":)" + std::to_string(seq) +
         R"(,"normalizedFp":"0","cv":1,"ops":[)" + operations + "]}}";
}

std::string add(const std::string& row) { return R"({"table":"messages","op":"add","row":)" + row + "}"; }
std::string remove(const std::string& row) { return R"({"table":"messages","op":"remove","row":)" + row + "}"; }
std::string edit(const std::string& before, const std::string& after) {
  return R"({"table":"messages","op":"edit","old":)" + before + R"(,"new":)" + after + "}";
}

Lines lines(WatchView& view, const std::string& frame) {
  auto update = view.apply(frame);
  EXPECT_TRUE(update.has_value()) << (update.has_error() ? update.error().message : "");
  return update.has_value() ? update->lines : Lines{};
}

TEST(WatchView, ShowsAddedChangedAndRemovedRows) {
  WatchView view;
  EXPECT_EQ(lines(view, hello()), Lines{});
  EXPECT_EQ(lines(view, batch(0, add(R"([1,"streaming","a b"])"))),
            Lines{"+ messages  id=1 status=streaming text='a b'"});
  EXPECT_EQ(lines(view, batch(1, edit(R"([1,"streaming","a b"])", R"([1,"interrupted","a b"])"))),
            Lines{"~ messages  id=1  status: streaming -> interrupted"});
  EXPECT_EQ(view.row_count(), 1u);
  EXPECT_EQ(lines(view, batch(2, remove(R"([1,"interrupted","a b"])"))),
            Lines{"- messages  id=1 status=interrupted text='a b'"});
  EXPECT_EQ(view.row_count(), 0u);
}

TEST(WatchView, AfterAReconnectShowsOnlyWhatHasChangedMeanwhile) {
  WatchView view;
  lines(view, hello());
  lines(view,
        batch(0, add(R"([1,"done","a"])") + "," + add(R"([2,"streaming","b"])") + "," + add(R"([3,"done","c"])")));
  EXPECT_EQ(lines(view, hello()), Lines{});
  const Lines expected{"- messages  id=3 status=done text=c", "~ messages  id=2  status: streaming -> done",
                       "+ messages  id=4 status=done text=d"};
  EXPECT_EQ(
      lines(view, batch(0, add(R"([1,"done","a"])") + "," + add(R"([2,"done","b"])") + "," + add(R"([4,"done","d"])"))),
      expected);
}

TEST(WatchView, AConnectionLostBeforeItsSnapshotForgetsNothing) {
  WatchView view;
  lines(view, hello());
  lines(view, batch(0, add(R"([1,"done","a"])")));
  lines(view, hello());
  lines(view, hello());
  EXPECT_EQ(lines(view, batch(0, add(R"([1,"done","a"])"))), Lines{});
}

TEST(WatchView, AMissingBatchIsAnError) {
  WatchView view;
  lines(view, hello());
  lines(view, batch(0, ""));
  EXPECT_TRUE(view.apply(batch(2, "")).has_error());
}

TEST(WatchView, AFrameThatIsNotOneIsAnError) {
  WatchView view;
  EXPECT_TRUE(view.apply("garbage").has_error());
  EXPECT_TRUE(view.apply(batch(0, add("[1]"))).has_error());
}

TEST(WatchView, AQueryErrorSaysWhetherToTryAgain) {
  WatchView view;
  const auto shed = view.apply(R"({"t":"queryError","queryId":1,"message":"slow","code":"shed","retryable":true})");
  ASSERT_TRUE(shed.has_value());
  EXPECT_TRUE(shed->is_over);
  EXPECT_TRUE(shed->may_retry);
  const auto unknown = view.apply(R"({"t":"queryError","queryId":1,"message":"no such table"})");
  ASSERT_TRUE(unknown.has_value());
  EXPECT_FALSE(unknown->may_retry);
  EXPECT_EQ(unknown->reason, "no such table");
}

}  // namespace
}  // namespace leat::cli
