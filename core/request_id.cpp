#include "core/request_id.h"

#include <algorithm>

namespace leat {

namespace {
constexpr std::string_view kPrefix = "rid1.";
constexpr std::size_t kDigits = 32;
}  // namespace

bool is_request_id(std::string_view text) {
  if (text.size() != kPrefix.size() + kDigits || !text.starts_with(kPrefix)) return false;
  const std::string_view digits = text.substr(kPrefix.size());
  return std::all_of(digits.begin(), digits.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string new_request_id(Random& random) { return std::string(kPrefix) + random.hex(kDigits / 2); }

}  // namespace leat
