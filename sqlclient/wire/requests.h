// The bodies of requests, as types. Parsing checks the shape; what the shape means is checked by whoever runs it.
// Errors of every parser: kJsonInvalid for a body that is not JSON, else the code WIRE gives, with a message that names
// the field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/error.h"
#include "core/ids.h"
#include "sqlclient/wire/statement.h"

namespace leat::wire {

enum class Consistency : std::uint8_t { kSession, kStrong, kEventual };

// `/v1/sql/execute` (one statement) and `/v1/sql/batch`.
struct SqlRequest {
  std::vector<Statement> statements;
  std::string idempotency_key;  // empty if absent; not yet checked
  Consistency consistency = Consistency::kSession;
  std::optional<Cursor> session_cursor;
};
Result<SqlRequest> parse_execute(std::string_view body, bool blobs);
Result<SqlRequest> parse_batch(std::string_view body, bool blobs);

// `/v1/sql/execute-multiple`.
struct ScriptRequest {
  std::string sql;
  std::string idempotency_key;  // empty if absent; not yet checked
};
Result<ScriptRequest> parse_script(std::string_view body);

struct MigrationRequest {
  std::string id;
  std::vector<std::string> statements;
  std::optional<std::string> checksum;
  std::optional<std::string> override_hash;
};
Result<MigrationRequest> parse_public_migration(std::string_view body);
// `/migrate` takes one migration or an ordered array of them.
struct ControlMigrations {
  bool is_array = false;
  std::vector<MigrationRequest> migrations;
};
Result<ControlMigrations> parse_control_migrations(std::string_view body);

struct Producer {
  ProducerId id;
  Seq seq;
};
struct Mutation {
  ClientId client;
  Mid mid;
};
struct ControlKey {
  std::string text;  // free text
};
// `/execute-sql-txn`. At most one identity.
struct ControlTransaction {
  std::vector<Statement> statements;
  std::variant<std::monostate, ControlKey, Producer, Mutation> identity;
};
Result<ControlTransaction> parse_control_transaction(std::string_view body);

struct Rejection {
  Mutation mutation;
  std::string reason;
};
Result<Rejection> parse_rejection(std::string_view body);

// `/execute-sql-read`.
Result<Statement> parse_control_read(std::string_view body);

}  // namespace leat::wire
