#include "sqlclient/wire/json_values.h"

#include <array>
#include <charconv>
#include <limits>

#include "sqlclient/wire/json_text.h"

namespace leat::wire {

namespace json = boost::json;

namespace {

Error invalid(std::string message) { return make_error(ErrorCode::kStatementInvalid, std::move(message)); }

std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

std::string_view view(const json::string& text) { return {text.data(), text.size()}; }

std::optional<std::int64_t> parse_canonical_integer(std::string_view text, bool& canonical) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  std::array<char, 24> again{};
  const auto written = std::to_chars(again.data(), again.data() + again.size(), value).ptr;
  canonical = std::string_view(again.data(), static_cast<std::size_t>(written - again.data())) == text;
  return value;
}

Result<Value> parse_tagged(const json::object& object, bool blobs) {
  const auto* tag = object.if_contains("$rindle");
  const auto* value = object.if_contains("value");
  if (object.size() != 2 || tag == nullptr || value == nullptr || !tag->is_string() || !value->is_string()) {
    return invalid("invalid tagged SQL value");
  }
  const std::string_view kind = view(tag->get_string());
  const std::string_view text = view(value->get_string());
  if (kind == "i64") {
    bool canonical = false;
    const auto number = parse_canonical_integer(text, canonical);
    if (!number) return invalid("invalid tagged i64 decimal string " + quoted(text));
    if (!canonical) return invalid("tagged i64 must use canonical decimal spelling, got " + quoted(text));
    return Value(*number);
  }
  if (kind == "float") {
    if (text == "Infinity") return Value(std::numeric_limits<double>::infinity());
    if (text == "-Infinity") return Value(-std::numeric_limits<double>::infinity());
    return invalid("tagged float must be Infinity or -Infinity, got " + quoted(text));
  }
  if (kind == "blob") {
    if (!blobs) {
      return make_error(ErrorCode::kValueUnsupported,
                        "BLOB values are unsupported by the v1 SQL client; send the header Leat-Values: blob");
    }
    auto bytes = decode_base64(text);
    if (!bytes) return invalid("tagged blob must be base64 with padding");
    return Value(Blob{std::move(*bytes)});
  }
  return invalid("invalid tagged SQL value");
}

}  // namespace

Result<Value> parse_public_value(const json::value& value, bool blobs) {
  switch (value.kind()) {
    case json::kind::null:
      return Value(Null{});
    case json::kind::int64:
      return Value(static_cast<double>(value.get_int64()));
    case json::kind::uint64:
      return Value(static_cast<double>(value.get_uint64()));
    case json::kind::double_:
      return Value(value.get_double());
    case json::kind::string:
      return Value(Text{std::string(view(value.get_string()))});
    case json::kind::bool_:
      return invalid("raw JSON booleans are not SQL wire values; encode boolean convenience values as tagged i64");
    case json::kind::array:
      return make_error(ErrorCode::kValueUnsupported, "array/BLOB values are unsupported by the v1 SQL client");
    case json::kind::object:
      return parse_tagged(value.get_object(), blobs);
  }
  return invalid("invalid tagged SQL value");
}

Result<Value> parse_control_value(const json::value& value, bool /*blobs*/) {
  switch (value.kind()) {
    case json::kind::null:
      return Value(Null{});
    case json::kind::int64:
      return Value(value.get_int64());
    case json::kind::uint64:
      return Value(static_cast<double>(value.get_uint64()));
    case json::kind::double_:
      return Value(value.get_double());
    case json::kind::string:
      return Value(Text{std::string(view(value.get_string()))});
    case json::kind::bool_:
      return Value(std::int64_t{value.get_bool() ? 1 : 0});
    default:
      return make_error(ErrorCode::kValueUnsupported,
                        "params take null, booleans, numbers and strings; send JSON as its text");
  }
}

}  // namespace leat::wire
