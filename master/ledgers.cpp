#include "master/ledgers.h"

#include <algorithm>

#include "master/limits.h"

namespace leat::master {

namespace {

std::string_view bytes_of(const std::array<std::uint8_t, 16>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Result<std::optional<Ledgers::Outcome>> Ledgers::find_outcome(const IdempotencyKey& key) {
  LEAT_ASSIGN(auto find,
              connection_.prepare_cached(
                  "select fingerprint, status, steps_done, cursor, reply from _leat_outcomes where made_ms = ? "
                  "and key_id = ?",
                  sqlite::Access::kInternal));
  find->bind(1, key.made_ms);
  find->bind_blob(2, bytes_of(key.id));
  LEAT_ASSIGN(const bool found, find->step());
  if (!found) return std::optional<Outcome>{};
  Outcome outcome;
  const std::string_view fingerprint = find->column_bytes(0);
  if (fingerprint.size() != outcome.fingerprint.size()) {
    return make_error(ErrorCode::kCorrupt, "_leat_outcomes holds a fingerprint of the wrong size");
  }
  std::copy(fingerprint.begin(), fingerprint.end(), outcome.fingerprint.begin());
  outcome.status = static_cast<int>(find->column_int64(1));
  outcome.steps_done = static_cast<std::size_t>(find->column_int64(2));
  if (!find->column_is_null(3)) outcome.cursor = Cursor(static_cast<std::uint64_t>(find->column_int64(3)));
  outcome.reply = find->column_bytes(4);
  return std::optional<Outcome>(std::move(outcome));
}

Result<void> Ledgers::keep_outcome(const IdempotencyKey& key, const Outcome& outcome) {
  LEAT_ASSIGN(auto keep,
              connection_.prepare_cached(
                  "insert into _leat_outcomes (made_ms, key_id, fingerprint, status, steps_done, cursor, reply) "
                  "values (?, ?, ?, ?, ?, ?, ?) on conflict (made_ms, key_id) do update set status = "
                  "excluded.status, steps_done = excluded.steps_done, cursor = excluded.cursor, reply = "
                  "excluded.reply",
                  sqlite::Access::kInternal));
  keep->bind(1, key.made_ms);
  keep->bind_blob(2, bytes_of(key.id));
  keep->bind_blob(3, bytes_of(outcome.fingerprint));
  keep->bind(4, std::int64_t{outcome.status});
  keep->bind(5, static_cast<std::int64_t>(outcome.steps_done));
  if (outcome.cursor) keep->bind(6, static_cast<std::int64_t>(outcome.cursor->value()));
  keep->bind(7, std::string_view(outcome.reply));
  return keep->run();
}

Result<std::int64_t> Ledgers::outcome_floor() {
  LEAT_ASSIGN(const auto floor, find_number("select floor_ms from _leat_floors where ledger = ?", "outcomes"));
  return floor.value_or(0);
}

Result<bool> Ledgers::sweep_outcomes(std::int64_t oldest_ms) {
  // The floor is in the keys' own time and ends behind the last key removed, so that a clock that jumps ahead for a
  // while does not refuse the keys made after it is set right (HAZARDS 29).
  LEAT_ASSIGN(auto find,
              connection_.prepare_cached("select count(*), max(made_ms) from (select made_ms from _leat_outcomes where "
                                         "made_ms < ? order by made_ms limit ?)",
                                         sqlite::Access::kInternal));
  find->bind(1, oldest_ms);
  find->bind(2, static_cast<std::int64_t>(sweep_rows_max));
  LEAT_TRY(find->step());
  const std::int64_t count = find->column_int64(0);
  if (count == 0) return false;
  const std::int64_t floor_ms = find->column_int64(1) + 1;
  LEAT_ASSIGN(auto remove,
              connection_.prepare_cached("delete from _leat_outcomes where made_ms < ?", sqlite::Access::kInternal));
  remove->bind(1, floor_ms);
  LEAT_TRY(remove->run());
  LEAT_TRY(
      set_number("insert into _leat_floors (ledger, floor_ms) values (?, ?) on conflict (ledger) do update set "
                 "floor_ms = max(floor_ms, excluded.floor_ms)",
                 "outcomes", floor_ms));
  return count == static_cast<std::int64_t>(sweep_rows_max);
}

Result<bool> Ledgers::sweep_control_keys(std::int64_t oldest_ms) {
  LEAT_ASSIGN(auto remove, connection_.prepare_cached("delete from _leat_control_keys where key in (select key from "
                                                      "_leat_control_keys where used_ms < ? limit ?)",
                                                      sqlite::Access::kInternal));
  remove->bind(1, oldest_ms);
  remove->bind(2, static_cast<std::int64_t>(sweep_rows_max));
  LEAT_TRY(remove->run());
  return connection_.changes() == static_cast<std::int64_t>(sweep_rows_max);
}

Result<bool> Ledgers::has_control_key(const wire::ControlKey& key) {
  LEAT_ASSIGN(const auto used, find_number("select used_ms from _leat_control_keys where key = ?", key.text));
  return used.has_value();
}

Result<void> Ledgers::keep_control_key(const wire::ControlKey& key, UnixMs now) {
  return set_number("insert into _leat_control_keys (key, used_ms) values (?, ?)", key.text, now.value);
}

Result<std::optional<Seq>> Ledgers::last_seq(const ProducerId& producer) {
  LEAT_ASSIGN(const auto last,
              find_number("select last_seq from _leat_producers where producer_id = ?", producer.text()));
  return last ? std::optional<Seq>(Seq{*last}) : std::nullopt;
}

Result<void> Ledgers::advance(const wire::Producer& producer) {
  return set_number(
      "insert into _leat_producers (producer_id, last_seq) values (?, ?) on conflict (producer_id) do update set "
      "last_seq = excluded.last_seq",
      producer.id.text(), producer.seq.value);
}

Result<std::int64_t> Ledgers::producer_count() {
  LEAT_ASSIGN(auto count,
              connection_.prepare_cached("select count(*) from _leat_producers", sqlite::Access::kInternal));
  LEAT_TRY(count->step());
  return count->column_int64(0);
}

Result<std::optional<Mid>> Ledgers::last_mid(const ClientId& client) {
  LEAT_ASSIGN(const auto last,
              find_number("select last_mutation_id from _rindle_client_mutations where client_id = ?", client.text()));
  return last ? std::optional<Mid>(Mid{*last}) : std::nullopt;
}

Result<void> Ledgers::advance(const wire::Mutation& mutation) {
  return set_number(
      "insert into _rindle_client_mutations (client_id, last_mutation_id) values (?, ?) on conflict (client_id) do "
      "update set last_mutation_id = excluded.last_mutation_id",
      mutation.client.text(), mutation.mid.value);
}

Result<std::optional<std::int64_t>> Ledgers::find_number(std::string_view sql, std::string_view key) {
  LEAT_ASSIGN(auto find, connection_.prepare_cached(sql, sqlite::Access::kInternal));
  find->bind(1, key);
  LEAT_ASSIGN(const bool found, find->step());
  if (!found) return std::optional<std::int64_t>{};
  return std::optional<std::int64_t>(find->column_int64(0));
}

Result<void> Ledgers::set_number(std::string_view sql, std::string_view key, std::int64_t number) {
  LEAT_ASSIGN(auto set, connection_.prepare_cached(sql, sqlite::Access::kInternal));
  set->bind(1, key);
  set->bind(2, number);
  return set->run();
}

}  // namespace leat::master
