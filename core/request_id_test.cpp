#include "core/request_id.h"

#include <gtest/gtest.h>

namespace leat {
namespace {

TEST(RequestId, IsThePrefixAnd32LowercaseHexDigits) {
  EXPECT_TRUE(is_request_id("rid1.0123456789abcdef0123456789abcdef"));
  EXPECT_FALSE(is_request_id(""));
  EXPECT_FALSE(is_request_id("rid1."));
  EXPECT_FALSE(is_request_id("rid2.0123456789abcdef0123456789abcdef"));
  EXPECT_FALSE(is_request_id("rid1.0123456789ABCDEF0123456789abcdef"));
  EXPECT_FALSE(is_request_id("rid1.0123456789abcdef0123456789abcde"));
  EXPECT_FALSE(is_request_id("rid1.0123456789abcdef0123456789abcdef0"));
  EXPECT_FALSE(is_request_id("rid1.0123456789abcdef0123456789abcdeg"));
}

TEST(RequestId, ANewOneIsValidAndDiffersFromTheNext) {
  SeededRandom random(1);
  const std::string first = new_request_id(random);
  EXPECT_TRUE(is_request_id(first));
  EXPECT_NE(first, new_request_id(random));
}

}  // namespace
}  // namespace leat
