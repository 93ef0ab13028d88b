#include "master/fingerprint.h"

#include <openssl/sha.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "sqlclient/wire/json_text.h"

namespace leat::master {

namespace {

using Digest = std::array<std::uint8_t, SHA256_DIGEST_LENGTH>;

Digest sha256(std::string_view bytes) {
  Digest digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return digest;
}

void append_number(std::string& out, std::uint64_t number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  out.append(bytes, sizeof bytes);
}

void append_text(std::string& out, std::string_view text) {
  append_number(out, text.size());
  out += text;
}

void append_value(std::string& out, const Value& value) {
  out += static_cast<char>(value.index());
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    append_number(out, std::bit_cast<std::uint64_t>(*integer));
  if (const auto* real = std::get_if<double>(&value)) append_number(out, std::bit_cast<std::uint64_t>(*real));
  if (const auto* text = std::get_if<Text>(&value)) append_text(out, text->bytes);
  if (const auto* blob = std::get_if<Blob>(&value)) append_text(out, blob->bytes);
}

}  // namespace

Fingerprint fingerprint_of(std::string_view kind, const std::vector<wire::Statement>& statements) {
  std::string bytes;
  append_text(bytes, kind);
  for (const wire::Statement& statement : statements) {
    append_text(bytes, statement.sql);
    bytes += statement.wants_rows ? '\1' : '\0';
    append_number(bytes, statement.positional.size());
    for (const Value& value : statement.positional) append_value(bytes, value);
    append_number(bytes, statement.named.size());
    for (const auto& [name, value] : statement.named) {
      append_text(bytes, name);
      append_value(bytes, value);
    }
  }
  const Digest digest = sha256(bytes);
  Fingerprint fingerprint{};
  std::copy_n(digest.begin(), fingerprint.size(), fingerprint.begin());
  return fingerprint;
}

std::string migration_checksum(const std::vector<std::string>& statements) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string json = "[";
  for (std::size_t i = 0; i < statements.size(); ++i) {
    if (i > 0) json += ',';
    wire::append_string(json, statements[i]);
  }
  json += ']';
  std::string text;
  for (const std::uint8_t byte : sha256(json)) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 0xf];
  }
  return text;
}

}  // namespace leat::master
