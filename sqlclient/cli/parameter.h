// Values and conditions as a person types them.
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"
#include "core/value.h"

namespace leat::cli {

// `null`, an integer, a number, `'text'` (quotes doubled inside), `x'ff00'` (a blob); anything else is text as it
// stands.
Value parse_parameter(std::string_view text);

struct Condition {
  std::string column;
  std::string op;  // = != < <= > >=, or IS and IS NOT before NULL
  Value value;
};
// `column=value`, with any of = != < <= > >=. Errors: kConfigInvalid.
Result<Condition> parse_condition(std::string_view text);

// For people: text is cleaned of control characters, NULL and blobs look as parse_parameter takes them.
std::string to_display(const Value& value);
// The same with text in quotes where it could be mistaken for something else, as in `id=7 title='a b'`.
std::string to_display_quoted(const Value& value);

}  // namespace leat::cli
