// The fixed header of a block as bytes (ops/docs/changelog-format.md). Little-endian.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "core/file.h"

namespace leat::changelog {

static_assert(std::endian::native == std::endian::little, "the log's numbers are little-endian");

template <class T>
T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void store(char* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

inline Bytes as_bytes(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

namespace block_layout {

inline constexpr std::uint32_t kMagic = 0x4b4c424c;  // "LBLK"
inline constexpr std::uint16_t kVersion = 1;
inline constexpr std::uint8_t kCodecStored = 0;
inline constexpr std::uint8_t kCodecLz4 = 1;

inline constexpr std::size_t kMagicAt = 0;
inline constexpr std::size_t kChecksumAt = 4;
inline constexpr std::size_t kCheckedFrom = 8;  // the checksum covers the block from here to its end
inline constexpr std::size_t kVersionAt = 8;
inline constexpr std::size_t kCodecAt = 10;
inline constexpr std::size_t kReservedAt = 11;  // one byte, zero
inline constexpr std::size_t kPayloadBytesAt = 12;
inline constexpr std::size_t kFirstAt = 16;
inline constexpr std::size_t kLastAt = 24;
inline constexpr std::size_t kCommitTimeAt = 32;
inline constexpr std::size_t kRawBytesAt = 40;
inline constexpr std::size_t kEpochAt = 44;      // two bytes; the same as the cursors' top 16 bits
inline constexpr std::size_t kReserved2At = 46;  // two bytes, zero
inline constexpr std::size_t kHeaderBytes = 48;

}  // namespace block_layout

}  // namespace leat::changelog
