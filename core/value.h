// A value as SQLite stores it: one of five types, bit for bit.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace leat {

struct Null {
  friend bool operator==(Null, Null) = default;
};
// Bytes SQLite calls TEXT. Almost always UTF-8, but SQLite does not promise it (HAZARDS 8); may hold NUL.
struct Text {
  std::string bytes;
  friend bool operator==(const Text&, const Text&) = default;
};
struct Blob {
  std::string bytes;
  friend bool operator==(const Blob&, const Blob&) = default;
};

// Equality is of type and bits: integer 1 and real 1.0 differ. SQLite never stores NaN.
using Value = std::variant<Null, std::int64_t, double, Text, Blob>;
using Row = std::vector<Value>;

inline bool is_null(const Value& value) { return std::holds_alternative<Null>(value); }

}  // namespace leat
