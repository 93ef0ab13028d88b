// Logging to standard error, one line an event, as text or as JSON. Any thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace leat {

enum class LogLevel : std::uint8_t { kTrace, kDebug, kInfo, kWarn, kError, kOff };
std::optional<LogLevel> parse_log_level(std::string_view text);  // trace, debug, info, warn, error, off

enum class LogFormat : std::uint8_t { kText, kJson };
std::optional<LogFormat> parse_log_format(std::string_view text);  // text, json

// A key and a value that programs can find in the line. Refers to texts, does not hold them.
struct LogField {
  std::string_view key;
  std::variant<std::string_view, std::int64_t, std::uint64_t, double, bool> value;

  template <class T>
  LogField(std::string_view field_key, const T& field_value) : key(field_key), value(to_value(field_value)) {}

 private:
  template <class T>
  static decltype(value) to_value(const T& from) {
    if constexpr (std::same_as<T, bool>) {
      return from;
    } else if constexpr (std::signed_integral<T>) {
      return static_cast<std::int64_t>(from);
    } else if constexpr (std::unsigned_integral<T>) {
      return static_cast<std::uint64_t>(from);
    } else if constexpr (std::floating_point<T>) {
      return static_cast<double>(from);
    } else {
      return std::string_view(from);
    }
  }
};

// The field that carries a request's id.
inline constexpr std::string_view kLogRequestId = "requestId";

class Log {
 public:
  using Fields = std::initializer_list<LogField>;
  // log().info("listening", {{"address", address}, {"port", port}});
  void debug(std::string_view message, Fields fields = {}) { write(LogLevel::kDebug, message, fields); }
  void info(std::string_view message, Fields fields = {}) { write(LogLevel::kInfo, message, fields); }
  void warn(std::string_view message, Fields fields = {}) { write(LogLevel::kWarn, message, fields); }
  void error(std::string_view message, Fields fields = {}) { write(LogLevel::kError, message, fields); }
  void write(LogLevel level, std::string_view message, Fields fields = {});
  bool is_on(LogLevel level) const;
};

// The process's log: text from level info until configured.
Log& log();
void configure_log(LogLevel level, LogFormat format);

// The line without its time, level and line end; what the formats promise, for tests.
std::string format_log_line(LogFormat format, std::string_view message, Log::Fields fields);

}  // namespace leat
