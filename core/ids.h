// Strong types for the things Leat counts and names; mixing them does not compile.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace leat {

// Which mastership wrote a part of the log; grows at each promotion. 1 is the first.
struct Epoch {
  std::uint16_t value = 0;
  friend auto operator<=>(Epoch, Epoch) = default;
};

// A committed write's place in the log: the epoch in the top 16 bits, then a sequence number without
// gaps in one epoch. Zero is "before the first write". Text form: `w:` and 16 lowercase hex digits.
class Cursor {
 public:
  constexpr Cursor() = default;
  constexpr explicit Cursor(std::uint64_t value) : value_(value) {}
  constexpr Cursor(Epoch epoch, std::uint64_t sequence)
      : value_((std::uint64_t{epoch.value} << kSequenceBits) | sequence) {}

  constexpr std::uint64_t value() const { return value_; }
  constexpr Epoch epoch() const { return Epoch{static_cast<std::uint16_t>(value_ >> kSequenceBits)}; }
  constexpr std::uint64_t sequence() const { return value_ & kSequenceMask; }
  constexpr Cursor next() const { return Cursor(value_ + 1); }

  std::string to_text() const;
  // Empty unless `text` is exactly the text form.
  static std::optional<Cursor> parse(std::string_view text);

  friend auto operator<=>(Cursor, Cursor) = default;

 private:
  static constexpr int kSequenceBits = 48;
  static constexpr std::uint64_t kSequenceMask = (std::uint64_t{1} << kSequenceBits) - 1;
  std::uint64_t value_ = 0;
};

// Milliseconds since 1970 in UTC.
struct UnixMs {
  std::int64_t value = 0;
  friend auto operator<=>(UnixMs, UnixMs) = default;
};

// A string that names one kind of thing.
template <class Tag>
class Name {
 public:
  Name() = default;
  explicit Name(std::string text) : text_(std::move(text)) {}
  const std::string& text() const { return text_; }
  friend auto operator<=>(const Name&, const Name&) = default;

 private:
  std::string text_;
};

// A number that counts one kind of thing.
template <class Tag>
struct Number {
  std::int64_t value = 0;
  friend auto operator<=>(Number, Number) = default;
};

using ClientId = Name<struct ClientIdTag>;
using ProducerId = Name<struct ProducerIdTag>;
using Mid = Number<struct MidTag>;          // a client's mutation id, 1, 2, 3, ...
using Seq = Number<struct SeqTag>;          // a producer's sequence number, 1, 2, 3, ...
using QueryId = Number<struct QueryIdTag>;  // chosen by a subscriber, unique on its connection

// A UUID made once when a database is created; every hello carries it.
class DatabaseId {
 public:
  using Bytes = std::array<std::uint8_t, 16>;
  DatabaseId() = default;
  explicit DatabaseId(const Bytes& bytes) : bytes_(bytes) {}
  const Bytes& bytes() const { return bytes_; }
  bool is_nil() const { return bytes_ == Bytes{}; }
  std::string to_text() const;  // 8-4-4-4-12 lowercase hex
  static std::optional<DatabaseId> parse(std::string_view text);
  friend auto operator<=>(const DatabaseId&, const DatabaseId&) = default;

 private:
  Bytes bytes_{};
};

}  // namespace leat

template <class Tag>
struct std::hash<leat::Name<Tag>> {
  std::size_t operator()(const leat::Name<Tag>& name) const noexcept { return std::hash<std::string>{}(name.text()); }
};
template <class Tag>
struct std::hash<leat::Number<Tag>> {
  std::size_t operator()(leat::Number<Tag> number) const noexcept { return std::hash<std::int64_t>{}(number.value); }
};
