#include "sqlclient/wire/requests.h"

#include <array>
#include <boost/json.hpp>

#include "core/limits.h"
#include "sqlclient/wire/json_document.h"
#include "sqlclient/wire/json_values.h"
#include "sqlclient/wire/limits.h"

namespace leat::wire {

namespace json = boost::json;

namespace {

Error invalid(std::string message) { return make_error(ErrorCode::kStatementInvalid, std::move(message)); }

std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

std::string_view view(const json::string& text) { return {text.data(), text.size()}; }

// A parsed body and the memory it lives in.
class Document {
 public:
  Result<const json::object*> parse_object(std::string_view body) {
    LEAT_TRY(parse(body));
    if (!root_.is_object()) return make_error(ErrorCode::kJsonInvalid, "invalid JSON body");
    return &root_.get_object();
  }
  Result<void> parse(std::string_view body) {
    LEAT_ASSIGN(root_, parse_json(body, json::storage_ptr(&memory_)));
    return {};
  }
  const json::value& root() const { return root_; }

 private:
  std::array<unsigned char, 8192> buffer_;
  json::monotonic_resource memory_{buffer_.data(), buffer_.size()};
  json::value root_ = json::value(json::storage_ptr(&memory_));
};

using ValueParser = Result<Value> (*)(const json::value&, bool);

Result<void> parse_arguments(const json::value& arguments, ValueParser parser, bool blobs, Statement& statement) {
  if (const auto* list = arguments.if_array()) {
    if (list->size() > static_cast<std::size_t>(bound_values_max)) {
      return make_error(ErrorCode::kLimit, "a statement binds at most " + std::to_string(bound_values_max) +
                                               " values, got " + std::to_string(list->size()));
    }
    statement.positional.reserve(list->size());
    for (const auto& item : *list) {
      LEAT_ASSIGN(auto value, parser(item, blobs));
      statement.positional.push_back(std::move(value));
    }
    return {};
  }
  if (const auto* names = arguments.if_object()) {
    if (names->size() > static_cast<std::size_t>(bound_values_max)) {
      return make_error(ErrorCode::kLimit, "a statement binds at most " + std::to_string(bound_values_max) + " values");
    }
    statement.has_names = true;
    for (const auto& [name, item] : *names) {
      LEAT_ASSIGN(auto value, parser(item, blobs));
      statement.named.emplace_back(std::string(name.data(), name.size()), std::move(value));
    }
    return {};
  }
  return invalid("statement args must be an array or object");
}

Result<Statement> parse_statement(const json::value& source, std::string_view arguments_key, ValueParser parser,
                                  bool blobs) {
  Statement statement;
  const auto* object = source.if_object();
  const auto* sql = object == nullptr ? nullptr : object->if_contains("sql");
  if (sql == nullptr || !sql->is_string()) return invalid("statement missing sql");
  statement.sql = view(sql->get_string());
  if (statement.sql.size() > sql_bytes_max) {
    return make_error(ErrorCode::kLimit, "a statement's text has at most " + std::to_string(sql_bytes_max) +
                                             " bytes, got " + std::to_string(statement.sql.size()));
  }
  const auto* arguments = object->if_contains(json::string_view(arguments_key.data(), arguments_key.size()));
  if (arguments != nullptr && !arguments->is_null()) {
    LEAT_TRY(parse_arguments(*arguments, parser, blobs, statement));
  }
  if (const auto* want_rows = object->if_contains("want_rows"); want_rows != nullptr && !want_rows->is_null()) {
    if (!want_rows->is_bool()) return invalid("want_rows must be a boolean");
    statement.wants_rows = want_rows->get_bool();
  }
  return statement;
}

Result<std::vector<Statement>> parse_statements(const json::array& list, std::string_view arguments_key,
                                                ValueParser parser, bool blobs) {
  if (list.size() > statements_max) {
    return make_error(ErrorCode::kLimit, "a request holds at most " + std::to_string(statements_max) +
                                             " statements, got " + std::to_string(list.size()));
  }
  std::vector<Statement> statements;
  statements.reserve(list.size());
  for (const auto& item : list) {
    LEAT_ASSIGN(auto statement, parse_statement(item, arguments_key, parser, blobs));
    statements.push_back(std::move(statement));
  }
  return statements;
}

// An optional string field: nullopt when absent or null.
Result<std::optional<std::string>> optional_text(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(json::string_view(key.data(), key.size()));
  if (value == nullptr || value->is_null()) return std::optional<std::string>{};
  if (!value->is_string()) return invalid(std::string(key) + " must be a string");
  return std::optional<std::string>(std::string(view(value->get_string())));
}

Result<void> check_consistency(const json::object& object, std::string_view key, Consistency& into) {
  LEAT_ASSIGN(const auto text, optional_text(object, key));
  if (!text) return {};
  if (*text == "session") {
    into = Consistency::kSession;
  } else if (*text == "strong") {
    into = Consistency::kStrong;
  } else if (*text == "eventual") {
    into = Consistency::kEventual;
  } else {
    return invalid(std::string(key) + " must be one of session, strong, or eventual; got " + quoted(*text));
  }
  return {};
}

Result<SqlRequest> finish_sql_request(const json::object& object, SqlRequest request) {
  LEAT_ASSIGN(auto key, optional_text(object, "idempotency_key"));
  if (key) request.idempotency_key = std::move(*key);
  LEAT_TRY(check_consistency(object, "default_consistency", request.consistency));
  LEAT_TRY(check_consistency(object, "consistency", request.consistency));
  LEAT_ASSIGN(const auto cursor, optional_text(object, "session_cursor"));
  if (cursor) {
    request.session_cursor = Cursor::parse(*cursor);
    if (!request.session_cursor) return invalid("session_cursor is not a canonical current-format cursor");
  }
  return request;
}

Result<std::vector<std::string>> parse_migration_statements(const json::object& object) {
  const auto* list = object.if_contains("statements");
  const auto* array = list == nullptr ? nullptr : list->if_array();
  const auto refused = [] { return invalid("migration statements must be a non-empty string array"); };
  if (array == nullptr || array->empty()) return refused();
  if (array->size() > statements_max) {
    return make_error(ErrorCode::kLimit, "a migration holds at most " + std::to_string(statements_max) + " statements");
  }
  std::vector<std::string> statements;
  for (const auto& item : *array) {
    if (!item.is_string()) return refused();
    statements.emplace_back(view(item.get_string()));
  }
  return statements;
}

Result<MigrationRequest> parse_migration(const json::value& source) {
  const auto* object = source.if_object();
  if (object == nullptr) return invalid("a migration must be an object");
  MigrationRequest migration;
  LEAT_ASSIGN(auto id, optional_text(*object, "id"));
  if (id) migration.id = std::move(*id);
  LEAT_ASSIGN(migration.checksum, optional_text(*object, "checksum"));
  LEAT_ASSIGN(migration.override_hash, optional_text(*object, "overrideHash"));
  LEAT_ASSIGN(migration.statements, parse_migration_statements(*object));
  return migration;
}

Result<std::string> required_identity(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(json::string_view(key.data(), key.size()));
  if (value == nullptr || !value->is_string() || value->get_string().empty() ||
      value->get_string().size() > identity_bytes_max) {
    return invalid(std::string(key) + " must be a string of 1 to " + std::to_string(identity_bytes_max) + " bytes");
  }
  return std::string(view(value->get_string()));
}

Result<std::int64_t> required_positive(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(json::string_view(key.data(), key.size()));
  std::int64_t number = 0;
  if (value != nullptr && value->is_int64()) {
    number = value->get_int64();
  } else if (value != nullptr && value->is_double()) {
    const double real = value->get_double();
    if (real >= 1 && real <= static_cast<double>(safe_integer_max) &&
        static_cast<double>(static_cast<std::int64_t>(real)) == real) {
      number = static_cast<std::int64_t>(real);
    }
  }
  if (number < 1 || number > safe_integer_max) return invalid(std::string(key) + " must be a positive safe integer");
  return number;
}

Result<Mutation> parse_mutation(const json::object& object) {
  LEAT_ASSIGN(auto client, required_identity(object, "clientID"));
  LEAT_ASSIGN(const auto mid, required_positive(object, "mid"));
  return Mutation{ClientId(std::move(client)), Mid{mid}};
}

bool has(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(json::string_view(key.data(), key.size()));
  return value != nullptr && !value->is_null();
}

Result<Producer> parse_producer(const json::value& source) {
  const auto* object = source.if_object();
  if (object == nullptr) return invalid("producer must be an object {id, seq}");
  const auto named = [](Error error) {
    error.message = "producer." + error.message;
    return error;
  };
  auto id = required_identity(*object, "id");
  if (id.has_error()) return named(std::move(id).error());
  const auto seq = required_positive(*object, "seq");
  if (seq.has_error()) return named(seq.error());
  return Producer{ProducerId(std::move(*id)), Seq{*seq}};
}

}  // namespace

Result<SqlRequest> parse_execute(std::string_view body, bool blobs) {
  Document document;
  LEAT_ASSIGN(const auto* object, document.parse_object(body));
  const auto* source = object->if_contains("statement");
  if (source == nullptr || source->is_null()) return invalid("request missing statement");
  SqlRequest request;
  LEAT_ASSIGN(auto statement, parse_statement(*source, "args", parse_public_value, blobs));
  request.statements.push_back(std::move(statement));
  return finish_sql_request(*object, std::move(request));
}

Result<SqlRequest> parse_batch(std::string_view body, bool blobs) {
  Document document;
  LEAT_ASSIGN(const auto* object, document.parse_object(body));
  const auto* source = object->if_contains("statements");
  const auto* list = source == nullptr ? nullptr : source->if_array();
  if (list == nullptr) return invalid("request missing statements");
  if (list->empty()) return invalid("batch must contain at least one statement");
  SqlRequest request;
  LEAT_ASSIGN(request.statements, parse_statements(*list, "args", parse_public_value, blobs));
  return finish_sql_request(*object, std::move(request));
}

Result<ScriptRequest> parse_script(std::string_view body) {
  Document document;
  LEAT_ASSIGN(const auto* object, document.parse_object(body));
  LEAT_ASSIGN(auto sql, optional_text(*object, "sql"));
  if (!sql) return invalid("request missing sql");
  if (sql->size() > sql_bytes_max) {
    return make_error(ErrorCode::kLimit, "a script has at most " + std::to_string(sql_bytes_max) + " bytes, got " +
                                             std::to_string(sql->size()));
  }
  LEAT_ASSIGN(auto key, optional_text(*object, "idempotency_key"));
  return ScriptRequest{std::move(*sql), key.value_or("")};
}

Result<MigrationRequest> parse_public_migration(std::string_view body) {
  Document document;
  LEAT_TRY(document.parse_object(body));
  LEAT_ASSIGN(auto migration, parse_migration(document.root()));
  if (migration.id.empty() || !migration.checksum || migration.checksum->empty()) {
    return invalid("migration requires non-empty id, checksum, and statements");
  }
  return migration;
}

Result<ControlMigrations> parse_control_migrations(std::string_view body) {
  Document document;
  LEAT_TRY(document.parse(body));
  ControlMigrations migrations;
  if (const auto* list = document.root().if_array()) {
    migrations.is_array = true;
    for (const auto& item : *list) {
      LEAT_ASSIGN(auto migration, parse_migration(item));
      migrations.migrations.push_back(std::move(migration));
    }
  } else {
    LEAT_ASSIGN(auto migration, parse_migration(document.root()));
    migrations.migrations.push_back(std::move(migration));
  }
  for (const auto& migration : migrations.migrations) {
    if (migration.id.empty()) return invalid("migration requires a non-empty id");
  }
  return migrations;
}

Result<ControlTransaction> parse_control_transaction(std::string_view body) {
  Document document;
  LEAT_ASSIGN(const auto* object, document.parse_object(body));
  ControlTransaction transaction;
  const auto* source = object->if_contains("statements");
  const auto* list = source == nullptr ? nullptr : source->if_array();
  if (list == nullptr) return invalid("statements must be an array of {sql, params}");
  LEAT_ASSIGN(transaction.statements, parse_statements(*list, "params", parse_control_value, false));

  const bool is_mutation = has(*object, "clientID") || has(*object, "mid");
  const bool is_producer = has(*object, "producer");
  if (is_producer && is_mutation) {
    return invalid("producer cannot be combined with clientID or mid: a write has one identity");
  }
  const bool has_key = has(*object, "idempotencyKey");
  if (has_key && (is_producer || is_mutation)) {
    return invalid("idempotencyKey cannot be combined with producer, clientID or mid: a write has one identity");
  }
  if (is_mutation) {
    LEAT_ASSIGN(auto mutation, parse_mutation(*object));
    transaction.identity = std::move(mutation);
  } else if (is_producer) {
    LEAT_ASSIGN(auto producer, parse_producer(*object->if_contains("producer")));
    transaction.identity = std::move(producer);
  } else if (has_key) {
    LEAT_ASSIGN(auto key, required_identity(*object, "idempotencyKey"));
    transaction.identity = ControlKey{std::move(key)};
  }
  return transaction;
}

Result<Rejection> parse_rejection(std::string_view body) {
  Document document;
  LEAT_ASSIGN(const auto* object, document.parse_object(body));
  LEAT_ASSIGN(auto mutation, parse_mutation(*object));
  LEAT_ASSIGN(auto reason, optional_text(*object, "reason"));
  return Rejection{std::move(mutation), reason.value_or("")};
}

Result<Statement> parse_control_read(std::string_view body) {
  Document document;
  LEAT_TRY(document.parse_object(body));
  return parse_statement(document.root(), "params", parse_control_value, false);
}

}  // namespace leat::wire
