// Runs an application's statements on the writer connection, inside the caller's savepoint.
#pragma once

#include <string>

#include "changelog/capture.h"
#include "core/error.h"
#include "core/sqlite.h"
#include "master/write.h"
#include "sqlclient/wire/statement.h"

namespace leat::master {

class StatementRunner {
 public:
  StatementRunner(sqlite::Connection& connection, changelog::Capture& capture)
      : connection_(connection), capture_(capture) {}

  // The public plane's result objects, comma-separated. Errors: of the first statement that fails, with `index` set to
  // it; kDdlBatchUnsupported for DDL; what capture refuses. Deferred foreign keys must hold at the end.
  Result<std::string> run(const StatementsBody& body, std::size_t& index);

  // Runs one statement and appends its result object.
  Result<void> run_one(std::string& results, const wire::Statement& statement, const wire::AnswerLimits& limits);
  // Error when a deferred foreign key is unresolved.
  Result<void> check_deferred_keys() const;

 private:
  sqlite::Connection& connection_;
  changelog::Capture& capture_;
};

}  // namespace leat::master
