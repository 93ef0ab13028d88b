#include "core/random.h"

#include <sys/random.h>

#include <stdexcept>
#include <vector>

namespace leat {

std::string Random::hex(std::size_t bytes_count) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::vector<std::uint8_t> bytes(bytes_count);
  fill(bytes);
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 0xf];
  }
  return text;
}

DatabaseId Random::uuid() {
  DatabaseId::Bytes bytes{};
  fill(bytes);
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3f) | 0x80);
  return DatabaseId(bytes);
}

namespace {

class SystemRandom final : public Random {
 public:
  void fill(std::span<std::uint8_t> bytes) override {
    while (!bytes.empty()) {
      const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
      if (got < 0) throw std::runtime_error("getrandom failed");
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
  }
};

}  // namespace

Random& system_random() {
  static SystemRandom random;
  return random;
}

void SeededRandom::fill(std::span<std::uint8_t> bytes) {
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(engine_());
}

}  // namespace leat
