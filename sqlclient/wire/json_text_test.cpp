#include "sqlclient/wire/json_text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "sqlclient/wire/json_document.h"

namespace leat::wire {
namespace {

std::string as_string(std::string_view text) {
  std::string out;
  append_string(out, text);
  return out;
}
std::string as_base64(std::string_view bytes) {
  std::string out;
  append_base64(out, bytes);
  return out;
}
std::string as_double(double value) {
  std::string out;
  append_double(out, value);
  return out;
}
double read_back(const std::string& text) {
  const auto value = parse_json(text).value();
  return value.is_int64() ? static_cast<double>(value.get_int64()) : value.get_double();
}

TEST(JsonText, EscapesWhatJsonStringifyEscapes) {
  EXPECT_EQ(as_string("plain /'<>&"), "\"plain /'<>&\"");
  EXPECT_EQ(as_string("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(as_string("\b\f\n\r\t"), R"("\b\f\n\r\t")");
  EXPECT_EQ(as_string(std::string_view("\0\x01\x1f\x7f", 4)), "\"\\u0000\\u0001\\u001f\x7f\"");
  EXPECT_EQ(as_string("\xe2\x80\xa8 \xc3\xa9 \xf0\x9f\x98\x80"), "\"\xe2\x80\xa8 \xc3\xa9 \xf0\x9f\x98\x80\"");
}

TEST(JsonText, EveryStringReadsBackAsItWas) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2'000; ++round) {
    std::string text;
    for (std::size_t i = random() % 20; i > 0; --i) {
      static const std::string_view kPieces[] = {"\"", "\\", "\n", "\x1f", "a", "/", "\xc3\xa9", "\xf4\x8f\xbf\xbf"};
      text += random() % 8 == 0 ? std::string(1, '\0') : std::string(kPieces[random() % 8]);
    }
    const auto value = parse_json(as_string(text)).value();
    EXPECT_EQ(std::string(value.get_string()), text);
  }
}

TEST(JsonText, KnowsWellFormedUtf8) {
  for (const std::string_view good : {"", "a", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                                      "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8(good)) << testing::PrintToString(good);
  }
  for (const std::string_view bad :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x41", "\xe0\x9f\xbf", "\xe0\x80\x80", "\xe1\x80",
        "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf0\x90\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
        "\xff", "a\xfe", "\xc2\xc2\x80"}) {
    EXPECT_FALSE(is_utf8(bad)) << testing::PrintToString(bad);
  }
}

TEST(JsonText, EachBadByteBecomesOneReplacementCharacter) {
  EXPECT_EQ(as_string("a\xff\xfe z"), "\"a\xef\xbf\xbd\xef\xbf\xbd z\"");
  EXPECT_EQ(as_string("\xe2\x82"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
  EXPECT_TRUE(is_utf8(as_string("\xed\xa0\x80\xc3")));
}

TEST(JsonText, DoublesRoundTripAtTheExtremes) {
  using Limits = std::numeric_limits<double>;
  for (const double value : {0.0, 0.1, 1.0, -1.5, 1e21, 1e-7, 123456789012345678.0, Limits::max(), Limits::lowest(),
                             Limits::min(), Limits::denorm_min(), Limits::epsilon(), 9007199254740993.0}) {
    EXPECT_EQ(read_back(as_double(value)), value) << as_double(value);
  }
  EXPECT_EQ(as_double(-0.0), "-0");
  EXPECT_EQ(as_double(0.5), "0.5");
}

TEST(JsonText, RandomDoublesAreWrittenAndReadBitForBit) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> ordinary(-1'000, 1'000);
  for (int round = 0; round < 50'000; ++round) {
    double value = std::bit_cast<double>(random());
    if (!std::isfinite(value) || round % 2 == 0) value = ordinary(random);
    if (value == std::trunc(value)) continue;
    ASSERT_EQ(read_back(as_double(value)), value) << as_double(value);
  }
}

TEST(JsonText, IntegersAreWrittenWhole) {
  std::string out;
  append_integer(out, std::numeric_limits<std::int64_t>::min());
  out += ' ';
  append_integer(out, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(out, "-9223372036854775808 9223372036854775807");
}

TEST(JsonText, Base64IsThatOfTheStandard) {
  EXPECT_EQ(as_base64(""), "\"\"");
  EXPECT_EQ(as_base64("f"), "\"Zg==\"");
  EXPECT_EQ(as_base64("fo"), "\"Zm8=\"");
  EXPECT_EQ(as_base64("foo"), "\"Zm9v\"");
  EXPECT_EQ(as_base64("foobar"), "\"Zm9vYmFy\"");
  EXPECT_EQ(as_base64(std::string_view("\xfb\xff\xfe\0", 4)), "\"+//+AA==\"");
}

TEST(JsonDocument, RefusesWhatIsNotJson) {
  for (const std::string_view bad :
       {"", " ", "{", "[1,]", "{} x", "nul", "'a'", "\"\\ud800\"", "\"\xff\"", "01", "NaN", "1e999", "-1e400"}) {
    const auto value = parse_json(bad);
    ASSERT_TRUE(value.has_error()) << bad;
    EXPECT_EQ(value.error().code, ErrorCode::kJsonInvalid);
  }
}

TEST(JsonDocument, NumbersTooSmallForADoubleAreZero) { EXPECT_EQ(read_back("1e-400"), 0.0); }

TEST(JsonDocument, NestsAsDeepAsItIsAllowed) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_FALSE(parse_json(nested(json_depth_max)).has_error());
  EXPECT_TRUE(parse_json(nested(json_depth_max + 1)).has_error());
  EXPECT_TRUE(parse_json(nested(1'000'000)).has_error());
}

TEST(JsonDocument, LongNumbersAreReadInParts) {
  const std::string digits = "0." + std::string(5'000, '1');
  EXPECT_EQ(read_back(digits), std::strtod(digits.c_str(), nullptr));
  EXPECT_EQ(read_back("18446744073709551616"), 18446744073709551616.0);
}

}  // namespace
}  // namespace leat::wire
