// Replays change records into a database: recovery on the master, every block on a follower.
#pragma once

#include <memory>
#include <vector>

#include "changelog/record.h"
#include "core/error.h"
#include "core/sqlite.h"

namespace leat::changelog {

// Bound to one connection for its life; same thread. While it works triggers and foreign keys are off; they are put
// back when it is destroyed. Records are applied in capture order, by primary key (HAZARDS 11).
class Applier {
 public:
  explicit Applier(sqlite::Connection& connection);
  ~Applier();
  Applier(const Applier&) = delete;
  Applier& operator=(const Applier&) = delete;

  // Applies whole transactions in one SQLite transaction together with the applied cursor (state.h). All or nothing. A
  // transaction at or below the applied cursor is skipped; one beyond applied.next() (of the same epoch) is an error.
  // Errors: kCorrupt when a record does not fit the database (row to change is missing), else SQLite's.
  Result<void> apply(const std::vector<Transaction>& transactions);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace leat::changelog
