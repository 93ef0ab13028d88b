#include "master/ledger_rules.h"

#include <gtest/gtest.h>

#include <vector>

#include "master/limits.h"

namespace leat::master {
namespace {

const std::string kId = "00112233445566778899aabbccddeeff";

template <class T>
std::string outcome(const Result<T>& result) {
  if (result.has_error()) return std::string(to_text(result.error().code));
  if constexpr (std::is_same_v<T, Verdict>) return *result == Verdict::kApply ? "apply" : "absorb";
  return "ok";
}

TEST(IdempotencyKey, ReadsBackAsItWas) {
  const std::string text = "sql1.0000000000007." + kId;
  const auto key = IdempotencyKey::parse(text).value();
  EXPECT_EQ(key.made_ms, 7);
  EXPECT_EQ(key.id[15], 0xff);
  EXPECT_EQ(key.to_text(), text);
}

TEST(IdempotencyKey, HasExactlyOneForm) {
  for (const std::string& bad : std::vector<std::string>{
           std::string(), std::string("sql1."), "sql2.1800000000000." + kId, "SQL1.1800000000000." + kId,
           "sql1.180000000000." + kId, "sql1.18000000000000." + kId, "sql1.18000000000x0." + kId,
           "sql1.-800000000000." + kId, "sql1.+800000000000." + kId, "sql1. 800000000000." + kId,
           "sql1.1800000000000-" + kId, "sql1.1800000000000." + kId.substr(1), "sql1.1800000000000." + kId + "0",
           "sql1.1800000000000.00112233445566778899AABBCCDDEEFF", "sql1.1800000000000.g0112233445566778899aabbccddeeff",
           "sql1.1800000000000." + kId + "\n"}) {
    EXPECT_EQ(outcome(IdempotencyKey::parse(bad)), "IDEMPOTENCY_KEY_INVALID") << bad;
  }
}

TEST(LedgerRules, AKeyIsAdmittedFromTheFloorUntilALittleAheadOfTheClock) {
  constexpr std::int64_t now = 1'800'000'000'000;
  const struct {
    std::int64_t made_ms;
    std::int64_t floor_ms;
    const char* expected;
  } kCases[] = {
      {now, 0, "ok"},
      {now + key_ahead_ms_max, 0, "ok"},
      {now + key_ahead_ms_max + 1, 0, "IDEMPOTENCY_KEY_INVALID"},
      {now - outcome_kept_ms, 0, "ok"},
      {now - outcome_kept_ms - 1, 0, "OPERATION_OUTCOME_EXPIRED"},
      {0, 0, "OPERATION_OUTCOME_EXPIRED"},
      {now - 10, now - 10, "ok"},
      {now - 11, now - 10, "OPERATION_OUTCOME_EXPIRED"},
      {now, now + 1, "OPERATION_OUTCOME_EXPIRED"},
  };
  for (const auto& each : kCases) {
    IdempotencyKey key;
    key.made_ms = each.made_ms;
    EXPECT_EQ(outcome(admit_key(key, UnixMs{now}, each.floor_ms)), each.expected) << each.made_ms - now;
  }
}

TEST(LedgerRules, AnotherRequestUnderAKeyIsAMismatch) {
  const Fingerprint one{1};
  const Fingerprint other{2};
  EXPECT_EQ(outcome(judge_outcome({}, one, one)), "absorb");
  EXPECT_EQ(outcome(judge_outcome({}, one, other)), "OPERATION_ID_MISMATCH");
}

TEST(LedgerRules, NumbersAreAbsorbedAppliedOrAGap) {
  constexpr std::int64_t most = 9'007'199'254'740'991;
  const struct {
    std::optional<std::int64_t> last;
    std::int64_t asked;
    const char* expected;
  } kCases[] = {
      {std::nullopt, 1, "apply"}, {std::nullopt, 2, "SEQUENCE_GAP"},
      {1, 1, "absorb"},           {1, 2, "apply"},
      {1, 3, "SEQUENCE_GAP"},     {5, 1, "absorb"},
      {5, 5, "absorb"},           {most - 1, most, "apply"},
      {most, most, "absorb"},     {0, most, "SEQUENCE_GAP"},
  };
  for (const auto& each : kCases) {
    const auto last = each.last ? std::optional<Seq>(Seq{*each.last}) : std::nullopt;
    EXPECT_EQ(outcome(judge_producer(ProducerId("p"), last, Seq{each.asked})), each.expected) << each.asked;
    const auto last_mid = each.last ? std::optional<Mid>(Mid{*each.last}) : std::nullopt;
    EXPECT_EQ(outcome(judge_mutation(ClientId("c"), last_mid, Mid{each.asked})), each.expected) << each.asked;
  }
  EXPECT_EQ(judge_producer(ProducerId("p"), Seq{4}, Seq{9}).error().message,
            "producer gap for \"p\": expected seq 5, got 9");
}

}  // namespace
}  // namespace leat::master
