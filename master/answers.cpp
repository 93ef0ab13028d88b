#include "master/answers.h"

#include "sqlclient/wire/errors.h"
#include "sqlclient/wire/json_text.h"

namespace leat::master {

namespace {

void append_cursor(std::string& out, std::optional<Cursor> cursor) {
  if (cursor) {
    wire::append_string(out, cursor->to_text());
  } else {
    out += "null";
  }
}

std::string sql_answer(std::string_view open, std::string_view results, std::string_view close,
                       std::optional<Cursor> cursor) {
  std::string out;
  out.reserve(results.size() + 160);
  out += R"({"commit_cursor":)";
  append_cursor(out, cursor);
  out += open;
  out += results;
  out += close;
  out += R"(,"routing":{"applied_lag_ms":null,"fence_fallback":false,"served_by":"master"}})";
  return out;
}

std::string_view truth(bool value) { return value ? "true" : "false"; }

std::string migration_list_answer(const MigrationsOutcome& outcome, Cursor head) {
  std::size_t applied = 0;
  Cursor cursor = head;
  std::string results;
  for (const auto& done : outcome.done) {
    if (done.applied) {
      ++applied;
      cursor = done.cursor;
    }
    if (!results.empty()) results += ',';
    results += R"({"id":)";
    wire::append_string(results, done.id);
    results += R"(,"applied":)";
    results += truth(done.applied);
    results += R"(,"hashOverridden":)";
    results += truth(done.hash_overridden);
    results += '}';
  }
  std::string out = R"({"applied":)";
  wire::append_integer(out, static_cast<std::int64_t>(applied));
  out += R"(,"cursor":)";
  append_cursor(out, cursor);
  out += R"(,"restarting":false,"results":[)";
  out += results;
  out += ']';
  if (outcome.failure) {
    out += R"(,"error":)";
    wire::append_string(out, outcome.failure->message);
    out += R"(,"errorCode":)";
    wire::append_string(out, to_text(outcome.failure->code));
    out += R"(,"failedId":)";
    wire::append_string(out, outcome.failed_id);
  }
  out += '}';
  return out;
}

}  // namespace

std::string execute_answer(std::string_view results, std::optional<Cursor> cursor) {
  return sql_answer(R"(,"result":)", results, "", cursor);
}

std::string batch_answer(std::string_view results, std::optional<Cursor> cursor) {
  return sql_answer(R"(,"results":[)", results, "]", cursor);
}

std::string script_answer(std::optional<Cursor> cursor) {
  std::string out = R"({"commit_cursor":)";
  append_cursor(out, cursor);
  out += '}';
  return out;
}

std::string script_failure(std::string error_body, std::size_t index, std::string_view results) {
  error_body.pop_back();
  error_body += R"(,"statement_index":)";
  wire::append_integer(error_body, static_cast<std::int64_t>(index));
  error_body += R"(,"partial_results":[)";
  error_body += results;
  error_body += "]}";
  return error_body;
}

std::string control_answer(const ControlReceipt& receipt) {
  std::string out = R"({"applied":)";
  out += truth(receipt.applied);
  if (receipt.cursor) {
    out += R"(,"cursor":)";
    append_cursor(out, receipt.cursor);
  }
  if (receipt.mutation) {
    out += R"(,"lmid":)";
    wire::append_integer(out, receipt.mutation->mid.value);
    out += R"(,"lmidAdvances":[{"clientID":)";
    wire::append_string(out, receipt.mutation->client.text());
    out += R"(,"lmid":)";
    wire::append_integer(out, receipt.mutation->mid.value);
    out += "}]";
  }
  out += '}';
  return out;
}

std::string migration_answer(AnswerStyle style, const MigrationsOutcome& outcome, Cursor head) {
  if (style == AnswerStyle::kMigrationList) return migration_list_answer(outcome, head);
  const MigrationOutcome& done = outcome.done.front();
  if (style == AnswerStyle::kExecute) {
    std::string result;
    wire::append_result(result, {}, "[]", wire::Effects{});
    return execute_answer(result, done.cursor);
  }
  std::string out = R"({"applied":)";
  out += truth(done.applied);
  out += style == AnswerStyle::kPublicMigration ? R"(,"commit_cursor":)" : R"(,"cursor":)";
  append_cursor(out, done.cursor);
  if (style == AnswerStyle::kControlMigration) {
    out += R"(,"hashOverridden":)";
    out += truth(done.hash_overridden);
  }
  out += '}';
  return out;
}

HttpResponse write_error(const Error& error, AnswerStyle style) {
  if (style != AnswerStyle::kControl) return wire::error_response(error, wire::Plane::kPublic);
  if (error.code != ErrorCode::kSqliteError) return wire::error_response(error, wire::Plane::kControl);
  Error named = error;
  named.message = "sqlite: " + error.message;
  HttpResponse response = wire::error_response(named, wire::Plane::kControl);
  response.status = 500;
  return response;
}

}  // namespace leat::master
