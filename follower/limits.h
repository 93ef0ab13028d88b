// The bounds of the reading half.
#pragma once

#include <cstddef>
#include <cstdint>

namespace leat::follower {

inline constexpr int query_depth_max = 32;                             // conditions and subqueries within each other
inline constexpr std::size_t query_nodes_max = 2'000;                  // conditions and literals outside IN lists
inline constexpr std::size_t query_in_values_max = 10'000;             // all IN lists of one query together
inline constexpr std::int64_t query_limit_max = 100'000;               // rows of a window
inline constexpr std::size_t query_rows_max = 100'000;                 // rows of one snapshot or /query answer
inline constexpr std::size_t subscription_queue_bytes_max = 8u << 20;  // unsent frames of one connection
inline constexpr std::size_t subscriptions_per_connection_max = 10'000;
inline constexpr std::size_t leases_max = 1'000'000;
inline constexpr std::int64_t lease_ttl_ms_default = 60'000;
inline constexpr std::int64_t lease_ttl_ms_max = 24 * 3'600 * 1'000;
inline constexpr std::int64_t idle_ttl_ms_default = 15'000;  // an unused materialisation lives this long
inline constexpr std::int64_t table_wait_ms = 5'000;         // /materialize of a table that is not here yet
inline constexpr std::int64_t feed_wait_ms = 5'000;          // from a visible commit to its block in the feed
inline constexpr std::int64_t retry_after_ms = 250;

}  // namespace leat::follower
