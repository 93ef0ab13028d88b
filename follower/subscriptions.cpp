#include "follower/subscriptions.h"

#include <algorithm>
#include <boost/json.hpp>

#include "follower/live_json.h"
#include "sqlclient/wire/json_text.h"

namespace leat::follower {

namespace json = boost::json;

namespace {

constexpr int kComparatorVersion = 2;
constexpr std::string_view kClientMutationsTable = "_rindle_client_mutations";
constexpr std::string_view kClientMutationsQuery = "_rindle/clientLmid";

std::shared_ptr<const std::string> encode_batch(const TableQuery& query, const std::vector<DeltaOp>& ops,
                                                std::int64_t steps) {
  auto body = std::make_shared<std::string>();
  std::string& out = *body;
  out = "\"normalizedFp\":\"" + query.normalized_fp + "\",\"cv\":" + std::to_string(steps) + ",\"ops\":[";
  std::string table = "{\"table\":";
  wire::append_string(table, query.table.name);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (i > 0) out += ',';
    out += table;
    const DeltaOp& op = ops[i];
    switch (op.kind) {
      case DeltaOp::Kind::kAdd:
        out += ",\"op\":\"add\",\"row\":";
        append_json_row(out, query, op.after);
        break;
      case DeltaOp::Kind::kRemove:
        out += ",\"op\":\"remove\",\"row\":";
        append_json_row(out, query, op.before);
        break;
      case DeltaOp::Kind::kEdit:
        out += ",\"op\":\"edit\",\"old\":";
        append_json_row(out, query, op.before);
        out += ",\"new\":";
        append_json_row(out, query, op.after);
        break;
    }
    out += '}';
  }
  out += "]}}";
  return body;
}

std::string batch_head(QueryId query, std::int64_t epoch, std::int64_t seq) {
  return "{\"t\":\"nbatch\",\"queryId\":" + std::to_string(query.value) +
         ",\"batch\":{\"epoch\":" + std::to_string(epoch) + ",\"seq\":" + std::to_string(seq) + ",";
}

std::string_view string_at(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

std::optional<QueryId> query_id(const json::object& object) {
  const json::value* value = object.if_contains("queryId");
  if (value == nullptr || !value->is_number()) return std::nullopt;
  boost::system::error_code failed;
  const auto number = value->to_number<std::int64_t>(failed);
  if (failed) return std::nullopt;
  return QueryId{number};
}

}  // namespace

struct Subscriptions::Lease {
  std::string materialization;  // key in materializations_
  std::int64_t expires_ms = 0;
  std::optional<std::int64_t> subscribers_max;
  std::int64_t subscribers = 0;
};

struct Subscriptions::Materialization {
  std::string key;  // in materializations_
  std::string id;
  std::string query_key;
  std::string name;
  std::shared_ptr<const TableQuery> query;
  std::optional<LiveQueryId> running;  // from the first subscriber on
  bool is_pinned = false;
  std::int64_t idle_ttl_ms = idle_ttl_ms_default;
  std::int64_t used_until_ms = 0;  // of the last lease or subscription seen
  std::set<std::pair<ConnectionId, QueryId>> subscribers;
};

struct Subscriptions::Subscription {
  Materialization* materialization = nullptr;
  std::string lease_token;
  std::int64_t epoch = 1;
  std::int64_t seq = 0;  // of the next batch
};

struct Subscriptions::Connection {
  ConnectionId id = 0;
  std::shared_ptr<WebSocket> socket;
  std::optional<ClientId> client;
  std::unordered_map<QueryId, Subscription> subscriptions;
  bool is_shed = false;
};

Subscriptions::Subscriptions(Options options, Random& random) : options_(std::move(options)), random_(random) {}
Subscriptions::~Subscriptions() = default;

Result<Subscriptions::Materialization*> Subscriptions::acquire(std::shared_ptr<const TableQuery> query,
                                                               const std::string& visibility_key, bool& reused) {
  std::string key = std::to_string(visibility_key.size()) + ':' + visibility_key + query->canonical;
  auto& slot = materializations_[key];
  reused = slot != nullptr;
  if (!reused) {
    slot = std::make_unique<Materialization>();
    slot->key = std::move(key);
    slot->id = "mat-" + std::to_string(next_materialization_++);
    slot->query_key = query_key(query->canonical, visibility_key);
    slot->query = std::move(query);
  }
  return slot.get();
}

Result<Materialized> Subscriptions::materialize(const MaterializeRequest& request, const View& view) {
  LEAT_ASSIGN(TableQuery bound, bind_query(request.ast, view.catalog));
  if (leases_.size() >= leases_max) {
    return make_error(ErrorCode::kLimit, "more than " + std::to_string(leases_max) + " leases", RetryScope::kRequest);
  }
  Materialized answer;
  LEAT_ASSIGN(Materialization * materialization,
              acquire(std::make_shared<const TableQuery>(std::move(bound)), request.visibility_key, answer.reused));
  if (request.is_pinned) {
    materialization->is_pinned = true;
    materialization->name = request.name;
  }
  materialization->idle_ttl_ms = request.idle_ttl_ms;
  Lease lease{materialization->key, view.now_ms + std::clamp<std::int64_t>(request.lease_ttl_ms, 1, lease_ttl_ms_max),
              request.subscribers_max, 0};
  materialization->used_until_ms = std::max(materialization->used_until_ms, lease.expires_ms);
  answer.lease_token = "lease-" + random_.hex(16);
  answer.materialization_id = materialization->id;
  answer.query_key = materialization->query_key;
  leases_.emplace(answer.lease_token, std::move(lease));
  return answer;
}

bool Subscriptions::dematerialize(std::string_view id, std::string_view key, std::string_view name) {
  std::vector<Materialization*> found;
  for (const auto& [text, materialization] : materializations_) {
    const bool is_meant = (!id.empty() && materialization->id == id) ||
                          (!key.empty() && materialization->query_key == key) ||
                          (!name.empty() && materialization->name == name);
    if (is_meant) found.push_back(materialization.get());
  }
  for (Materialization* materialization : found) {
    fault(*materialization, "the materialization was removed");
    remove(*materialization);
  }
  return !found.empty();
}

void Subscriptions::remove(Materialization& materialization) {
  if (materialization.running) {
    engine_.stop(*materialization.running);
    running_.erase(*materialization.running);
  }
  std::erase_if(leases_, [&](const auto& entry) { return entry.second.materialization == materialization.key; });
  const std::string key = materialization.key;
  materializations_.erase(key);
}

void Subscriptions::open(ConnectionId id, std::shared_ptr<WebSocket> socket) {
  auto connection = std::make_unique<Connection>();
  connection->id = id;
  connection->socket = std::move(socket);
  connections_.emplace(id, std::move(connection));
}

void Subscriptions::close(ConnectionId id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = *found->second;
  while (!connection.subscriptions.empty()) end_subscription(connection, connection.subscriptions.begin()->first);
  connections_.erase(found);
}

void Subscriptions::message(ConnectionId id, std::string_view text, const View& view) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = *found->second;
  boost::system::error_code failed;
  const json::value frame = json::parse({text.data(), text.size()}, failed);
  const json::object* object = failed ? nullptr : frame.if_object();
  if (object == nullptr) return;
  const std::string_view kind = string_at(*object, "t");
  if (kind == "init") {
    const std::string_view client = string_at(*object, "clientID");
    if (!client.empty()) connection.client = ClientId(std::string(client));
    return;
  }
  const std::optional<QueryId> query = query_id(*object);
  if (!query) return;
  if (kind == "unsubscribe") end_subscription(connection, *query);
  if (kind == "subscribe") {
    subscribe(connection, *query, string_at(*object, "leaseToken"), string_at(*object, "name"), view);
  }
}

