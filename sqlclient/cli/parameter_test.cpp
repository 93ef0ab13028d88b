#include "sqlclient/cli/parameter.h"

#include <gtest/gtest.h>

#include <limits>

namespace leat::cli {
namespace {

TEST(Parameter, IsAnIntegerANumberNullABlobOrElseText) {
  EXPECT_EQ(parse_parameter("42"), Value{std::int64_t{42}});
  EXPECT_EQ(parse_parameter("-9223372036854775808"), Value{std::numeric_limits<std::int64_t>::min()});
  EXPECT_EQ(parse_parameter("1.5"), Value{1.5});
  EXPECT_EQ(parse_parameter("1e3"), Value{1000.0});
  EXPECT_EQ(parse_parameter("null"), Value{Null{}});
  EXPECT_EQ(parse_parameter("x'00fF'"), (Value{Blob{std::string("\0\xff", 2)}}));
  EXPECT_EQ(parse_parameter("hello"), Value{Text{"hello"}});
  EXPECT_EQ(parse_parameter(""), Value{Text{""}});
}

TEST(Parameter, InQuotesIsAlwaysText) {
  EXPECT_EQ(parse_parameter("'42'"), Value{Text{"42"}});
  EXPECT_EQ(parse_parameter("'it''s'"), Value{Text{"it's"}});
  EXPECT_EQ(parse_parameter("'null'"), Value{Text{"null"}});
}

TEST(Parameter, ThatOnlyLooksLikeOneOfTheOthersIsText) {
  for (const char* text : {"inf", "nan", "1x", "0x10", "'open", "a'b'", "x'0'", "x'zz'", "'a'b'", " 1"}) {
    EXPECT_EQ(parse_parameter(text), Value{Text{text}}) << text;
  }
}

TEST(Condition, HasAColumnAnOperatorAndAValue) {
  const auto equal = parse_condition("chat_id=7");
  ASSERT_TRUE(equal.has_value());
  EXPECT_EQ(equal->column, "chat_id");
  EXPECT_EQ(equal->op, "=");
  EXPECT_EQ(equal->value, Value{std::int64_t{7}});
  EXPECT_EQ(parse_condition("n>=2").value().op, ">=");
  EXPECT_EQ(parse_condition("status!=done").value().value, Value{Text{"done"}});
  EXPECT_EQ(parse_condition("note=a=b").value().value, Value{Text{"a=b"}});
}

TEST(Condition, WithNullAsksWhetherTheColumnIsNull) {
  EXPECT_EQ(parse_condition("note=null").value().op, "IS");
  EXPECT_EQ(parse_condition("note!=null").value().op, "IS NOT");
  EXPECT_TRUE(parse_condition("note<null").has_error());
}

TEST(Condition, WithoutColumnOrOperatorIsRefusedAndNamed) {
  for (const char* text : {"status", "=done", "", "!"}) {
    const auto condition = parse_condition(text);
    ASSERT_TRUE(condition.has_error()) << text;
    EXPECT_EQ(condition.error().code, ErrorCode::kConfigInvalid);
  }
}

TEST(Display, OfTextNeverMovesTheCursorOfATerminal) { EXPECT_EQ(to_display(Text{"a\nb\x1b[2J"}), "a\\nb\\x1b[2J"); }

TEST(Display, QuotedReadsBackAsTheSameValue) {
  const Value values[] = {Null{},       std::int64_t{-5}, 2.5,        3.0,          Text{"plain"}, Text{"two words"},
                          Text{"it's"}, Text{""},         Text{"42"}, Text{"null"}, Text{"a=b"},   Blob{"\x01\xfe"},
                          Text{"x'00'"}};
  for (const Value& value : values) {
    EXPECT_EQ(parse_parameter(to_display_quoted(value)), value) << to_display_quoted(value);
  }
}

}  // namespace
}  // namespace leat::cli
