// The system tables: dedup ledgers and the migration journal. They are data, so they are in the log and on every
// follower.
#pragma once

#include <span>
#include <string_view>

namespace leat::master {

// In order; each statement is one SchemaChange of a new database's first transaction.
std::span<const std::string_view> system_schema();

}  // namespace leat::master
