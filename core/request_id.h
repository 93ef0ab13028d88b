// The id that names one request through follower, master and logs (WIRE "Servers and tokens").
#pragma once

#include <string>
#include <string_view>

#include "core/random.h"

namespace leat {

// True for exactly `rid1.` and 32 lowercase hex digits.
bool is_request_id(std::string_view text);

std::string new_request_id(Random& random);

}  // namespace leat
