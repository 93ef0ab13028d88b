#include "core/error.h"

#include <array>

namespace leat {

std::string_view to_text(RetryScope scope) {
  static constexpr std::array<std::string_view, 4> kTexts{"never", "request", "transaction", "closure"};
  return kTexts.at(static_cast<std::size_t>(scope));
}

std::string_view to_text(ErrorCode code) {
  static constexpr std::array<std::string_view, 31> kTexts{
      "SQLITE_ERROR",
      "JSON_INVALID",
      "STATEMENT_INVALID",
      "STATEMENT_UNSUPPORTED",
      "VALUE_UNSUPPORTED",
      "IDEMPOTENCY_KEY_INVALID",
      "OPERATION_ID_MISMATCH",
      "OPERATION_OUTCOME_EXPIRED",
      "CURSOR_HISTORY_LOST",
      "REQUEST_ID_INVALID",
      "MIGRATION_CHECKSUM_MISMATCH",
      "MIGRATION_CHECKSUM_INVALID",
      "MIGRATION_STATEMENT_UNSUPPORTED",
      "MIGRATION_KIND_MIXED",
      "MIGRATION_DDL_ONLY",
      "SCHEMA_UNSUPPORTED",
      "DDL_BATCH_UNSUPPORTED",
      "RESULT_LIMIT",
      "LIMIT_EXCEEDED",
      "SEQUENCE_GAP",
      "QUEUE_FULL",
      "LOG_UNAVAILABLE",
      "OUTCOME_UNKNOWN",
      "UNAVAILABLE",
      "DATABASE_MISMATCH",
      "CORRUPT",
      "IO_ERROR",
      "CONFIG_INVALID",
      "NOT_FOUND",
      "UNAUTHORIZED",
      "INTERNAL",
  };
  static_assert(kTexts.size() == static_cast<std::size_t>(ErrorCode::kInternal) + 1);
  return kTexts.at(static_cast<std::size_t>(code));
}

std::string_view to_text(Constraint::Kind kind) {
  static constexpr std::array<std::string_view, 6> kTexts{"unique", "primaryKey", "foreignKey",
                                                          "check",  "notNull",    "datatype"};
  return kTexts.at(static_cast<std::size_t>(kind));
}

void throw_exception_from_error(const Error& error, const boost::source_location& /*where*/) {
  throw ErrorException(error);
}

}  // namespace leat
