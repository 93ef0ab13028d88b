// The bodies of the master's answers (WIRE), as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/http.h"
#include "core/ids.h"
#include "master/migration_runner.h"
#include "master/write.h"

namespace leat::master {

// `results` are result objects, comma-separated; `cursor` is null to the client when nothing changed.
std::string execute_answer(std::string_view results, std::optional<Cursor> cursor);
std::string batch_answer(std::string_view results, std::optional<Cursor> cursor);

std::string script_answer(std::optional<Cursor> cursor);
// The failure of a script's step: the step's own error body with its index and the results of the steps before it.
std::string script_failure(std::string error_body, std::size_t index, std::string_view results);

struct ControlReceipt {
  bool applied = false;
  std::optional<Cursor> cursor;
  std::optional<wire::Mutation> mutation;  // its mid is the client's lmid now
};
std::string control_answer(const ControlReceipt& receipt);

// `head` answers for a list that applied nothing. A failure of a style that carries one migration is not answered here.
std::string migration_answer(AnswerStyle style, const MigrationsOutcome& outcome, Cursor head);

// An error in the shape that the style's path answers.
HttpResponse write_error(const Error& error, AnswerStyle style);

}  // namespace leat::master
