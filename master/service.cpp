#include "master/service.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/sqlite_script.h"
#include "master/answers.h"
#include "master/fingerprint.h"
#include "master/limits.h"
#include "master/script.h"
#include "sqlclient/wire/errors.h"
#include "sqlclient/wire/requests.h"

namespace leat::master {

namespace {

constexpr std::string_view kPublicPrefix = "/v1/sql/";

constexpr std::array<std::string_view, 8> kPaths{
    "/v1/sql/execute",  "/v1/sql/batch",     "/v1/sql/migrate", "/v1/sql/execute-multiple",
    "/execute-sql-txn", "/execute-sql-read", "/migrate",        "/reject-mutation"};

void send_error(HttpReply& reply, const Error& error, wire::Plane plane) {
  reply.send(wire::error_response(error, plane));
}

ReaderPool::Options reader_options(const std::string& path) {
  ReaderPool::Options options;
  options.path = path;
  return options;
}

Result<IdempotencyKey> parse_required_key(std::string_view text) {
  if (text.empty()) {
    return make_error(ErrorCode::kStatementInvalid, "write request requires a non-empty idempotency_key");
  }
  return IdempotencyKey::parse(text);
}

constexpr std::chrono::milliseconds read_time{statement_read_ms_max};

}  // namespace

// A request of /v1/sql/execute or /v1/sql/batch on its way.
struct MasterService::PendingSql {
  wire::SqlRequest request;
  bool is_batch = false;
  bool blobs = false;
  std::string request_id;
  std::size_t request_bytes = 0;
  HttpReply reply;
  bool has_write = false;
  bool has_schema = false;
};

MasterService::MasterService(Writer& writer, Clock& clock, MetricsRegistry& metrics)
    : writer_(writer),
      clock_(clock),
      shipper_(writer.log(), writer.database_id(), writer.committed(), clock,
               [&writer](Cursor floor) { writer.set_follower_floor(floor); }),
      readers_(reader_options(writer.database_path())) {
  const auto count = [](const std::atomic<std::uint64_t>& value) {
    return [&value] { return static_cast<double>(value.load(std::memory_order_relaxed)); };
  };
  metrics.gauge_callback("leat_master_groups_total", "Group commits since the start", count(writer.counts().groups));
  metrics.gauge_callback("leat_master_writes_total", "Writes taken since the start, refused ones included",
                         count(writer.counts().writes));
  metrics.gauge_callback("leat_master_queue_writes", "Writes waiting for the writer",
                         [&writer] { return static_cast<double>(writer.queued()); });
  metrics.gauge_callback("leat_master_committed_sequence", "Sequence number of the last committed write",
                         [&writer] { return static_cast<double>(writer.committed().sequence()); });
  metrics.gauge_callback("leat_master_log_bytes", "Bytes of the change log retained",
                         [&writer] { return static_cast<double>(writer.log().retained_bytes()); });
  const auto producers = [&writer] { return static_cast<double>(writer.counts().producers.load()); };
  metrics.gauge_callback("leat_master_write_producers", "Distinct producers in the ledger", producers);
  metrics.gauge_callback("rindle_replicator_write_producers", "Distinct producers in the ledger", producers);
}

MasterService::~MasterService() { stop(); }

void MasterService::stop() {
  readers_.stop();
  shipper_.stop();
}

Plane MasterService::plane_of(std::string_view path) {
  return path.starts_with(kPublicPrefix) ? Plane::kPublicSql : Plane::kControl;
}

bool MasterService::serves(const HttpRequest& request) {
  return request.method == "POST" && std::find(kPaths.begin(), kPaths.end(), request.path) != kPaths.end();
}

void MasterService::handle(HttpRequest request, HttpReply reply) {
  const std::string_view path = request.path;
  if (request.method != "POST") {
    reply.send(error_text_response(404, "not found"));
  } else if (path == "/v1/sql/execute") {
    execute_sql(request, std::move(reply), false);
  } else if (path == "/v1/sql/batch") {
    execute_sql(request, std::move(reply), true);
  } else if (path == "/v1/sql/execute-multiple") {
    execute_script(request, std::move(reply));
  } else if (path == "/v1/sql/migrate") {
    migrate_public(request, std::move(reply));
  } else if (path == "/execute-sql-txn") {
    execute_transaction(request, std::move(reply));
  } else if (path == "/execute-sql-read") {
    execute_read(request, std::move(reply));
  } else if (path == "/migrate") {
    migrate_control(request, std::move(reply));
  } else if (path == "/reject-mutation") {
    reject_mutation(request, std::move(reply));
  } else {
    reply.send(error_text_response(404, "not found"));
  }
}

WebSocketAccept MasterService::accept(const WebSocketUpgrade& upgrade, const FrontDoor& door) {
  WebSocketAccept answer;
  if (upgrade.path != "/subscribe") {
    answer.refusal = error_text_response(404, "not found");
  } else if (!door.allows(Plane::kControl, upgrade.authorization)) {
    answer.refusal = error_text_response(401, "unauthorized");
  } else {
    answer.listener = shipper_.listener();
  }
  return answer;
}

Result<void> MasterService::check_session(const wire::SqlRequest& request) const {
  if (!request.session_cursor || *request.session_cursor <= writer_.committed()) return {};
  return make_error(ErrorCode::kCursorHistoryLost, "session cursor " + request.session_cursor->to_text() +
                                                       " is not present in the current master history (head " +
                                                       writer_.committed().to_text() + ")");
}

void MasterService::execute_sql(HttpRequest& request, HttpReply reply, bool is_batch) {
  const bool blobs = request.values == "blob";
  auto parsed = is_batch ? wire::parse_batch(request.body, blobs) : wire::parse_execute(request.body, blobs);
  if (parsed.has_error()) return send_error(reply, parsed.error(), wire::Plane::kPublic);
  if (auto session = check_session(*parsed); session.has_error()) {
    return send_error(reply, session.error(), wire::Plane::kPublic);
  }
  PendingSql pending{std::move(*parsed),  is_batch,        blobs, std::move(request.request_id),
                     request.body.size(), std::move(reply)};
  bool all_known = true;
  for (const auto& statement : pending.request.statements) {
    const auto known = classifier_.find(statement.sql);
    all_known = all_known && known;
    pending.has_write = pending.has_write || known == StatementClass::kWrite;
    pending.has_schema = pending.has_schema || known == StatementClass::kSchema;
  }
  if (all_known && (pending.has_write || pending.has_schema)) return write_sql(pending);
  classify_and_read(std::make_shared<PendingSql>(std::move(pending)));
}

void MasterService::classify_and_read(std::shared_ptr<PendingSql> pending) {
  readers_.read<std::optional<std::string>>(
      read_time, [this, pending](sqlite::Connection& connection) { return try_read(*pending, connection); },
      [this, pending](Result<std::optional<std::string>> answer) {
        if (answer.has_error()) return send_error(pending->reply, answer.error(), wire::Plane::kPublic);
        if (!*answer) return write_sql(*pending);
        pending->reply.send(wire::json_response(std::move(**answer)));
      });
}

// Answers a request that only reads; nullopt for one that has to go to the writer.
Result<std::optional<std::string>> MasterService::try_read(PendingSql& pending, sqlite::Connection& connection) {
  const auto& statements = pending.request.statements;
  wire::AnswerLimits limits;
  limits.blobs = pending.blobs;
  for (const auto& statement : statements) {
    // A statement after DDL, or one that only a write before it makes compile, is the writer's to judge.
    auto compiled = connection.prepare_cached(statement.sql, sqlite::Access::kWrite);
    if (compiled.has_error()) {
      if (pending.has_write || pending.has_schema) return std::optional<std::string>{};
      return std::move(compiled).error();
    }
    const auto statement_class = StatementClassifier::classify((*compiled)->traits());
    classifier_.remember(statement.sql, statement_class);
    pending.has_write = pending.has_write || statement_class == StatementClass::kWrite;
    pending.has_schema = pending.has_schema || statement_class == StatementClass::kSchema;
  }
  if (pending.has_write || pending.has_schema) return std::optional<std::string>{};

  std::string results;
  LEAT_TRY(connection.execute("begin"));
  const auto run = [&]() -> Result<void> {
    for (std::size_t i = 0; i < statements.size(); ++i) {
      if (i > 0) results += ',';
      LEAT_ASSIGN(auto compiled, connection.prepare_cached(statements[i].sql, sqlite::Access::kRead));
      LEAT_TRY(wire::bind(*compiled, statements[i]));
      LEAT_TRY(wire::append_public_read(results, *compiled, limits, statements[i].wants_rows));
    }
    return {};
  };
  auto ran = run();
  if (auto ended = connection.execute("rollback"); ended.has_error() && !ran.has_error()) ran = std::move(ended);
  if (ran.has_error()) return std::move(ran).error();
  return std::optional(pending.is_batch ? batch_answer(results, std::nullopt) : execute_answer(results, std::nullopt));
}

void MasterService::write_sql(PendingSql& pending) {
  const auto refuse = [&](const Error& error) { send_error(pending.reply, error, wire::Plane::kPublic); };
  auto key = parse_required_key(pending.request.idempotency_key);
  if (key.has_error()) return refuse(key.error());
  auto& statements = pending.request.statements;
  const std::string_view kind = pending.is_batch ? "batch" : "execute";
  Write write{changelog::Origin::kSystem,
              std::move(pending.request_id),
              OutcomeGuard{*key, fingerprint_of(kind, statements)},
              StatementsBody{},
              pending.is_batch ? AnswerStyle::kBatch : AnswerStyle::kExecute,
              pending.request_bytes,
              std::move(pending.reply)};
  if (pending.has_schema && !pending.is_batch) {
    wire::MigrationRequest migration;
    migration.id = "sql-operation:" + pending.request.idempotency_key;
    migration.checksum = "";
    migration.statements.push_back(std::move(statements.front().sql));
    write.origin = changelog::Origin::kMigration;
    write.body = MigrationsBody{{std::move(migration)}};
  } else {
    write.body = StatementsBody{std::move(statements), pending.blobs};
  }
  writer_.submit(std::move(write));
}

void MasterService::execute_script(HttpRequest& request, HttpReply reply) {
  const auto refuse = [&](const Error& error) { send_error(reply, error, wire::Plane::kPublic); };
  auto parsed = wire::parse_script(request.body);
  if (parsed.has_error()) return refuse(parsed.error());
  auto key = parse_required_key(parsed->idempotency_key);
  if (key.has_error()) return refuse(key.error());
  auto statements = sqlite::split_script(parsed->sql);
  if (statements.empty()) return refuse(make_error(ErrorCode::kStatementInvalid, "the script holds no SQL statement"));
  if (statements.size() > script_statements_max) {
    return refuse(make_error(ErrorCode::kLimit, "a script holds at most " + std::to_string(script_statements_max) +
                                                    " statements, got " + std::to_string(statements.size())));
  }
  wire::Statement whole;
  whole.sql = std::move(parsed->sql);
  const Fingerprint fingerprint = fingerprint_of("script", {whole});
  ScriptRun::start(writer_, {*key, fingerprint, std::move(statements), std::move(request.request_id)},
                   std::move(reply));
}

void MasterService::migrate_public(HttpRequest& request, HttpReply reply) {
  auto migration = wire::parse_public_migration(request.body);
  if (migration.has_error()) return send_error(reply, migration.error(), wire::Plane::kPublic);
  writer_.submit(Write{changelog::Origin::kMigration,
                       std::move(request.request_id),
                       {},
                       MigrationsBody{{std::move(*migration)}},
                       AnswerStyle::kPublicMigration,
                       request.body.size(),
                       std::move(reply)});
}

void MasterService::migrate_control(HttpRequest& request, HttpReply reply) {
  auto parsed = wire::parse_control_migrations(request.body);
  if (parsed.has_error()) return send_error(reply, parsed.error(), wire::Plane::kPublic);
  writer_.submit(Write{changelog::Origin::kMigration,
                       std::move(request.request_id),
                       {},
                       MigrationsBody{std::move(parsed->migrations)},
                       parsed->is_array ? AnswerStyle::kMigrationList : AnswerStyle::kControlMigration,
                       request.body.size(),
                       std::move(reply)});
}

void MasterService::execute_transaction(HttpRequest& request, HttpReply reply) {
  auto parsed = wire::parse_control_transaction(request.body);
  if (parsed.has_error()) return send_error(reply, parsed.error(), wire::Plane::kControl);
  Write write{changelog::Origin::kSystem,
              std::move(request.request_id),
              {},
              StatementsBody{std::move(parsed->statements), false},
              AnswerStyle::kControl,
              request.body.size(),
              std::move(reply)};
  if (auto* key = std::get_if<wire::ControlKey>(&parsed->identity)) write.guard = std::move(*key);
  if (auto* producer = std::get_if<wire::Producer>(&parsed->identity)) {
    write.origin = changelog::Origin::kProducer;
    write.guard = std::move(*producer);
  }
  if (auto* mutation = std::get_if<wire::Mutation>(&parsed->identity)) {
    write.origin = changelog::Origin::kMutation;
    write.guard = std::move(*mutation);
  }
  writer_.submit(std::move(write));
}

void MasterService::reject_mutation(HttpRequest& request, HttpReply reply) {
  auto rejection = wire::parse_rejection(request.body);
  if (rejection.has_error()) return send_error(reply, rejection.error(), wire::Plane::kControl);
  writer_.submit(Write{changelog::Origin::kMutation, std::move(request.request_id), std::move(rejection->mutation),
                       StatementsBody{}, AnswerStyle::kControl, request.body.size(), std::move(reply)});
}

void MasterService::execute_read(HttpRequest& request, HttpReply reply) {
  auto parsed = wire::parse_control_read(request.body);
  if (parsed.has_error()) return send_error(reply, parsed.error(), wire::Plane::kControl);
  auto statement = std::make_shared<wire::Statement>(std::move(*parsed));
  auto shared_reply = std::make_shared<HttpReply>(std::move(reply));
  readers_.read<std::string>(
      read_time,
      [statement](sqlite::Connection& connection) -> Result<std::string> {
        LEAT_ASSIGN(auto compiled, connection.prepare_cached(statement->sql, sqlite::Access::kRead));
        LEAT_TRY(wire::bind(*compiled, *statement));
        std::string answer;
        LEAT_TRY(wire::append_control_read(answer, *compiled, wire::AnswerLimits{}));
        return answer;
      },
      [shared_reply](Result<std::string> answer) {
        if (!answer.has_error()) return shared_reply->send(wire::json_response(std::move(*answer)));
        Error error = std::move(answer).error();
        if (error.code == ErrorCode::kSqliteError) error.message = "sqlite error during read: " + error.message;
        send_error(*shared_reply, error, wire::Plane::kControl);
      });
}

}  // namespace leat::master
