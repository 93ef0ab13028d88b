// Bounds of core.
#pragma once

#include <cstddef>

namespace leat {

inline constexpr std::size_t sql_bytes_max = 1u << 20;           // the text of one statement
inline constexpr int bound_values_max = 32'000;                  // parameters of one statement
inline constexpr std::size_t value_bytes_max = 64u << 20;        // one value, and one row as stored
inline constexpr std::size_t statement_cache_entries_max = 256;  // per connection
inline constexpr int progress_operations = 1'000;  // virtual-machine steps between two looks at the deadline

inline constexpr std::size_t reader_threads_min = 4;
inline constexpr std::size_t reader_threads_max = 16;
inline constexpr std::size_t reader_queue_max = 4'096;  // reads that wait for a reader
inline constexpr int reader_idle_ms_max = 60'000;       // a reader that has nothing to do is closed after this long

}  // namespace leat
