#pragma once

#include <string_view>

namespace leat {

inline constexpr std::string_view kVersion = LEAT_VERSION;

}  // namespace leat
