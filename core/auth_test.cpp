#include "core/auth.h"

#include <gtest/gtest.h>

namespace leat {
namespace {

constexpr Plane kGuarded[] = {Plane::kPublicSql, Plane::kControl, Plane::kReads};

TEST(Auth, BearerTokenIsTheTextAfterTheScheme) {
  EXPECT_EQ(bearer_token("Bearer abc"), "abc");
  EXPECT_EQ(bearer_token("bearer  abc "), "abc");
  EXPECT_EQ(bearer_token("Basic abc"), std::nullopt);
  EXPECT_EQ(bearer_token("Bearer"), std::nullopt);
  EXPECT_EQ(bearer_token("Bearer  "), std::nullopt);
  EXPECT_EQ(bearer_token(""), std::nullopt);
}

TEST(Auth, ComparesWholeTexts) {
  EXPECT_TRUE(equal_in_constant_time("token", "token"));
  EXPECT_FALSE(equal_in_constant_time("token", "tokem"));
  EXPECT_FALSE(equal_in_constant_time("token", "token2"));
  EXPECT_FALSE(equal_in_constant_time("", "x"));
}

TEST(Auth, WithoutTokensEverythingIsOpen) {
  const AccessRules rules = AccessRules::make("", "").value();
  for (const Plane plane : kGuarded) EXPECT_TRUE(rules.allows(plane, ""));
}

TEST(Auth, TheAuthTokenOpensEverything) {
  const AccessRules rules = AccessRules::make("root", "app").value();
  for (const Plane plane : kGuarded) {
    EXPECT_TRUE(rules.allows(plane, "Bearer root"));
    EXPECT_FALSE(rules.allows(plane, "Bearer wrong"));
    EXPECT_FALSE(rules.allows(plane, ""));
    EXPECT_FALSE(rules.allows(plane, "Bearer "));
  }
  EXPECT_TRUE(rules.allows(Plane::kOpen, ""));
  EXPECT_TRUE(rules.allows(Plane::kOpen, "Bearer wrong"));
}

TEST(Auth, TheSqlTokenOpensSqlAndReadsButNotAGuardedControlPlane) {
  const AccessRules rules = AccessRules::make("root", "app").value();
  EXPECT_TRUE(rules.allows(Plane::kPublicSql, "Bearer app"));
  EXPECT_TRUE(rules.allows(Plane::kReads, "Bearer app"));
  EXPECT_FALSE(rules.allows(Plane::kControl, "Bearer app"));
}

TEST(Auth, WithOnlyTheSqlTokenTheControlPlaneIsOpenButAWrongTokenIsRefused) {
  const AccessRules rules = AccessRules::make("", "app").value();
  EXPECT_TRUE(rules.allows(Plane::kControl, ""));
  EXPECT_TRUE(rules.allows(Plane::kControl, "Bearer app"));
  EXPECT_FALSE(rules.allows(Plane::kControl, "Bearer wrong"));
  EXPECT_FALSE(rules.allows(Plane::kControl, "Bearer "));
  EXPECT_FALSE(rules.allows(Plane::kPublicSql, ""));
  EXPECT_FALSE(rules.allows(Plane::kReads, ""));
}

TEST(Auth, TheTwoTokensMustDiffer) {
  const auto rules = AccessRules::make("same", "same");
  ASSERT_TRUE(rules.has_error());
  EXPECT_EQ(rules.error().code, ErrorCode::kConfigInvalid);
}

TEST(Auth, OnlyLoopbackMayBeOpen) {
  const AccessRules open = AccessRules::make("", "").value();
  const AccessRules sql_only = AccessRules::make("", "app").value();
  const AccessRules guarded = AccessRules::make("root", "").value();
  for (const char* address : {"127.0.0.1", "127.1.2.3", "::1", "localhost"}) {
    EXPECT_TRUE(open.check_bind_address(address).has_value()) << address;
  }
  for (const char* address : {"0.0.0.0", "::", "10.0.0.1", "example.org", ""}) {
    EXPECT_TRUE(open.check_bind_address(address).has_error()) << address;
    EXPECT_TRUE(sql_only.check_bind_address(address).has_error()) << address;
    EXPECT_TRUE(guarded.check_bind_address(address).has_value()) << address;
  }
}

}  // namespace
}  // namespace leat
