#include "sqlclient/wire/statement.h"

#include <sqlite3.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <unordered_map>

#include "sqlclient/wire/json_text.h"

namespace leat::wire {

namespace {

// Names come with or without their prefix; of two spellings of one name the exact one counts.
Result<void> bind_named(sqlite::Statement& compiled, const Statement& statement) {
  std::unordered_map<std::string_view, std::size_t> at;
  for (std::size_t i = 0; i < statement.named.size(); ++i) at.emplace(statement.named[i].first, i);
  std::vector<bool> used(statement.named.size());
  for (int index = 1; index <= compiled.parameter_count(); ++index) {
    const std::string_view name = compiled.parameter_name(index);
    if (name.empty() || name.front() == '?') {
      return make_error(ErrorCode::kStatementInvalid, "positional placeholder cannot be bound with named args");
    }
    const auto bare = at.find(name.substr(1));
    auto found = at.find(name);
    if (found == at.end()) found = bare;
    if (found == at.end()) {
      return make_error(ErrorCode::kStatementInvalid, "missing named bind value for " + std::string(name));
    }
    compiled.bind(index, statement.named[found->second].second);
    used[found->second] = true;
    if (bare != at.end()) used[bare->second] = true;
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) {
      return make_error(ErrorCode::kStatementInvalid,
                        "named bind \"" + statement.named[i].first + "\" is not used by the statement");
    }
  }
  return {};
}

Error blob_refused(int column, Plane plane) {
  const std::string what = "BLOB result in column " + std::to_string(column);
  return make_error(ErrorCode::kValueUnsupported,
                    plane == Plane::kPublic ? what +
                                                  " is unsupported by the v1 SQL client; ask for it with the header "
                                                  "Leat-Values: blob, or select hex(column)"
                                            : what + " is unsupported here; select hex(column)");
}

Result<void> append_cell(std::string& out, sqlite::Statement& compiled, int column, Plane plane, bool blobs) {
  switch (sqlite3_column_type(compiled.handle(), column)) {
    case SQLITE_NULL:
      out += "null";
      break;
    case SQLITE_INTEGER:
      if (plane == Plane::kPublic) {
        out += R"({"$rindle":"i64","value":")";
        append_integer(out, compiled.column_int64(column));
        out += "\"}";
      } else {
        append_integer(out, compiled.column_int64(column));
      }
      break;
    case SQLITE_FLOAT: {
      const double value = sqlite3_column_double(compiled.handle(), column);
      if (std::isfinite(value)) {
        append_double(out, value);
      } else if (plane == Plane::kPublic) {
        out += R"({"$rindle":"float","value":")";
        out += value > 0 ? "Infinity\"}" : "-Infinity\"}";
      } else {
        out += "null";
      }
      break;
    }
    case SQLITE_TEXT: {
      const std::string_view text = compiled.column_bytes(column);
      if (!is_utf8(text)) {
        return make_error(ErrorCode::kValueUnsupported,
                          "TEXT result in column " + std::to_string(column) +
                              " is not UTF-8; select cast(column as blob) or hex(column)");
      }
      append_string(out, text);
      break;
    }
    default:
      if (plane != Plane::kPublic || !blobs) return blob_refused(column, plane);
      out += R"({"$rindle":"blob","value":)";
      append_base64(out, compiled.column_bytes(column));
      out += '}';
  }
  return {};
}

std::string upper_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

}  // namespace

Result<void> bind(sqlite::Statement& compiled, const Statement& statement) {
  if (statement.has_names) return bind_named(compiled, statement);
  const int expected = compiled.parameter_count();
  if (statement.positional.size() != static_cast<std::size_t>(expected)) {
    return make_error(ErrorCode::kStatementInvalid, "statement expects " + std::to_string(expected) +
                                                        " positional values, got " +
                                                        std::to_string(statement.positional.size()));
  }
  for (int i = 0; i < expected; ++i) compiled.bind(i + 1, statement.positional[static_cast<std::size_t>(i)]);
  return {};
}

Result<void> append_rows(std::string& out, sqlite::Statement& compiled, Plane plane, const AnswerLimits& limits,
                         bool wants_rows) {
  const std::size_t start = out.size();
  std::size_t rows = 0;
  const int columns = compiled.column_count();
  out += '[';
  while (true) {
    auto more = compiled.step();
    if (more.has_error()) return std::move(more).error();
    if (!*more) break;
    if (!wants_rows) continue;
    if (++rows > limits.rows_max) {
      return make_error(ErrorCode::kResultLimit, "the result has more than " + std::to_string(limits.rows_max) +
                                                     " rows; add a LIMIT and read it in pages");
    }
    if (rows > 1) out += ',';
    out += '[';
    for (int column = 0; column < columns; ++column) {
      if (column > 0) out += ',';
      LEAT_TRY(append_cell(out, compiled, column, plane, limits.blobs));
    }
    out += ']';
    if (out.size() - start > limits.bytes_max) {
      return make_error(ErrorCode::kResultLimit, "the result is larger than " + std::to_string(limits.bytes_max) +
                                                     " bytes; add a LIMIT and read it in pages");
    }
  }
  out += ']';
  return {};
}

void append_result(std::string& out, const std::vector<sqlite::Column>& columns, std::string_view rows,
                   const Effects& effects) {
  out += R"({"columns":[)";
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) out += ',';
    out += R"({"decltype":)";
    if (columns[i].declared_type) {
      append_string(out, upper_case(*columns[i].declared_type));
    } else {
      out += "null";
    }
    out += R"(,"name":)";
    append_string(out, columns[i].name);
    out += '}';
  }
  out += R"(],"last_insert_rowid":)";
  if (effects.last_insert_rowid) {
    out += '"';
    append_integer(out, *effects.last_insert_rowid);
    out += '"';
  } else {
    out += "null";
  }
  out += R"(,"rows":)";
  out += rows;
  out += R"(,"rows_affected":)";
  append_integer(out, effects.rows_affected);
  out += R"(,"rows_read":null,"rows_written":null})";
}

Result<void> append_public_read(std::string& out, sqlite::Statement& compiled, const AnswerLimits& limits,
                                bool wants_rows) {
  std::string rows;
  LEAT_TRY(append_rows(rows, compiled, Plane::kPublic, limits, wants_rows));
  append_result(out, compiled.columns(), rows, Effects{});
  return {};
}

Result<void> append_control_read(std::string& out, sqlite::Statement& compiled, const AnswerLimits& limits) {
  out += R"({"cols":[)";
  const auto columns = compiled.columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) out += ',';
    append_string(out, columns[i].name);
  }
  out += R"(],"rows":)";
  LEAT_TRY(append_rows(out, compiled, Plane::kControl, limits));
  out += '}';
  return {};
}

}  // namespace leat::wire
