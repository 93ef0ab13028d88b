// Executes one write inside the writer's transaction: its guard, its body, its ledger row, its answer.
#pragma once

#include <string>
#include <vector>

#include "changelog/capture.h"
#include "changelog/record.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/sqlite.h"
#include "master/answers.h"
#include "master/ledgers.h"
#include "master/migration_runner.h"
#include "master/statement_runner.h"
#include "master/value_rules.h"
#include "master/write.h"

namespace leat::master {

// The writer's thread.
class WriteExecutor {
 public:
  WriteExecutor(sqlite::Connection& connection, changelog::Capture& capture, Clock& clock);

  struct Executed {
    std::string answer;                            // the body of a 200
    std::vector<changelog::ChangeRecord> records;  // empty: nothing to commit
    std::size_t bytes = 0;                         // about what the records take
  };
  // The caller holds a transaction and a savepoint, and rolls back to it on an error. `cursor` is what the write gets
  // if it changes anything, `head` the cursor before it. After an error the transaction itself may be gone (HAZARDS
  // 14).
  Result<Executed> execute(const Write& write, Cursor cursor, Cursor head);

 private:
  using Answer = std::string;
  Result<Answer> run(const Write& write, Cursor cursor, Cursor head);
  Result<Answer> run_body(const Write& write, const StatementsBody& body, Cursor cursor);
  Result<Answer> run_body(const Write& write, const MigrationsBody& body, Cursor cursor, Cursor head);
  static Result<Answer> end_script(const Write& write, const ScriptEndBody& body);
  Result<Answer> make_system_tables();
  Result<Answer> run_sweep();

  // The answer of a write that its guard absorbs; nullopt when it is to run.
  Result<std::optional<Answer>> absorb(const Guard& guard);
  Result<void> keep(const Guard& guard, const Answer& answer);

  changelog::Capture& capture_;
  Clock& clock_;
  Ledgers ledgers_;
  StatementRunner statements_;
  ValueRules value_rules_;
  MigrationRunner migrations_;
};

}  // namespace leat::master
