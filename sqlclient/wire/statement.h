// Statements as requests carry them, and running one on a SQLite connection with its answer written as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/sqlite.h"
#include "core/value.h"

namespace leat::wire {

// The two ways values and results are written (WIRE: "Values on the public SQL plane").
enum class Plane : std::uint8_t {
  kPublic,   // tagged integers; {"columns","rows",...}
  kControl,  // plain JSON cells; {"cols","rows"}
};

struct Statement {
  std::string sql;
  Row positional;
  std::vector<std::pair<std::string, Value>> named;  // names with or without their prefix
  bool has_names = false;                            // the arguments came as an object
  bool wants_rows = true;
};

struct AnswerLimits {
  std::size_t rows_max = 100'000;
  std::size_t bytes_max = 64u << 20;
  bool blobs = false;  // BLOB values may be answered (public plane; the control plane always refuses them)
};

// Binds a statement's arguments. The statement must outlive the next reset. Errors: kStatementInvalid for a wrong
// number of values or a missing name.
Result<void> bind(sqlite::Statement& compiled, const Statement& statement);

// Steps `compiled` to its end and appends its rows as `[[...],...]` to `out`. Errors: SQLite's; kResultLimit;
// kValueUnsupported for a BLOB the client did not ask for, or TEXT that is not UTF-8.
Result<void> append_rows(std::string& out, sqlite::Statement& compiled, Plane plane, const AnswerLimits& limits,
                         bool wants_rows = true);

// What a statement did, beyond its rows.
struct Effects {
  std::int64_t rows_affected = 0;
  std::optional<std::int64_t> last_insert_rowid;
};

// A public-plane result object. `rows` is the JSON that append_rows wrote.
void append_result(std::string& out, const std::vector<sqlite::Column>& columns, std::string_view rows,
                   const Effects& effects);
// Runs a compiled query and appends the control plane's {"cols","rows"}.
Result<void> append_control_read(std::string& out, sqlite::Statement& compiled, const AnswerLimits& limits);
// Runs a compiled query and appends the public plane's result object.
Result<void> append_public_read(std::string& out, sqlite::Statement& compiled, const AnswerLimits& limits,
                                bool wants_rows);

}  // namespace leat::wire
