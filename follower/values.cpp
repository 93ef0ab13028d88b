#include "follower/values.h"

#include <sqlite3.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace leat::follower {

using changelog::Affinity;

namespace {

constexpr double kTwoTo63 = 9223372036854775808.0;

std::strong_ordering compare_doubles(double left, double right) {
  if (left < right) return std::strong_ordering::less;
  if (left > right) return std::strong_ordering::greater;
  return std::strong_ordering::equal;
}

std::strong_ordering compare_numbers(std::int64_t left, double right) {
  if (right < -kTwoTo63) return std::strong_ordering::greater;
  if (right >= kTwoTo63) return std::strong_ordering::less;
  const auto whole = static_cast<std::int64_t>(right);
  if (left != whole) return left <=> whole;
  return compare_doubles(static_cast<double>(left), right);
}

std::strong_ordering compare_bytes(const std::string& left, const std::string& right) {
  const int order = left.compare(right);  // char_traits<char> compares as unsigned bytes
  return order <=> 0;
}

// NULL, number, text, blob.
int storage_rank(const Value& value) {
  static constexpr int kRanks[] = {0, 1, 1, 2, 3};
  return kRanks[value.index()];
}

// Text to number is SQLite's own code: a second implementation would differ in a last bit some day.
class NumericConverter {
 public:
  NumericConverter() {
    if (sqlite3_open_v2(":memory:", &database_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX,
                        nullptr) != SQLITE_OK ||
        sqlite3_prepare_v2(database_, "select ?1", -1, &statement_, nullptr) != SQLITE_OK) {
      throw std::runtime_error("SQLite refused an in-memory database");
    }
  }
  ~NumericConverter() {
    sqlite3_finalize(statement_);
    sqlite3_close(database_);
  }
  NumericConverter(const NumericConverter&) = delete;
  NumericConverter& operator=(const NumericConverter&) = delete;

  Value convert(const Text& text) {
    sqlite3_bind_text64(statement_, 1, text.bytes.data(), text.bytes.size(), SQLITE_STATIC, SQLITE_UTF8);
    sqlite3_step(statement_);
    const std::unique_ptr<sqlite3_value, decltype(&sqlite3_value_free)> value(
        sqlite3_value_dup(sqlite3_column_value(statement_, 0)), &sqlite3_value_free);
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
    if (value == nullptr) throw std::bad_alloc();
    switch (sqlite3_value_numeric_type(value.get())) {
      case SQLITE_INTEGER:
        return std::int64_t{sqlite3_value_int64(value.get())};
      case SQLITE_FLOAT:
        return sqlite3_value_double(value.get());
      default:
        return text;
    }
  }

 private:
  sqlite3* database_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
};

bool may_be_a_number(const std::string& bytes) {
  for (const char c : bytes) {
    if (c == ' ' || (c >= '\t' && c <= '\r')) continue;
    return (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  }
  return false;
}

}  // namespace

std::strong_ordering compare_values(const Value& left, const Value& right) {
  const int left_rank = storage_rank(left);
  const int right_rank = storage_rank(right);
  if (left_rank != right_rank) return left_rank <=> right_rank;
  switch (left_rank) {
    case 0:
      return std::strong_ordering::equal;
    case 1: {
      const auto* left_integer = std::get_if<std::int64_t>(&left);
      const auto* right_integer = std::get_if<std::int64_t>(&right);
      if (left_integer != nullptr && right_integer != nullptr) return *left_integer <=> *right_integer;
      if (left_integer != nullptr) return compare_numbers(*left_integer, std::get<double>(right));
      if (right_integer != nullptr) return 0 <=> compare_numbers(*right_integer, std::get<double>(left));
      return compare_doubles(std::get<double>(left), std::get<double>(right));
    }
    case 2:
      return compare_bytes(std::get<Text>(left).bytes, std::get<Text>(right).bytes);
    default:
      return compare_bytes(std::get<Blob>(left).bytes, std::get<Blob>(right).bytes);
  }
}

std::string text_of(const Value& value) {
  struct Visitor {
    std::string operator()(Null) const { return {}; }
    std::string operator()(std::int64_t integer) const { return std::to_string(integer); }
    std::string operator()(double real) const {
      char buffer[64];
      sqlite3_snprintf(sizeof buffer, buffer, "%!.15g", real);
      return buffer;
    }
    std::string operator()(const Text& text) const { return text.bytes; }
    std::string operator()(const Blob& blob) const { return blob.bytes; }
  };
  return std::visit(Visitor{}, value);
}

Value apply_comparison_affinity(Affinity column, Value value) {
  switch (column) {
    case Affinity::kInteger:
    case Affinity::kReal:
    case Affinity::kNumeric: {
      const auto* text = std::get_if<Text>(&value);
      if (text == nullptr || !may_be_a_number(text->bytes)) return value;
      thread_local NumericConverter converter;
      return converter.convert(*text);
    }
    case Affinity::kText:
      if (std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value)) {
        return Text{text_of(value)};
      }
      return value;
    case Affinity::kBlob:
      return value;
  }
  return value;
}

void append_key(std::string& key, const Value& value) {
  const auto append_bytes = [&key](char tag, const void* data, std::size_t size) {
    key += tag;
    key.append(static_cast<const char*>(data), size);
  };
  const auto append_long = [&](char tag, const std::string& bytes) {
    const std::uint64_t size = bytes.size();
    append_bytes(tag, &size, sizeof size);
    key += bytes;
  };
  struct Visitor {
    const decltype(append_bytes)& fixed;
    const decltype(append_long)& variable;
    void operator()(Null) const { fixed('n', nullptr, 0); }
    void operator()(std::int64_t integer) const { fixed('i', &integer, sizeof integer); }
    void operator()(double real) const {
      if (real >= -kTwoTo63 && real < kTwoTo63 && std::trunc(real) == real) {
        (*this)(static_cast<std::int64_t>(real));
      } else {
        fixed('r', &real, sizeof real);
      }
    }
    void operator()(const Text& text) const { variable('t', text.bytes); }
    void operator()(const Blob& blob) const { variable('b', blob.bytes); }
  };
  std::visit(Visitor{append_bytes, append_long}, value);
}

std::string key_of(const Row& row, std::span<const int> columns) {
  std::string key;
  for (const int column : columns) append_key(key, row[static_cast<std::size_t>(column)]);
  return key;
}

}  // namespace leat::follower
