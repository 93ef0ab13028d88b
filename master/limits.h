// Bounds of the write-master. The ones a configuration may change are defaults here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace leat::master {

constexpr std::size_t group_writes_max = 1'024;      // of one group commit
constexpr std::size_t group_bytes_max = 8u << 20;    // captured by one group commit
constexpr std::size_t queue_writes_max = 16'384;     // waiting for the writer; beyond it: 503 QUEUE_FULL
constexpr std::size_t queue_bytes_max = 256u << 20;  // of request bodies waiting for the writer
constexpr std::int64_t statement_write_ms_max = 4'000;
constexpr std::int64_t statement_read_ms_max = 1'000;
constexpr std::int64_t outcome_kept_ms = 24LL * 60 * 60 * 1000;
constexpr std::int64_t key_ahead_ms_max = 300'000;  // how far a key's time may be ahead of the server's clock
constexpr std::size_t sweep_rows_max = 2'000;       // outcomes removed by one sweep
constexpr std::int64_t sweep_interval_ms = 5'000;
constexpr std::uint64_t disk_reserve_bytes_default = 16u << 20;
constexpr std::size_t script_statements_max = 1'000;
constexpr std::size_t classified_statements_max = 4'096;

}  // namespace leat::master
