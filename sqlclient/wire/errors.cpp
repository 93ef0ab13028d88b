#include "sqlclient/wire/errors.h"

#include "sqlclient/wire/json_text.h"

namespace leat::wire {

int http_status(const Error& error) {
  switch (error.code) {
    case ErrorCode::kUnauthorized:
      return 401;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kOperationIdMismatch:
    case ErrorCode::kCursorHistoryLost:
    case ErrorCode::kMigrationChecksumMismatch:
    case ErrorCode::kGap:
    case ErrorCode::kDatabaseMismatch:
      return 409;
    case ErrorCode::kOperationOutcomeExpired:
      return 410;
    case ErrorCode::kResultLimit:
      return 413;
    case ErrorCode::kQueueFull:
    case ErrorCode::kLogUnavailable:
    case ErrorCode::kOutcomeUnknown:
    case ErrorCode::kUnavailable:
      return 503;
    case ErrorCode::kCorrupt:
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      return 500;
    default:
      return 400;
  }
}

namespace {

void append_constraint(std::string& out, const Constraint& constraint) {
  out += R"(,"constraint":{"kind":)";
  append_string(out, to_text(constraint.kind));
  out += R"(,"table":)";
  append_string(out, constraint.table);
  out += R"(,"columns":[)";
  for (std::size_t i = 0; i < constraint.columns.size(); ++i) {
    if (i > 0) out += ',';
    append_string(out, constraint.columns[i]);
  }
  out += "]}";
}

bool is_plain(ErrorCode code) {
  return code == ErrorCode::kJsonInvalid || code == ErrorCode::kNotFound || code == ErrorCode::kUnauthorized;
}

}  // namespace

HttpResponse error_response(const Error& error, Plane plane) {
  HttpResponse response;
  response.status = http_status(error);
  std::string& out = response.body;
  if (is_plain(error.code)) {
    out += R"({"error":)";
    append_string(out, error.message);
  } else if (plane == Plane::kControl) {
    out += R"({"error":)";
    append_string(out, error.message);
    out += R"(,"code":)";
    append_string(out, to_text(error.code));
    if (error.retry_scope != RetryScope::kNever) {
      out += R"(,"retry_scope":)";
      append_string(out, to_text(error.retry_scope));
    }
  } else {
    out += R"({"code":)";
    append_string(out, to_text(error.code));
    out += R"(,"message":)";
    append_string(out, error.message);
    out += R"(,"retry_scope":)";
    append_string(out, to_text(error.retry_scope));
    if (error.sqlite_code) {
      out += R"(,"sqlite_code":)";
      append_integer(out, *error.sqlite_code);
    }
  }
  if (!is_plain(error.code) && error.constraint) append_constraint(out, *error.constraint);
  out += '}';
  if (response.status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

HttpResponse json_response(std::string body) {
  HttpResponse response;
  response.body = std::move(body);
  return response;
}

}  // namespace leat::wire
