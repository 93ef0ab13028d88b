// Reading JSON with numbers that are exact: Boost.JSON 1.81 reads about one double in ten a bit off, and a value that a
// client sends is stored bit for bit.
#pragma once

#include <boost/json/storage_ptr.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <string_view>

#include "core/error.h"

namespace leat::wire {

constexpr std::size_t json_depth_max = 32;

// The whole of `text`, in `storage`. Error: kJsonInvalid for what is no JSON, is nested deeper than `depth_max`, or
// holds a number that no double can (1e999).
Result<boost::json::value> parse_json(std::string_view text, boost::json::storage_ptr storage = {},
                                      std::size_t depth_max = json_depth_max);

}  // namespace leat::wire
