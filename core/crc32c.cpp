#include "core/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace leat {

namespace {

using Table = std::array<std::array<std::uint32_t, 256>, 8>;

// Slicing by eight: table k advances a byte's contribution over k further bytes.
constexpr Table make_table() {
  constexpr std::uint32_t kReversedPolynomial = 0x82f63b78;
  Table table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kReversedPolynomial : 0);
    table[0][byte] = crc;
  }
  for (std::size_t slice = 1; slice < 8; ++slice) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t crc = table[slice - 1][byte];
      table[slice][byte] = (crc >> 8) ^ table[0][crc & 0xff];
    }
  }
  return table;
}

constexpr Table kTable = make_table();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse42(Bytes bytes, std::uint32_t previous) {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t crc = ~previous;
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    crc = _mm_crc32_u64(crc, word);
  }
  auto tail = static_cast<std::uint32_t>(crc);
  for (; left > 0; ++at, --left) tail = _mm_crc32_u8(tail, static_cast<unsigned char>(*at));
  return ~tail;
}
#endif

}  // namespace

std::uint32_t crc32c_portable(Bytes bytes, std::uint32_t previous) {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint32_t crc = ~previous;
  const auto byte_at = [&](std::size_t i) { return static_cast<std::uint32_t>(at[i]); };
  for (; left >= 8; at += 8, left -= 8) {
    crc ^= byte_at(0) | (byte_at(1) << 8) | (byte_at(2) << 16) | (byte_at(3) << 24);
    crc = kTable[7][crc & 0xff] ^ kTable[6][(crc >> 8) & 0xff] ^ kTable[5][(crc >> 16) & 0xff] ^ kTable[4][crc >> 24] ^
          kTable[3][byte_at(4)] ^ kTable[2][byte_at(5)] ^ kTable[1][byte_at(6)] ^ kTable[0][byte_at(7)];
  }
  for (; left > 0; ++at, --left) crc = (crc >> 8) ^ kTable[0][(crc ^ static_cast<std::uint32_t>(*at)) & 0xff];
  return ~crc;
}

std::uint32_t crc32c(Bytes bytes, std::uint32_t previous) {
#if defined(__x86_64__)
  static const bool has_sse42 = __builtin_cpu_supports("sse4.2") != 0;
  if (has_sse42) return crc32c_sse42(bytes, previous);
#endif
  return crc32c_portable(bytes, previous);
}

}  // namespace leat
