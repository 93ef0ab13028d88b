#include "core/ids.h"

namespace leat {

namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

std::optional<std::uint8_t> hex_digit(char c) {
  const auto at = kDigits.find(c);
  if (at == std::string_view::npos) return std::nullopt;
  return static_cast<std::uint8_t>(at);
}

}  // namespace

std::string Cursor::to_text() const {
  std::string text = "w:0000000000000000";
  std::uint64_t rest = value_;
  for (std::size_t at = text.size() - 1; at >= 2; --at, rest >>= 4) text[at] = kDigits[rest & 0xf];
  return text;
}

std::optional<Cursor> Cursor::parse(std::string_view text) {
  if (text.size() != 18 || !text.starts_with("w:")) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text.substr(2)) {
    const auto digit = hex_digit(c);
    if (!digit) return std::nullopt;
    value = (value << 4) | *digit;
  }
  return Cursor(value);
}

std::string DatabaseId::to_text() const {
  std::string text;
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[bytes_[i] >> 4];
    text += kDigits[bytes_[i] & 0xf];
  }
  return text;
}

std::optional<DatabaseId> DatabaseId::parse(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  Bytes bytes{};
  std::size_t at = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) {
      if (text[at++] != '-') return std::nullopt;
    }
    const auto high = hex_digit(text[at++]);
    const auto low = hex_digit(text[at++]);
    if (!high || !low) return std::nullopt;
    bytes[i] = static_cast<std::uint8_t>((*high << 4) | *low);
  }
  return DatabaseId(bytes);
}

}  // namespace leat
