#include "core/crc32c.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace leat {
namespace {

Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

TEST(Crc32c, MatchesThePublishedVectors) {
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xe3069283u);
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\0'))), 0x8a9136aau);
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\xff'))), 0x62a8ab43u);
  EXPECT_EQ(crc32c({}), 0u);
}

TEST(Crc32c, PortableAndInstructionAgreeAtEveryLengthAndSplit) {
  std::mt19937 random(1);
  std::string text(100, '\0');
  for (char& c : text) c = static_cast<char>(random());
  for (std::size_t length = 0; length <= text.size(); ++length) {
    const Bytes all = bytes_of(text).first(length);
    const std::uint32_t expected = crc32c_portable(all);
    EXPECT_EQ(crc32c(all), expected);
    const std::size_t split = length / 3;
    EXPECT_EQ(crc32c(all.subspan(split), crc32c(all.first(split))), expected);
    EXPECT_EQ(crc32c_portable(all.subspan(split), crc32c_portable(all.first(split))), expected);
  }
}

}  // namespace
}  // namespace leat
