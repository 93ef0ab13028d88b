// What a request asks for, boiled down to 16 bytes (SHA-256, cut), so that a key used for something else is noticed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "master/ledger_rules.h"
#include "sqlclient/wire/statement.h"

namespace leat::master {

// `kind` separates requests of different paths that carry equal statements.
Fingerprint fingerprint_of(std::string_view kind, const std::vector<wire::Statement>& statements);
// Lowercase SHA-256 hex of the compact JSON array of the statements, in UTF-8 (WIRE: a migration's checksum).
std::string migration_checksum(const std::vector<std::string>& statements);

}  // namespace leat::master
