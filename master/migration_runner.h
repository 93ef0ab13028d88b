// Applies migrations inside the writer's transaction: each in a savepoint of its own, journalled in `_leat_migrations`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "changelog/capture.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/ids.h"
#include "core/sqlite.h"
#include "master/value_rules.h"
#include "master/write.h"

namespace leat::master {

struct MigrationOutcome {
  std::string id;
  bool applied = false;  // false: it had been applied before
  bool hash_overridden = false;
  Cursor cursor;  // of the write that applied it
};

struct MigrationsOutcome {
  std::vector<MigrationOutcome> done;  // in order, up to the first failure
  std::optional<Error> failure;
  std::string failed_id;
};

// The writer's thread, foreign keys off (HAZARDS 16).
class MigrationRunner {
 public:
  // Which rules hold: the public surface takes DDL only and compares the checksum as text.
  enum class Surface : std::uint8_t { kPublic, kControl };

  MigrationRunner(sqlite::Connection& connection, changelog::Capture& capture, ValueRules& value_rules, Clock& clock)
      : connection_(connection), capture_(capture), value_rules_(value_rules), clock_(clock) {}

  // Errors only for what ends the transaction itself; a migration's own failure is in the outcome.
  Result<MigrationsOutcome> run(const std::vector<wire::MigrationRequest>& migrations, Surface surface, Cursor cursor);

 private:
  Result<MigrationOutcome> run_one(const wire::MigrationRequest& migration, Surface surface, Cursor cursor);
  Result<std::optional<MigrationOutcome>> find_applied(const wire::MigrationRequest& migration, Surface surface,
                                                       const std::string& content);
  Result<void> run_statements(const wire::MigrationRequest& migration, Surface surface, bool& is_data);
  Result<void> check_references(bool dropped);

  sqlite::Connection& connection_;
  changelog::Capture& capture_;
  ValueRules& value_rules_;
  Clock& clock_;
};

}  // namespace leat::master
