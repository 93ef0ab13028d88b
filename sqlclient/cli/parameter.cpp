#include "sqlclient/cli/parameter.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace leat::cli {
namespace {

template <class Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, number);
  if (failed != std::errc{} || stop != end) return std::nullopt;
  return number;
}

std::optional<std::string> parse_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    unsigned byte = 0;
    const char* end = digits.data() + i + 2;
    const auto [stop, failed] = std::from_chars(digits.data() + i, end, byte, 16);
    if (failed != std::errc{} || stop != end) return std::nullopt;
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

// The inside of 'text', with '' for one quote; nullopt if it is not one literal.
std::optional<std::string> parse_quoted(std::string_view text) {
  if (text.size() < 2 || text.front() != '\'' || text.back() != '\'') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::string inside;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\'') {
      if (i + 1 == text.size() || text[i + 1] != '\'') return std::nullopt;
      ++i;
    }
    inside += text[i];
  }
  return inside;
}

std::string clean(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string cleaned;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      cleaned += "\\n";
    } else if (c == '\t') {
      cleaned += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      cleaned += "\\x";
      cleaned += kHex[byte >> 4];
      cleaned += kHex[byte & 0xf];
    } else {
      cleaned += c;
    }
  }
  return cleaned;
}

std::string quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') quoted += '\'';
    quoted += c;
  }
  return quoted + "'";
}

std::string hex_literal(std::string_view bytes) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string literal = "x'";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    literal += kHex[byte >> 4];
    literal += kHex[byte & 0xf];
  }
  return literal + "'";
}

std::string number_text(double number) {
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  std::array<char, 32> buffer{};
  const auto [end, failed] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  std::string text(buffer.data(), failed == std::errc{} ? end : buffer.data());
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

Value parse_parameter(std::string_view text) {
  if (text == "null" || text == "NULL") return Null{};
  if (const auto integer = parse_whole<std::int64_t>(text)) return *integer;
  // from_chars knows "inf" and "nan" too, which a person means as text.
  const bool may_be_number = text.find_first_of("0123456789") != std::string_view::npos;
  if (const auto real = parse_whole<double>(text); may_be_number && real) return *real;
  if (auto inside = parse_quoted(text)) return Text{std::move(*inside)};
  if (text.size() >= 3 && (text[0] == 'x' || text[0] == 'X') && text[1] == '\'' && text.back() == '\'') {
    if (auto bytes = parse_hex(text.substr(2, text.size() - 3))) return Blob{std::move(*bytes)};
  }
  return Text{std::string(text)};
}

Result<Condition> parse_condition(std::string_view text) {
  const std::size_t at = text.find_first_of("=!<>");
  if (at != std::string_view::npos && at > 0) {
    for (const std::string_view op : {"!=", "<=", ">=", "=", "<", ">"}) {
      if (!text.substr(at).starts_with(op)) continue;
      Condition condition{std::string(text.substr(0, at)), std::string(op),
                          parse_parameter(text.substr(at + op.size()))};
      if (is_null(condition.value)) {
        if (op != "=" && op != "!=") break;
        condition.op = op == "=" ? "IS" : "IS NOT";
      }
      return condition;
    }
  }
  return make_error(ErrorCode::kConfigInvalid,
                    "not a condition like column=value (or != < <= > >=): " + std::string(text));
}

std::string to_display(const Value& value) {
  struct Visitor {
    std::string operator()(Null) const { return "NULL"; }
    std::string operator()(std::int64_t integer) const { return std::to_string(integer); }
    std::string operator()(double real) const { return number_text(real); }
    std::string operator()(const Text& text) const { return clean(text.bytes); }
    std::string operator()(const Blob& blob) const { return hex_literal(blob.bytes); }
  };
  return std::visit(Visitor{}, value);
}

std::string to_display_quoted(const Value& value) {
  std::string display = to_display(value);
  const auto* text = std::get_if<Text>(&value);
  if (text == nullptr) return display;
  const bool is_plain =
      !display.empty() && display.find_first_of(" ='\"") == std::string::npos && parse_parameter(display) == value;
  return is_plain ? display : quote(display);
}

}  // namespace leat::cli
