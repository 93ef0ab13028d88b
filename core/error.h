// Errors are values: a stable code for programs, a message for people, and how far to retry.
#pragma once

#include <boost/system/result.hpp>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

// How far a caller has to go back before it tries again (WIRE: `retry_scope`).
enum class RetryScope : std::uint8_t {
  kNever,        // the same request fails the same way
  kRequest,      // repeat this request, with the same idempotency key
  kTransaction,  // begin the transaction again
  kClosure,      // run the transaction's function again
};
std::string_view to_text(RetryScope scope);

// Stable codes: the text of a code, once released, never changes its meaning.
enum class ErrorCode : std::uint8_t {
  kSqliteError,                    // SQLITE_ERROR; `sqlite_code` says which
  kJsonInvalid,                    // JSON_INVALID: the body is not JSON
  kStatementInvalid,               // STATEMENT_INVALID: the request is malformed
  kStatementUnsupported,           // STATEMENT_UNSUPPORTED: valid SQL that Leat does not run here
  kValueUnsupported,               // VALUE_UNSUPPORTED
  kIdempotencyKeyInvalid,          // IDEMPOTENCY_KEY_INVALID
  kOperationIdMismatch,            // OPERATION_ID_MISMATCH: the key was used for another request
  kOperationOutcomeExpired,        // OPERATION_OUTCOME_EXPIRED
  kCursorHistoryLost,              // CURSOR_HISTORY_LOST
  kRequestIdInvalid,               // REQUEST_ID_INVALID
  kMigrationChecksumMismatch,      // MIGRATION_CHECKSUM_MISMATCH
  kMigrationChecksumInvalid,       // MIGRATION_CHECKSUM_INVALID
  kMigrationStatementUnsupported,  // MIGRATION_STATEMENT_UNSUPPORTED
  kMigrationKindMixed,             // MIGRATION_KIND_MIXED
  kMigrationDdlOnly,               // MIGRATION_DDL_ONLY
  kSchemaUnsupported,              // SCHEMA_UNSUPPORTED: cannot be replicated
  kDdlBatchUnsupported,            // DDL_BATCH_UNSUPPORTED
  kResultLimit,                    // RESULT_LIMIT: rows or bytes of one answer
  kLimit,                          // LIMIT_EXCEEDED: any other bound; the message names it
  kGap,                            // SEQUENCE_GAP: a producer or client mutation skipped a number
  kQueueFull,                      // QUEUE_FULL
  kLogUnavailable,                 // LOG_UNAVAILABLE: proven not in the log; nothing happened
  kOutcomeUnknown,                 // OUTCOME_UNKNOWN: may or may not be in the log
  kUnavailable,                    // UNAVAILABLE: not serving (starting, recovering, stopping)
  kDatabaseMismatch,               // DATABASE_MISMATCH: another database's log or follower
  kCorrupt,                        // CORRUPT: names file and offset
  kIo,                             // IO_ERROR
  kConfigInvalid,                  // CONFIG_INVALID
  kNotFound,                       // NOT_FOUND
  kUnauthorized,                   // UNAUTHORIZED
  kInternal,                       // INTERNAL: a bug in Leat
};
std::string_view to_text(ErrorCode code);

// Which rule of the schema a write broke.
struct Constraint {
  enum class Kind : std::uint8_t { kUnique, kPrimaryKey, kForeignKey, kCheck, kNotNull, kDatatype };
  Kind kind;
  std::string table;                 // empty when SQLite does not say (foreign keys)
  std::vector<std::string> columns;  // empty when SQLite does not say
};
std::string_view to_text(Constraint::Kind kind);

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  RetryScope retry_scope = RetryScope::kNever;
  std::optional<int> sqlite_code;  // SQLite's extended result code
  std::optional<Constraint> constraint;
};

// Boost.System's result: holds a T or an Error. `value()` on an error throws ErrorException, which
// only ever means a bug or the end of the process.
template <class T>
using Result = boost::system::result<T, Error>;

class ErrorException : public std::runtime_error {
 public:
  explicit ErrorException(Error error) : std::runtime_error(error.message), error_(std::move(error)) {}
  const Error& error() const { return error_; }

 private:
  Error error_;
};

[[noreturn]] void throw_exception_from_error(const Error& error, const boost::source_location& where);

inline Error make_error(ErrorCode code, std::string message, RetryScope scope = RetryScope::kNever) {
  return Error{code, std::move(message), scope, std::nullopt, std::nullopt};
}

}  // namespace leat

// Returns the error of a Result from the enclosing function.
#define LEAT_TRY_CONCAT_(a, b) a##b
#define LEAT_TRY_NAME_(a, b) LEAT_TRY_CONCAT_(a, b)
#define LEAT_TRY(expression)                                                                                           \
  do {                                                                                                                 \
    if (auto&& leat_try_result = (expression); leat_try_result.has_error()) return std::move(leat_try_result).error(); \
  } while (false)
// LEAT_ASSIGN(auto x, f()) is `auto x = value of f()`, or returns f()'s error.
#define LEAT_ASSIGN_(declaration, expression, name)     \
  auto name = (expression);                             \
  if (name.has_error()) return std::move(name).error(); \
  declaration = std::move(name).value()
#define LEAT_ASSIGN(declaration, expression) \
  LEAT_ASSIGN_(declaration, expression, LEAT_TRY_NAME_(leat_assign_, __LINE__))
