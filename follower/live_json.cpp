#include "follower/live_json.h"

#include <cmath>

#include "sqlclient/wire/json_text.h"

namespace leat::follower {

void append_json_cell(std::string& out, const Value& value) {
  struct Visitor {
    std::string& out;
    void operator()(Null) const { out += "null"; }
    void operator()(std::int64_t integer) const { out += std::to_string(integer); }
    void operator()(double real) const {
      if (!std::isfinite(real)) {
        out += "null";
        return;
      }
      wire::append_double(out, real);
    }
    void operator()(const Text& text) const { wire::append_string(out, text.bytes); }
    void operator()(const Blob& blob) const { wire::append_base64(out, blob.bytes); }
  };
  std::visit(Visitor{out}, value);
}

void append_json_cell(std::string& out, const Value& value, LiveType type) {
  if (const auto* integer = std::get_if<std::int64_t>(&value); integer != nullptr && type == LiveType::kBoolean) {
    out += *integer != 0 ? "true" : "false";
    return;
  }
  append_json_cell(out, value);
}

void append_json_row(std::string& out, const TableQuery& query, const Row& shipped) {
  out += '[';
  for (std::size_t i = 0; i < shipped.size(); ++i) {
    if (i > 0) out += ',';
    append_json_cell(out, shipped[i], query.types[static_cast<std::size_t>(query.shipped[i])]);
  }
  out += ']';
}

}  // namespace leat::follower