void Subscriptions::subscribe(Connection& connection, QueryId query, std::string_view lease_token,
                              std::string_view name, const View& view) {
  if (lease_token.empty()) {
    if (name.empty()) return send_error(connection, query, "subscribe needs a leaseToken");
    if (name != kClientMutationsQuery) {
      return send_error(connection, query, "unknown query \"" + std::string(name) + "\": subscribe with a leaseToken");
    }
    if (!connection.client) return send_error(connection, query, std::string(name) + " needs init first");
    const changelog::TableSchema* table = view.catalog.find(kClientMutationsTable);
    if (table == nullptr) return send_error(connection, query, "this database is not ready", "faulted");
    QueryAst ast;
    ast.table = kClientMutationsTable;
    ast.where.emplace();
    ast.where->kind = ConditionAst::Kind::kSimple;
    ast.where->left.kind = Operand::Kind::kColumn;
    ast.where->left.column = "client_id";
    ast.where->right.literal = Text{connection.client->text()};
    auto bound = bind_table_query(ast, *table);
    if (bound.has_error()) return send_error(connection, query, bound.error().message);
    bool reused = false;
    Materialization& materialization =
        *acquire(std::make_shared<const TableQuery>(std::move(bound).value()), {}, reused).value();
    return start_subscription(connection, query, materialization, view);
  }
  const auto lease = leases_.find(std::string(lease_token));
  if (lease == leases_.end()) return send_error(connection, query, "unknown lease", "lease_expired");
  if (lease->second.expires_ms <= view.now_ms)
    return send_error(connection, query, "the lease is over", "lease_expired");
  const auto old = connection.subscriptions.find(query);
  const bool is_again = old != connection.subscriptions.end() && old->second.lease_token == lease_token;
  if (!is_again && lease->second.subscribers_max && lease->second.subscribers >= *lease->second.subscribers_max) {
    return send_error(connection, query, "the lease has its most subscribers", "shed");
  }
  start_subscription(connection, query, *materializations_.at(lease->second.materialization), view);
  const auto started = connection.subscriptions.find(query);
  if (started == connection.subscriptions.end()) return;
  started->second.lease_token = lease_token;
  if (const auto held = leases_.find(std::string(lease_token)); held != leases_.end()) ++held->second.subscribers;
}

