// One write on its way through the writer: what to run, what makes it safe to repeat, and who waits for the answer.
#pragma once

#include <cstddef>
#include <memory>
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
// A step of a script: its statements commit one by one under one key, and a repeat goes on from where it got (HAZARDS
// 27).
struct ScriptState;
struct ScriptGuard {
  IdempotencyKey key;
  Fingerprint fingerprint{};
  std::size_t step = 0;
  std::shared_ptr<ScriptState>
      state;  // filled on the writer's thread; to be read once the step has been answered with 200
};
using Guard = std::variant<std::monostate, OutcomeGuard, ScriptGuard, wire::ControlKey, wire::Producer, wire::Mutation>;

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
// Keeps the answer of a script that is over.
struct ScriptEndBody {
  int status = 200;
  std::string reply;
};
// Removes outcomes that are no longer kept.
struct SweepBody {};
using Body = std::variant<StatementsBody, MigrationsBody, SystemSchemaBody, ScriptEndBody, SweepBody>;

// How the answer is written (WIRE).
enum class AnswerStyle : std::uint8_t {
  kExecute,           // {"result","commit_cursor","routing"}
  kBatch,             // {"results","commit_cursor","routing"}
  kScriptStep,        // nothing: the guard's state says it all
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
