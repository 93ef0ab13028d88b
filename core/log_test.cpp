#include "core/log.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

namespace leat {
namespace {

TEST(Log, ATextLineQuotesValuesThatAreNotPlain) {
  EXPECT_EQ(format_log_line(LogFormat::kText, "a\nb", {{"port", 80}, {"path", "/x"}, {"q", "a b"}, {"on", true}}),
            "a\\nb port=80 path=/x q=\"a b\" on=true");
}

TEST(Log, LinesGoToStandardErrorAndNothingToStandardOutput) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  configure_log(LogLevel::kInfo, LogFormat::kText);
  log().debug("hidden");
  log().info("shown {}", {{"k", "v"}});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("hidden"), std::string::npos);
  EXPECT_NE(text.find(" info shown {} k=v\n"), std::string::npos) << text;
}

TEST(Log, AJsonLineIsOneObjectWithTheFieldsAndTheRequestId) {
  testing::internal::CaptureStderr();
  configure_log(LogLevel::kInfo, LogFormat::kJson);
  log().warn("say \"hi\"\n", {{kLogRequestId, "rid1.x"}, {"n", -3}, {"rate", 0.5}, {"bytes", std::size_t{7}}});
  const std::string text = testing::internal::GetCapturedStderr();
  configure_log(LogLevel::kInfo, LogFormat::kText);
  ASSERT_EQ(text.find('\n'), text.size() - 1);
  const boost::json::value line = boost::json::parse(text);
  EXPECT_EQ(line.at("message"), "say \"hi\"\n");
  EXPECT_EQ(line.at("level"), "warning");
  EXPECT_EQ(line.at("requestId"), "rid1.x");
  EXPECT_EQ(line.at("n"), -3);
  EXPECT_EQ(line.at("bytes"), 7);
  EXPECT_TRUE(line.at("time").is_string());
}

TEST(Log, LevelsAndFormatsAreReadFromTheirNames) {
  EXPECT_EQ(parse_log_level("warn"), LogLevel::kWarn);
  EXPECT_EQ(parse_log_level("loud"), std::nullopt);
  EXPECT_EQ(parse_log_format("json"), LogFormat::kJson);
  EXPECT_EQ(parse_log_format("xml"), std::nullopt);
}

}  // namespace
}  // namespace leat