void Subscriptions::start_subscription(Connection& connection, QueryId query, Materialization& materialization,
                                       const View& view) {
  std::int64_t epoch = 1;
  if (const auto old = connection.subscriptions.find(query); old != connection.subscriptions.end()) {
    epoch = old->second.epoch + 1;
  } else if (connection.subscriptions.size() >= subscriptions_per_connection_max) {
    return send_error(connection, query, "too many subscriptions on one connection", "shed");
  }
  std::vector<Row> rows;
  if (materialization.running) {
    auto current = engine_.current_rows(*materialization.running, view.snapshot);
    if (current.has_error()) return send_error(connection, query, current.error().message, "faulted");
    rows = std::move(current).value();
  } else {
    auto started = engine_.start(materialization.query, view.snapshot);
    if (started.has_error()) return send_error(connection, query, started.error().message);
    materialization.running = started->query;
    running_.emplace(started->query, &materialization);
    rows = std::move(started->rows);
  }
  end_subscription(connection, query);
  connection.is_shed = false;
  std::vector<DeltaOp> ops;
  for (Row& row : rows) ops.push_back({DeltaOp::Kind::kAdd, {}, std::move(row)});
  connection.subscriptions[query] = {&materialization, {}, epoch, 1};
  materialization.subscribers.emplace(connection.id, query);
  const TableQuery& table_query = *materialization.query;
  std::string hello = "{\"t\":\"nhello\",\"queryId\":" + std::to_string(query.value) + ",\"bootId\":";
  wire::append_string(hello, options_.boot_id);
  hello += ",\"hello\":{\"epoch\":" + std::to_string(epoch) +
           ",\"comparatorVersion\":" + std::to_string(kComparatorVersion) + ",\"tables\":" + table_query.hello_tables +
           ",\"normalizedFp\":\"" + table_query.normalized_fp + "\"}}";
  send(connection, {true, std::move(hello), nullptr});
  send(connection, {true, batch_head(query, epoch, 0), encode_batch(table_query, ops, steps_)});
  send_progress(connection);
}

void Subscriptions::end_subscription(Connection& connection, QueryId query) {
  const auto found = connection.subscriptions.find(query);
  if (found == connection.subscriptions.end()) return;
  found->second.materialization->subscribers.erase({connection.id, query});
  if (const auto lease = leases_.find(found->second.lease_token); lease != leases_.end()) --lease->second.subscribers;
  connection.subscriptions.erase(found);
}

void Subscriptions::fault(Materialization& materialization, std::string_view message) {
  const auto subscribers = materialization.subscribers;
  for (const auto& [id, query] : subscribers) {
    Connection& connection = *connections_.at(id);
    end_subscription(connection, query);
    send_error(connection, query, message, "faulted");
  }
}

void Subscriptions::shed(Connection& connection) {
  if (connection.is_shed) return;
  connection.is_shed = true;
  ++sheds_;
  while (!connection.subscriptions.empty()) {
    const QueryId query = connection.subscriptions.begin()->first;
    end_subscription(connection, query);
    send_error(connection, query, "this connection does not read fast enough", "shed");
  }
}

