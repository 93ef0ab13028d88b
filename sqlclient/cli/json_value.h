// Values as JSON, both ways, on both planes. For .cpp files only: it brings Boost.JSON with it.
#pragma once

#include <boost/json.hpp>

#include "core/error.h"
#include "core/value.h"

namespace leat::cli {

// The public SQL plane: integers and blobs are tagged.
boost::json::value to_tagged_json(const Value& value);
// Also takes plain cells, as the live plane sends them. Errors: kInternal for a value that is neither.
Result<Value> from_json(const boost::json::value& json);
// A literal of a query tree: plain cells. Errors: kConfigInvalid for a blob.
Result<boost::json::value> to_plain_json(const Value& value);

}  // namespace leat::cli
