// The bounds of the change log.
#pragma once

#include <cstddef>
#include <cstdint>

namespace leat::changelog {

// The decoded payload of one block. Protobuf and lz4 end at 2 GiB, and a reader needs several times this in memory, so
// it stays far below (HAZARDS 5).
inline constexpr std::size_t block_bytes_max = std::size_t{256} << 20;
// Payloads shorter than this are stored as they are: compressing them costs more time than it saves bytes.
inline constexpr std::size_t block_compress_bytes_min = 128;

inline constexpr std::uint64_t segment_bytes_min = std::uint64_t{4} << 10;
// Segments that retention has freed and that wait to be used again.
inline constexpr std::size_t spare_segments_max = 2;

}  // namespace leat::changelog