void Subscriptions::send(Connection& connection, WebSocketFrame frame) {
  if (connection.is_shed) return;
  // A frame is taken whenever the queue is empty, so that one big snapshot still arrives.
  const std::size_t queued = connection.socket->queued_bytes();
  if (queued > 0 && queued + frame.size() > options_.queue_bytes_max) return shed(connection);
  connection.socket->send(std::move(frame));
}

// Past the bound on purpose: a few bytes for each subscription that ends, and it must arrive.
void Subscriptions::send_error(Connection& connection, QueryId query, std::string_view message, std::string_view code) {
  std::string frame = "{\"t\":\"queryError\",\"queryId\":" + std::to_string(query.value) + ",\"message\":";
  wire::append_string(frame, message);
  if (!code.empty()) {
    frame +=
        ",\"code\":\"" + std::string(code) + "\",\"retryable\":true,\"retryAfterMs\":" + std::to_string(retry_after_ms);
  }
  frame += '}';
  if (connection.socket->queued_bytes() > 2 * options_.queue_bytes_max) {
    connection.socket->close(1013, "does not read");
    return;
  }
  connection.socket->send({true, std::move(frame), nullptr});
}

void Subscriptions::send_progress(Connection& connection) {
  if (!connection.client) return;
  send(connection, {true, "{\"t\":\"progress\",\"frame\":{\"cvMin\":" + std::to_string(steps_) + "}}", nullptr});
}

void Subscriptions::step(const Step& step, const changelog::Catalog* catalog, Snapshot& snapshot) {
  ++steps_;
  const StepResult result = engine_.step(step, catalog, snapshot);
  if (!step.schema_changes().empty() && catalog != nullptr) forget_changed_tables(*catalog);
  std::set<ConnectionId> reached;
  for (const QueryDelta& delta : result.deltas) {
    Materialization& materialization = *running_.at(delta.query);
    if (materialization.subscribers.empty()) continue;
    const auto body = encode_batch(*materialization.query, delta.ops, steps_);
    const auto subscribers = materialization.subscribers;
    for (const auto& [id, query] : subscribers) {
      Connection& connection = *connections_.at(id);
      const auto subscription = connection.subscriptions.find(query);
      if (subscription == connection.subscriptions.end()) continue;
      const std::int64_t seq = subscription->second.seq++;
      send(connection, {true, batch_head(query, subscription->second.epoch, seq), body});
      reached.insert(id);
    }
  }
  for (const ConnectionId id : reached) send_progress(*connections_.at(id));
  for (const LiveQueryId id : result.ended) {
    Materialization& materialization = *running_.at(id);
    fault(materialization, "the schema has changed");
    remove(materialization);
  }
}

void Subscriptions::fault_all(std::string_view message) {
  ++steps_;
  for (const auto& [key, materialization] : materializations_) {
    materialization->running.reset();
    fault(*materialization, message);
  }
  running_.clear();
  engine_.stop_all();
}

void Subscriptions::forget_changed_tables(const changelog::Catalog& catalog) {
  std::vector<Materialization*> changed;
  for (const auto& [key, materialization] : materializations_) {
    if (materialization->running) continue;  // the engine ends those
    const changelog::TableSchema* now = catalog.find(materialization->query->table.name);
    if (now == nullptr || !same_shape(*now, materialization->query->table)) changed.push_back(materialization.get());
  }
  for (Materialization* materialization : changed) remove(*materialization);
}

void Subscriptions::sweep(std::int64_t now_ms) {
  std::erase_if(leases_, [now_ms](const auto& entry) { return entry.second.expires_ms <= now_ms; });
  std::vector<Materialization*> unused;
  for (const auto& [key, materialization] : materializations_) {
    if (!materialization->subscribers.empty()) {
      materialization->used_until_ms = std::max(materialization->used_until_ms, now_ms);
    } else if (!materialization->is_pinned && materialization->idle_ttl_ms <= now_ms - materialization->used_until_ms) {
      unused.push_back(materialization.get());
    }
  }
  for (Materialization* materialization : unused) remove(*materialization);
}

Subscriptions::Counts Subscriptions::counts() const {
  Counts counts;
  counts.connections = connections_.size();
  counts.leases = leases_.size();
  counts.materializations = materializations_.size();
  counts.sheds = sheds_;
  for (const auto& [id, connection] : connections_) {
    counts.subscriptions += connection->subscriptions.size();
    counts.queued_bytes += connection->socket->queued_bytes();
  }
  return counts;
}

}  // namespace leat::follower
