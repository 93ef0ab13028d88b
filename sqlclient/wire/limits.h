// Bounds on what one request may carry, beside those of core/limits.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace leat::wire {

constexpr std::size_t statements_max = 10'000;     // of one request
constexpr std::size_t identity_bytes_max = 1'024;  // of a client, producer or migration id and a control key
constexpr std::int64_t safe_integer_max = 9'007'199'254'740'991;  // 2^53 - 1: what a JSON number carries exactly

}  // namespace leat::wire
