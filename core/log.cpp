#include "core/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

namespace leat {

namespace {

constexpr std::array<std::string_view, 6> kLevelNames{"trace", "debug", "info", "warn", "error", "off"};

spdlog::level::level_enum to_spdlog(LogLevel level) {
  static constexpr std::array<spdlog::level::level_enum, 6> kLevels{spdlog::level::trace, spdlog::level::debug,
                                                                    spdlog::level::info,  spdlog::level::warn,
                                                                    spdlog::level::err,   spdlog::level::off};
  return kLevels.at(static_cast<std::size_t>(level));
}

struct Backend {
  spdlog::logger logger{"leat", std::make_shared<spdlog::sinks::stderr_sink_mt>()};
  std::atomic<LogFormat> format{LogFormat::kText};

  Backend() { configure(LogLevel::kInfo, LogFormat::kText); }
  void configure(LogLevel level, LogFormat new_format) {
    format = new_format;
    logger.set_pattern(new_format == LogFormat::kJson ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})"
                                                      : "%Y-%m-%dT%H:%M:%S.%eZ %l %v",
                       spdlog::pattern_time_type::utc);
    logger.set_level(to_spdlog(level));
    logger.flush_on(spdlog::level::trace);
  }
};

Backend& backend() {
  static Backend instance;
  return instance;
}

std::string json_text(std::string_view text) { return boost::json::serialize(boost::json::string(text)); }

bool is_plain(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '"' || c == '=' || c == '\x7f') return false;
  }
  return true;
}

std::string value_text(const LogField& field, LogFormat format) {
  return std::visit(
      [&](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::same_as<T, std::string_view>) {
          return format == LogFormat::kText && is_plain(value) ? std::string(value) : json_text(value);
        } else {
          return boost::json::serialize(boost::json::value(value));
        }
      },
      field.value);
}

// A line is one event: a line end inside a message must not start another.
std::string one_line(std::string_view message) {
  std::string out;
  for (const char c : message) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::optional<LogLevel> parse_log_level(std::string_view text) {
  for (std::size_t i = 0; i < kLevelNames.size(); ++i) {
    if (kLevelNames[i] == text) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

std::optional<LogFormat> parse_log_format(std::string_view text) {
  if (text == "text") return LogFormat::kText;
  if (text == "json") return LogFormat::kJson;
  return std::nullopt;
}

std::string format_log_line(LogFormat format, std::string_view message, Log::Fields fields) {
  std::string out = format == LogFormat::kJson ? "\"message\":" + json_text(message) : one_line(message);
  for (const LogField& field : fields) {
    if (format == LogFormat::kJson) {
      out.append(",").append(json_text(field.key)).append(":");
    } else {
      out.append(" ").append(field.key).append("=");
    }
    out.append(value_text(field, format));
  }
  return out;
}

void Log::write(LogLevel level, std::string_view message, Fields fields) {
  if (!is_on(level)) return;
  Backend& to = backend();
  const std::string line = format_log_line(to.format.load(std::memory_order_relaxed), message, fields);
  to.logger.log(to_spdlog(level), spdlog::string_view_t(line.data(), line.size()));
}

bool Log::is_on(LogLevel level) const { return backend().logger.should_log(to_spdlog(level)); }

Log& log() {
  static Log instance;
  return instance;
}

void configure_log(LogLevel level, LogFormat format) { backend().configure(level, format); }

}  // namespace leat
