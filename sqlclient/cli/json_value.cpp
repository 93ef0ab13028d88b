#include "sqlclient/cli/json_value.h"

#include <openssl/evp.h>

#include <charconv>
#include <cmath>
#include <limits>

namespace leat::cli {
namespace {

namespace json = boost::json;

std::string base64_encode(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

Result<std::string> base64_decode(std::string_view text) {
  std::string bytes(text.size() / 4 * 3 + 1, '\0');
  const int length =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (length < 0) return make_error(ErrorCode::kInternal, "the server sent a blob that is not base64");
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  bytes.resize(static_cast<std::size_t>(length) - padding);
  return bytes;
}

Result<Value> from_tagged(const json::object& tagged) {
  const json::value* tag = tagged.if_contains("$rindle");
  const json::value* content = tagged.if_contains("value");
  if (tag != nullptr && content != nullptr && tag->is_string() && content->is_string()) {
    const std::string_view kind = tag->as_string();
    const std::string_view text = content->as_string();
    if (kind == "i64") {
      std::int64_t integer = 0;
      const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), integer);
      if (failed == std::errc{} && end == text.data() + text.size()) return Value{integer};
    } else if (kind == "float") {
      const double infinity = std::numeric_limits<double>::infinity();
      if (text == "Infinity") return Value{infinity};
      if (text == "-Infinity") return Value{-infinity};
    } else if (kind == "blob") {
      LEAT_ASSIGN(std::string bytes, base64_decode(text));
      return Value{Blob{std::move(bytes)}};
    }
  }
  return make_error(ErrorCode::kInternal, "the server sent an unknown value: " + json::serialize(tagged));
}

}  // namespace

json::value to_tagged_json(const Value& value) {
  struct Visitor {
    json::value operator()(Null) const { return nullptr; }
    json::value operator()(std::int64_t integer) const {
      return json::object{{"$rindle", "i64"}, {"value", std::to_string(integer)}};
    }
    json::value operator()(double real) const {
      if (std::isinf(real)) return json::object{{"$rindle", "float"}, {"value", real > 0 ? "Infinity" : "-Infinity"}};
      return real;
    }
    json::value operator()(const Text& text) const { return json::string(text.bytes); }
    json::value operator()(const Blob& blob) const {
      return json::object{{"$rindle", "blob"}, {"value", base64_encode(blob.bytes)}};
    }
  };
  return std::visit(Visitor{}, value);
}

Result<Value> from_json(const json::value& json) {
  switch (json.kind()) {
    case json::kind::null:
      return Value{Null{}};
    case json::kind::bool_:
      return Value{std::int64_t{json.get_bool() ? 1 : 0}};
    case json::kind::int64:
      return Value{json.get_int64()};
    case json::kind::double_:
      return Value{json.get_double()};
    case json::kind::string:
      return Value{Text{std::string(json.get_string())}};
    case json::kind::object:
      return from_tagged(json.get_object());
    default:
      return make_error(ErrorCode::kInternal, "the server sent an unknown value: " + json::serialize(json));
  }
}

Result<json::value> to_plain_json(const Value& value) {
  if (std::holds_alternative<Blob>(value)) {
    return make_error(ErrorCode::kConfigInvalid, "a live query cannot compare with a blob");
  }
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return json::value(*integer);
  return to_tagged_json(value);
}

}  // namespace leat::cli
