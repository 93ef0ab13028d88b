// The ledgers' rows: each read and moved in the transaction that the write it guards runs in. The writer's thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/sqlite.h"
#include "master/ledger_rules.h"
#include "sqlclient/wire/requests.h"

namespace leat::master {

class Ledgers {
 public:
  explicit Ledgers(sqlite::Connection& connection) : connection_(connection) {}

  struct Outcome {
    Fingerprint fingerprint{};
    int status = 200;              // of the answer; 0: a script that is under way
    std::size_t steps_done = 0;    // of a script
    std::optional<Cursor> cursor;  // of a script's last write
    std::string reply;             // the answer's body, byte for byte; of a script under way: its results so far
  };
  Result<std::optional<Outcome>> find_outcome(const IdempotencyKey& key);
  // Keeps a new outcome, or in place of the one that is there.
  Result<void> keep_outcome(const IdempotencyKey& key, const Outcome& outcome);
  // Keys below this time are gone for good; never moves back.
  Result<std::int64_t> outcome_floor();
  // Removes the oldest of the outcomes made before `oldest_ms`, sweep_rows_max and those of the last one's millisecond,
  // and moves the floor behind what it removed. True when there may be more.
  Result<bool> sweep_outcomes(std::int64_t oldest_ms);
  // The same for control keys used before `oldest_ms`.
  Result<bool> sweep_control_keys(std::int64_t oldest_ms);

  Result<bool> has_control_key(const wire::ControlKey& key);
  Result<void> keep_control_key(const wire::ControlKey& key, UnixMs now);

  Result<std::optional<Seq>> last_seq(const ProducerId& producer);
  Result<void> advance(const wire::Producer& producer);
  Result<std::int64_t> producer_count();

  Result<std::optional<Mid>> last_mid(const ClientId& client);
  Result<void> advance(const wire::Mutation& mutation);

 private:
  Result<std::optional<std::int64_t>> find_number(std::string_view sql, std::string_view key);
  Result<void> set_number(std::string_view sql, std::string_view key, std::int64_t number);

  sqlite::Connection& connection_;
};

}  // namespace leat::master
