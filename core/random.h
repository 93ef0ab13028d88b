// The randomness seam.
#pragma once

#include <cstddef>
#include <random>
#include <span>
#include <string>

#include "core/ids.h"

namespace leat {

class Random {
 public:
  virtual ~Random() = default;
  virtual void fill(std::span<std::uint8_t> bytes) = 0;

  std::string hex(std::size_t bytes_count);  // lowercase, two digits a byte
  DatabaseId uuid();                         // version 4
};

// The kernel's generator: unguessable. Any thread.
Random& system_random();

// Repeatable, for tests. One thread.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : engine_(seed) {}
  void fill(std::span<std::uint8_t> bytes) override;

 private:
  std::mt19937_64 engine_;
};

}  // namespace leat
