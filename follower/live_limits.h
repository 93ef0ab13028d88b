// The bounds of the reading half. Every bound here has a test that crosses it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace leat::follower {

inline constexpr int kQueryDepthMax = 32;                            // conditions and subqueries within each other
inline constexpr std::size_t kQueryNodesMax = 2'000;                 // conditions and literals outside IN lists
inline constexpr std::size_t kQueryInValuesMax = 10'000;             // all IN lists of one query together
inline constexpr std::int64_t kQueryLimitMax = 100'000;              // rows of a window
inline constexpr std::size_t kQueryRowsMax = 100'000;                // rows of one snapshot or /query answer
inline constexpr std::size_t kSubscriptionQueueBytesMax = 8u << 20;  // unsent frames of one connection
inline constexpr std::size_t kSubscriptionsPerConnectionMax = 10'000;
inline constexpr std::size_t kLeasesMax = 1'000'000;
inline constexpr std::int64_t kLeaseTtlDefaultMs = 60'000;
inline constexpr std::int64_t kLeaseTtlMaxMs = 24 * 3'600 * 1'000;
inline constexpr std::int64_t kIdleTtlDefaultMs = 15'000;  // an unused materialisation lives this long
inline constexpr std::int64_t kTableWaitMs = 5'000;        // /materialize of a table that is not here yet
inline constexpr std::int64_t kFeedWaitMs = 5'000;         // from a visible commit to its block in the feed
inline constexpr std::int64_t kRetryAfterMs = 250;

}  // namespace leat::follower
