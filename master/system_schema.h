// The system tables: dedup ledgers and the migration journal. They are data, so they are in the log and on every
// follower.
#pragma once

#include <span>
#include <string_view>

namespace leat::master {

struct SystemTable {
  std::string_view name;
  std::string_view sql;  // creates it
};
std::span<const SystemTable> system_schema();

}  // namespace leat::master
