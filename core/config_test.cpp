#include "core/config.h"

#include <gtest/gtest.h>

namespace leat {
namespace {

ConfigReader read(std::string_view text) { return ConfigReader::parse(text, "a.json").value(); }

TEST(Config, GettersReadValuesAndDefaults) {
  ConfigReader config = read(R"({"s":"x","b":true,"i":5,"f":5.0,"l":["a","b"],"o":{"p":1},"n":null})");
  EXPECT_EQ(config.string("s", "d"), "x");
  EXPECT_EQ(config.string("absent", "d"), "d");
  EXPECT_EQ(config.string("n", "d"), "d");
  EXPECT_TRUE(config.boolean("b", false));
  EXPECT_EQ(config.integer("i", 1, 0, 10), 5);
  EXPECT_EQ(config.integer("f", 1), 5);
  EXPECT_EQ(config.string_list("l"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(config.object("o")->integer("p", 0), 1);
  EXPECT_FALSE(config.object("none").has_value());
  EXPECT_TRUE(config.finish().has_value());
}

TEST(Config, AnUnknownKeyIsNamedWithTheFileAndTheNearestKnownKey) {
  ConfigReader config = read(R"({"httpPrt":1})");
  config.integer("httpPort", 0);
  config.integer("wsPort", 0);
  const auto result = config.finish();
  ASSERT_TRUE(result.has_error());
  EXPECT_EQ(result.error().code, ErrorCode::kConfigInvalid);
  EXPECT_EQ(result.error().message, "a.json: \"httpPrt\" is not a known key; the nearest known one is \"httpPort\"");
}

TEST(Config, AnUnknownKeyInASubObjectIsNamedWithItsPath) {
  ConfigReader config = read(R"({"log":{"levle":"x"}})");
  auto log = config.object("log");
  log->string("level", "");
  EXPECT_EQ(config.finish().error().message,
            "a.json: \"log.levle\" is not a known key; the nearest known one is \"log.level\"");
}

TEST(Config, IgnoredKeysAreKnown) {
  ConfigReader config = read(R"({"old":[1,{}]})");
  config.ignore("old");
  EXPECT_TRUE(config.finish().has_value());
}

TEST(Config, AWrongTypeSaysWhatWasWantedAndWhatIsThere) {
  ConfigReader config = read(R"({"port":"80"})");
  EXPECT_EQ(config.integer("port", 7), 7);
  EXPECT_EQ(config.finish().error().message, "a.json: \"port\" must be an integer, not a string");
}

TEST(Config, IntegersHaveARange) {
  for (const char* text : {R"({"port":65536})", R"({"port":-1})", R"({"port":1.5})", R"({"port":1e300})"}) {
    ConfigReader config = read(text);
    config.integer("port", 0, 0, 65535);
    EXPECT_EQ(config.finish().error().message, "a.json: \"port\" must be an integer from 0 to 65535") << text;
  }
}

TEST(Config, TheFirstProblemIsKept) {
  ConfigReader config = read(R"({"a":1,"b":2})");
  config.string("a", "");
  config.boolean("b", false);
  config.fail("c", "is wrong");
  EXPECT_EQ(config.finish().error().message, "a.json: \"a\" must be a string, not an integer");
}

TEST(Config, ARequiredStringMustBeThere) {
  ConfigReader config = read(R"({"b":""})");
  config.required_string("a");
  EXPECT_EQ(config.finish().error().message, "a.json: \"a\" is required");
  ConfigReader empty = read(R"({"b":""})");
  empty.required_string("b");
  EXPECT_EQ(empty.finish().error().message, "a.json: \"b\" must not be empty");
}

TEST(Config, AParseErrorHasLineAndColumn) {
  const auto broken = ConfigReader::parse("{\n  \"a\": ?\n}", "a.json");
  ASSERT_TRUE(broken.has_error());
  EXPECT_EQ(broken.error().message.rfind("a.json:2:8: not valid JSON: ", 0), 0u) << broken.error().message;
  EXPECT_TRUE(ConfigReader::parse("{} x", "a.json").error().message.starts_with("a.json:1:4: "));
  EXPECT_TRUE(ConfigReader::parse("{\"a\":1", "a.json").has_error());
  EXPECT_TRUE(ConfigReader::parse("[]", "a.json").has_error());
  EXPECT_TRUE(ConfigReader::parse("", "a.json").has_error());
}

TEST(Config, AFileThatCannotBeReadIsNamed) {
  const auto missing = ConfigReader::load("/nonexistent/a.json");
  ASSERT_TRUE(missing.has_error());
  EXPECT_EQ(missing.error().message, "cannot read the configuration file /nonexistent/a.json");
}

}  // namespace
}  // namespace leat
