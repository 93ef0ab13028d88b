// Appends JSON to a string: the part of writing answers that is on every hot path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace leat::wire {

// False when `bytes` is not well-formed UTF-8 (SQLite TEXT may be anything: HAZARDS 8).
bool is_utf8(std::string_view bytes);

// A JSON string. Bytes that are not UTF-8 become U+FFFD, one for each bad byte; callers that must not lose them check
// first.
void append_string(std::string& out, std::string_view text);
// The shortest text that reads back as the same double. Must be finite.
void append_double(std::string& out, double value);
void append_integer(std::string& out, std::int64_t value);
// RFC 4648 with padding, in quotes.
void append_base64(std::string& out, std::string_view bytes);
// The bytes of RFC 4648 text with padding; nullopt for anything else, stray bits included.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace leat::wire
