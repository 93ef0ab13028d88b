#include "sqlclient/cli/sql_command.h"

#include <chrono>
#include <iostream>
#include <thread>

#include "core/clock.h"
#include "core/random.h"
#include "sqlclient/cli/json_value.h"
#include "sqlclient/cli/parameter.h"
#include "sqlclient/cli/text_table.h"

namespace leat::cli {
namespace {

namespace json = boost::json;

constexpr int attempts_max = 4;
constexpr std::chrono::milliseconds kFirstDelay{100};

std::string new_idempotency_key() {
  return "sql1." + std::to_string(system_clock().now().value) + "." + system_random().hex(16);
}

// The error that an answer carries; `may_repeat` when the same request may be sent again.
struct Refusal {
  Error error;
  bool may_repeat = false;
};

Refusal refusal(int status, const json::value& answer) {
  std::string message = "the server answered HTTP " + std::to_string(status);
  std::string code;
  bool may_repeat = false;
  if (const json::object* object = answer.if_object()) {
    const auto text = [&](std::string_view name) -> std::string {
      const json::value* field = object->if_contains(name);
      return field != nullptr && field->is_string() ? std::string(field->get_string()) : std::string();
    };
    code = text("code");
    may_repeat = text("retry_scope") == "request";
    if (const std::string said = text("message"); !said.empty()) message = said;
    if (const std::string said = text("error"); !said.empty()) message = said;
  }
  if (!code.empty()) message += " (" + code + ")";
  return {make_error(status == 503 ? ErrorCode::kUnavailable : ErrorCode::kSqliteError, message), may_repeat};
}

Result<std::string> execute(const ServerAddress& server, const std::string& body) {
  HttpClient client(server.url);
  HttpHeaders headers = server.headers();
  headers.emplace_back("Leat-Values", "blob");
  std::chrono::milliseconds delay = kFirstDelay;
  for (int attempt = 1;; ++attempt) {
    Error error;
    bool may_repeat = true;
    if (Result<HttpClientResponse> response = client.request("POST", "/v1/sql/execute", body, headers);
        response.has_error()) {
      error = response.error();
    } else if (response->status == 200) {
      return std::move(response->body);
    } else {
      boost::system::error_code failed;
      Refusal refused = refusal(response->status, json::parse(response->body, failed));
      error = std::move(refused.error);
      may_repeat = refused.may_repeat;
    }
    if (!may_repeat || attempt == attempts_max) return error;
    std::this_thread::sleep_for(delay);
    delay *= 2;
  }
}

Result<void> print_result(const json::value& answer, std::ostream& out) {
  const json::object& result = answer.at("result").as_object();
  std::vector<std::string> columns;
  for (const json::value& column : result.at("columns").as_array()) {
    columns.emplace_back(column.at("name").as_string());
  }
  std::vector<Row> rows;
  for (const json::value& line : result.at("rows").as_array()) {
    Row& row = rows.emplace_back();
    for (const json::value& cell : line.as_array()) {
      LEAT_ASSIGN(Value value, from_json(cell));
      row.push_back(std::move(value));
    }
  }
  if (!columns.empty()) {
    out << text_table(columns, rows);
    out << rows.size() << (rows.size() == 1 ? " row\n" : " rows\n");
  }
  const json::value& cursor = answer.at("commit_cursor");
  if (cursor.is_string()) {
    const auto changed = result.at("rows_affected").to_number<std::int64_t>();
    out << changed << (changed == 1 ? " row changed" : " rows changed");
    if (const json::value& rowid = result.at("last_insert_rowid"); rowid.is_string()) {
      out << ", rowid " << std::string_view(rowid.get_string());
    }
    out << ", cursor " << std::string_view(cursor.get_string()) << '\n';
  } else if (columns.empty()) {
    out << "nothing changed\n";
  }
  return boost::system::in_place_value;
}

}  // namespace

ExitCode run_sql(const SqlOptions& options, std::ostream& out) {
  Result<ServerAddress> server = resolve(options.server);
  if (server.has_error()) return report(server.error());
  json::array arguments;
  for (const std::string& parameter : options.parameters) {
    arguments.push_back(to_tagged_json(parse_parameter(parameter)));
  }
  const json::object request{{"statement", json::object{{"sql", options.sql}, {"args", arguments}}},
                             {"idempotency_key", new_idempotency_key()}};
  Result<std::string> body = execute(*server, json::serialize(request));
  if (body.has_error()) return report(body.error());
  if (options.json) {
    out << *body << '\n';
    return kDone;
  }
  try {
    if (Result<void> printed = print_result(json::parse(*body), out); printed.has_error()) {
      return report(printed.error());
    }
  } catch (const std::exception& error) {
    return report(make_error(ErrorCode::kInternal, std::string("not an answer of a Leat server: ") + error.what()));
  }
  return kDone;
}

}  // namespace leat::cli
