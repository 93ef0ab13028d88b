// One write on its way through the writer: what to run, what makes it safe to repeat, and who waits for the answer.
#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "changelog/record.h"
#include "core/http.h"
#include "master/ledger_rules.h"
#include "sqlclient/wire/requests.h"

namespace leat::master {

// The identity a write is deduplicated by; at most one.
struct OutcomeGuard {
  IdempotencyKey key;
  Fingerprint fingerprint{};
};
using Guard = std::variant<std::monostate, OutcomeGuard, wire::ControlKey, wire::Producer, wire::Mutation>;

// Statements that run one after the other in one savepoint; DDL is refused.
struct StatementsBody {
  std::vector<wire::Statement> statements;
  bool blobs = false;
};
// Migrations, in order; the first that fails ends the list, and what applied before it stays.
struct MigrationsBody {
  std::vector<wire::MigrationRequest> migrations;
};
// Makes the system tables that are missing.
struct SystemSchemaBody {};
// Removes outcomes that are no longer kept.
struct SweepBody {};
using Body = std::variant<StatementsBody, MigrationsBody, SystemSchemaBody, SweepBody>;

// How the answer is written (WIRE).
enum class AnswerStyle : std::uint8_t {
  kExecute,           // {"result","commit_cursor","routing"}
  kBatch,             // {"results","commit_cursor","routing"}
  kPublicMigration,   // {"applied","commit_cursor"}
  kControl,           // {"applied","cursor"?,"lmid"?,...}
  kControlMigration,  // {"applied","cursor","hashOverridden"}
  kMigrationList,     // {"applied":N,"cursor","results",...}
};

struct Write {
  changelog::Origin origin = changelog::Origin::kSystem;
  std::string request_id;  // may be empty
  Guard guard;
  Body body;
  AnswerStyle style = AnswerStyle::kControl;
  std::size_t request_bytes = 0;
  HttpReply reply;

  // Runs in a group of its own, foreign keys off (HAZARDS 16).
  bool is_exclusive() const { return std::holds_alternative<MigrationsBody>(body); }
};

}  // namespace leat::master
