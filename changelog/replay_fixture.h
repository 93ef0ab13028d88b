// For tests: one database that is written and captured, and another that the records are applied to.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "changelog/apply.h"
#include "changelog/capture.h"
#include "changelog/state.h"

namespace leat::changelog {

class Replay {
 public:
  explicit Replay(Capture::Options options = {});

  // Runs one write: DDL through run_schema_change, everything else as a statement, in a savepoint of its own. A failed
  // or refused one is rolled back and rewound; one that
  // destroyed the whole transaction (HAZARDS 14) takes the writes since the last commit with it.
  Result<void> write(const std::string& sql);
  // The same for a write that has to succeed.
  void must(const std::string& sql);
  // Ends the transaction and applies its records; answers them.
  std::vector<ChangeRecord> commit();
  // Every table's rows, rowids, storage classes and sequences, one line a row.
  static std::string dump(sqlite::Connection& connection);
  void expect_equal();

  sqlite::Connection& source() { return *source_; }
  sqlite::Connection& target() { return *target_; }
  Capture& capture() { return *capture_; }
  Applier& applier() { return *applier_; }

 private:
  std::unique_ptr<sqlite::Connection> source_;
  std::unique_ptr<sqlite::Connection> target_;
  std::unique_ptr<Capture> capture_;
  std::unique_ptr<Applier> applier_;
  Cursor cursor_{Epoch{1}, 0};
};

}  // namespace leat::changelog
