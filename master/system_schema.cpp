#include "master/system_schema.h"

#include <array>

namespace leat::master {

std::span<const SystemTable> system_schema() {
  static constexpr std::array<SystemTable, 6> kTables{{
      // A script that is under way has the status 0, and what it has done so far in place of its reply. Outcomes sort
      // by the time in their keys, so that inserts go to the end and a sweep deletes from the front.
      {"_leat_outcomes",
       "create table _leat_outcomes (made_ms integer not null, key_id blob not null, fingerprint blob not null, "
       "status integer not null, steps_done integer not null, cursor integer, reply text not null, primary key "
       "(made_ms, key_id)) without rowid"},
      {"_leat_control_keys",
       "create table _leat_control_keys (key text not null primary key, used_ms integer not null) without rowid"},
      {"_leat_producers",
       "create table _leat_producers (producer_id text not null primary key, last_seq integer not null) without rowid"},
      {"_rindle_client_mutations",
       "create table _rindle_client_mutations (client_id text not null primary key, last_mutation_id integer not null) "
       "without rowid"},
      {"_leat_migrations",
       "create table _leat_migrations (id text not null primary key, applied_at integer not null, checksum text, "
       "content_checksum text not null, kind text not null, cursor text not null) without rowid"},
      {"_leat_floors",
       "create table _leat_floors (ledger text not null primary key, floor_ms integer not null) without rowid"},
  }};
  return kTables;
}

}  // namespace leat::master
