// Values as requests carry them in JSON (WIRE: "Values on the public SQL plane"). Inside of the wire codec only: it
// shows Boost.JSON.
#pragma once

#include <boost/json/value.hpp>

#include "core/error.h"
#include "core/value.h"

namespace leat::wire {

// The public plane's: integers come tagged, a plain number binds as REAL. Errors: kStatementInvalid for what is
// malformed, kValueUnsupported for an array, and for a blob unless `blobs`.
Result<Value> parse_public_value(const boost::json::value& value, bool blobs);

// The control plane's plain cells: a number without a fraction binds as INTEGER, a boolean as 0 or 1. There are no
// blobs, whatever `blobs` says. Error: kValueUnsupported for arrays and objects.
Result<Value> parse_control_value(const boost::json::value& value, bool blobs);

}  // namespace leat::wire
