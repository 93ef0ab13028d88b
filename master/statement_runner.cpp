#include "master/statement_runner.h"

#include <sqlite3.h>

#include "master/limits.h"

namespace leat::master {

Result<std::string> StatementRunner::run(const StatementsBody& body, std::size_t& index) {
  wire::AnswerLimits limits;
  limits.blobs = body.blobs;
  std::string results;
  for (index = 0; index < body.statements.size(); ++index) {
    if (index > 0) results += ',';
    LEAT_TRY(run_one(results, body.statements[index], limits));
    if (results.size() > limits.bytes_max) {
      return make_error(ErrorCode::kResultLimit,
                        "the results are larger than " + std::to_string(limits.bytes_max) + " bytes together");
    }
  }
  LEAT_TRY(check_deferred_keys());
  return results;
}

Result<void> StatementRunner::run_one(std::string& results, const wire::Statement& statement,
                                      const wire::AnswerLimits& limits) {
  LEAT_ASSIGN(auto compiled, connection_.prepare_cached(statement.sql, sqlite::Access::kWrite));
  if (compiled->traits().is_ddl) {
    return make_error(ErrorCode::kDdlBatchUnsupported,
                      "DDL runs alone: send it as a migration, or as one statement to /v1/sql/execute");
  }
  LEAT_TRY(wire::bind(*compiled, statement));
  capture_.begin_statement();
  connection_.set_deadline(std::chrono::steady_clock::now() + std::chrono::milliseconds(statement_write_ms_max));
  std::string rows;
  auto ran = wire::append_rows(rows, *compiled, wire::Plane::kPublic, limits, statement.wants_rows);
  connection_.set_deadline(std::nullopt);
  LEAT_TRY(capture_.status());
  if (ran.has_error()) return std::move(ran).error();
  wire::Effects effects;
  if (compiled->traits().writes) {
    effects.rows_affected = connection_.changes();
    effects.last_insert_rowid = capture_.last_insert_rowid();
  }
  wire::append_result(results, compiled->columns(), rows, effects);
  return {};
}

Result<void> StatementRunner::check_deferred_keys() const {
  if (connection_.deferred_foreign_keys() == 0) return {};
  Error error = make_error(ErrorCode::kSqliteError, "FOREIGN KEY constraint failed");
  error.sqlite_code = SQLITE_CONSTRAINT_FOREIGNKEY;
  error.constraint = Constraint{Constraint::Kind::kForeignKey, "", {}};
  return error;
}

}  // namespace leat::master
