#include "follower/read_service.h"

#include <atomic>
#include <boost/json.hpp>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "changelog/state.h"
#include "core/reader_pool.h"
#include "follower/live_json.h"
#include "follower/subscriptions.h"
#include "sqlclient/wire/json_document.h"
#include "sqlclient/wire/json_text.h"
#include "sqlclient/wire/requests.h"

namespace leat::follower {

namespace json = boost::json;
using changelog::AppliedBlock;
using changelog::Catalog;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kSweepInterval{500};
constexpr std::size_t body_depth_max = 256;

class ConnectionSnapshot final : public Snapshot {
 public:
  explicit ConnectionSnapshot(sqlite::Connection& connection) : connection_(connection) {}
  Result<std::vector<Row>> rows(const SqlText& text, std::size_t rows_max) override {
    LEAT_ASSIGN(auto statement, connection_.prepare_cached(text.sql, sqlite::Access::kInternal));
    for (std::size_t i = 0; i < text.parameters.size(); ++i) {
      statement->bind(static_cast<int>(i) + 1, text.parameters[i]);
    }
    std::vector<Row> rows;
    while (true) {
      LEAT_ASSIGN(const bool has_row, statement->step());
      if (!has_row) return rows;
      if (rows.size() == rows_max) {
        return make_error(ErrorCode::kResultLimit,
                          "the query holds more than " + std::to_string(query_rows_max) + " rows");
      }
      Row& row = rows.emplace_back();
      for (int i = 0; i < statement->column_count(); ++i) row.push_back(statement->column(i));
    }
  }

 private:
  sqlite::Connection& connection_;
};

// A read transaction that ends with its scope.
class ReadTransaction {
 public:
  static Result<ReadTransaction> begin(sqlite::Connection& connection) {
    LEAT_TRY(connection.execute("begin"));
    return ReadTransaction(connection);
  }
  ReadTransaction(ReadTransaction&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
  ReadTransaction& operator=(ReadTransaction&&) = delete;
  ~ReadTransaction() {
    if (connection_ != nullptr && connection_->in_transaction()) static_cast<void>(connection_->execute("rollback"));
  }

 private:
  explicit ReadTransaction(sqlite::Connection& connection) : connection_(&connection) {}
  sqlite::Connection* connection_;
};

std::string error_body(std::string_view message) {
  std::string body = "{\"error\":";
  wire::append_string(body, message);
  return body + '}';
}

int status_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kQueueFull:
    case ErrorCode::kUnavailable:
      return 503;
    case ErrorCode::kResultLimit:
      return 413;
    default:
      return 400;
  }
}

std::string text_at(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::optional<std::int64_t> number_at(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  boost::system::error_code failed;
  const auto number = value->to_number<std::int64_t>(failed);
  if (failed || number < 0) return std::nullopt;
  return number;
}

Result<json::object> parse_body(const std::string& body) {
  auto value = wire::parse_json(body, {}, body_depth_max);
  if (value.has_error() || !value->is_object()) return make_error(ErrorCode::kStatementInvalid, "invalid JSON body");
  return std::move(value->get_object());
}

Result<QueryAst> parse_ast(const json::object& body) {
  const json::value* ast = body.if_contains("ast");
  if (ast == nullptr) return make_error(ErrorCode::kStatementInvalid, "invalid ast");
  return parse_query(*ast);
}

Result<std::string> answer_schema(sqlite::Connection& connection) {
  LEAT_ASSIGN(const auto catalog, Catalog::load(connection));
  std::string out = "{\"tables\":[";
  bool is_first = true;
  for (const changelog::TableSchema& table : catalog->tables()) {
    if (changelog::is_system_table(table.name) || table.name.starts_with("sqlite_") ||
        table.check_replicable().has_error()) {
      continue;
    }
    out += is_first ? "{\"name\":" : ",{\"name\":";
    is_first = false;
    wire::append_string(out, table.name);
    out += ",\"columns\":[";
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const changelog::TableColumn& column = table.columns[i];
      out += i == 0 ? "{\"name\":" : ",{\"name\":";
      wire::append_string(out, column.name);
      out += ",\"type\":\"" + std::string(to_text(live_type(column.declared_type))) + "\",\"nullable\":";
      out += column.not_null || column.key_position > 0 ? "false}" : "true}";
    }
    out += "],\"primaryKey\":[";
    for (std::size_t i = 0; i < table.primary_key.size(); ++i) {
      if (i > 0) out += ',';
      wire::append_string(out, table.columns[static_cast<std::size_t>(table.primary_key[i])].name);
    }
    out += "]}";
  }
  return out + "]}";
}

Result<std::string> answer_migrations(sqlite::Connection& connection) {
  std::string out = "{\"migrations\":[";
  LEAT_ASSIGN(const auto catalog, Catalog::load(connection));
  if (catalog->find("_leat_migrations") == nullptr) return out + "]}";
  LEAT_ASSIGN(auto statement,
              connection.prepare_cached("select id, applied_at, content_checksum, kind from _leat_migrations "
                                        "order by cursor, id",
                                        sqlite::Access::kInternal));
  bool is_first = true;
  while (true) {
    LEAT_ASSIGN(const bool has_row, statement->step());
    if (!has_row) return out + "]}";
    out += is_first ? "{\"id\":" : ",{\"id\":";
    is_first = false;
    wire::append_string(out, statement->column_bytes(0));
    out += ",\"appliedAt\":" + std::to_string(statement->column_int64(1)) + ",\"contentChecksum\":";
    wire::append_string(out, statement->column_bytes(2));
    out += ",\"kind\":";
    wire::append_string(out, statement->column_bytes(3));
    out += '}';
  }
}

Result<std::string> answer_read(sqlite::Connection& connection, const wire::Statement& request) {
  const auto told = [](Error error) {
    error.message = "sqlite error during read: " + error.message;
    return error;
  };
  auto compiled = connection.prepare_cached(request.sql, sqlite::Access::kRead);
  if (compiled.has_error()) {
    Error error = std::move(compiled).error();
    if (error.code == ErrorCode::kStatementUnsupported) error.message = "attempt to write a readonly database";
    return told(std::move(error));
  }
  LEAT_TRY(wire::bind(**compiled, request));
  std::string out;
  auto answered = wire::append_control_read(out, **compiled, wire::AnswerLimits{});
  if (answered.has_error()) return told(std::move(answered).error());
  return out;
}

// The catalog of the schema that a read transaction sees, loaded once for each schema. Any thread.
class SharedCatalog {
 public:
  // `connection` is in a read transaction.
  Result<std::shared_ptr<const Catalog>> of(sqlite::Connection& connection) {
    LEAT_ASSIGN(auto statement, connection.prepare_cached("pragma main.schema_version", sqlite::Access::kInternal));
    LEAT_TRY(statement->step());
    const std::int64_t version = statement->column_int64(0);
    {
      const std::lock_guard lock(mutex_);
      if (newest_ != nullptr && newest_->schema_version() == version) return newest_;
    }
    LEAT_ASSIGN(auto loaded, Catalog::load(connection));
    const std::lock_guard lock(mutex_);
    if (newest_ == nullptr || newest_->schema_version() < version) newest_ = loaded;
    return loaded;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const Catalog> newest_;
};

Result<std::string> answer_query(sqlite::Connection& connection, SharedCatalog& catalogs, const QueryAst& ast,
                                 const std::string& visibility_key, std::int64_t steps, const std::string& boot_id) {
  LEAT_ASSIGN(const ReadTransaction transaction, ReadTransaction::begin(connection));
  LEAT_ASSIGN(const auto catalog, catalogs.of(connection));
  LEAT_ASSIGN(const TableQuery query, bind_query(ast, *catalog));
  ConnectionSnapshot snapshot(connection);
  LEAT_ASSIGN(const std::vector<Row> rows, run_query(query, snapshot));
  std::string out = "{\"rows\":[";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    out += r == 0 ? "{\"cols\":{" : ",{\"cols\":{";
    for (std::size_t i = 0; i < query.selected.size(); ++i) {
      const auto column = static_cast<std::size_t>(query.selected[i]);
      if (i > 0) out += ',';
      wire::append_string(out, query.table.columns[column].name);
      out += ':';
      append_json_cell(out, rows[r][column], query.types[column]);
    }
    out += "}}";
  }
  out += "],\"cvMin\":" + std::to_string(steps) + ",\"queryKey\":\"" + query_key(query.canonical, visibility_key) +
         "\",\"bootId\":\"" + boot_id + "\",\"schema\":{\"comparatorVersion\":2,\"epoch\":0,\"normalizedFp\":\"" +
         query.normalized_fp + "\",\"tables\":" + query.hello_tables + "}}";
  return out;
}

}  // namespace

struct ReadingHalf::Impl : std::enable_shared_from_this<ReadingHalf::Impl> {
  using Task = std::function<void(const Subscriptions::View&)>;
  struct WaitingTable {
    MaterializeRequest request;
    std::shared_ptr<HttpReply> reply;
    std::int64_t deadline_ms;
  };
  struct WaitingCursor {
    Cursor cursor;
    std::int64_t deadline_ms;
    std::function<void(bool)> done;
  };

  Impl(Options given, Clock& time, Random& random_source, MetricsRegistry& metrics)
      : options(std::move(given)),
        clock(time),
        boot_id(random_source.hex(8)),
        subscriptions({boot_id, options.queue_bytes_max}, random_source),
        step_seconds(metrics.histogram("leat_live_step_seconds", "Time from a block's arrival to its frames queued",
                                       latency_seconds_buckets())),
        steps_total(metrics.counter("leat_live_steps_total", "Steps of the live engine")),
        sheds_total(
            metrics.counter("leat_live_sheds_total", "Connections that lost their subscriptions for being slow")),
        queries(metrics.gauge("leat_live_queries", "Live queries under way")),
        subscribers(metrics.gauge("leat_live_subscriptions", "Subscriptions under way")),
        evaluations(metrics.gauge("leat_live_evaluations", "Row changes put to queries since the start")) {
    readers = std::make_unique<ReaderPool>(ReaderPool::Options{
        .path = options.database_path, .on_open = [](sqlite::Connection& c) { return register_live_functions(c); }});
  }

  std::int64_t now_ms() const { return clock.monotonic_us() / 1000; }

  // The engine thread.
  void run() {
    std::unique_lock lock(mutex);
    auto next_sweep = std::chrono::steady_clock::now() + kSweepInterval;
    while (!stopping) {
      changed.wait_until(lock, next_sweep, [this] { return stopping || !feed.empty() || !tasks.empty(); });
      if (stopping) break;
      std::vector<Task> due;
      due.swap(tasks);
      const bool has_work = !due.empty() || !feed.empty();
      lock.unlock();
      if (has_work) turn(due);
      if (std::chrono::steady_clock::now() >= next_sweep) {
        next_sweep = std::chrono::steady_clock::now() + kSweepInterval;
        sweep();
      }
      lock.lock();
    }
    lock.unlock();
    for (WaitingCursor& waiting : waiting_cursors) waiting.done(false);
    waiting_cursors.clear();
    waiting_tables.clear();
  }

  // One snapshot: the blocks up to it as a step, then what was asked meanwhile.
  void turn(const std::vector<Task>& due) {
    const auto begun = std::chrono::steady_clock::now();
    auto transaction = ReadTransaction::begin(*connection);
    if (transaction.has_error()) return put_back(due);
    const auto state = changelog::read_state(*connection);
    if (state.has_error()) return put_back(due);
    const Cursor snapshot_cursor = state->has_value() ? (*state)->applied : Cursor();
    ConnectionSnapshot snapshot(*connection);
    const Cursor before{processed.load()};
    bool schema_changed = catalog == nullptr;
    if (snapshot_cursor != before) {
      auto blocks = take_blocks(before, snapshot_cursor);
      Step step;
      if (blocks) {
        for (const AppliedBlock& block : *blocks) add_to_step(block, step);
        schema_changed = schema_changed || !step.schema_changes().empty();
      } else {
        schema_changed = true;
      }
      if (schema_changed && !load_catalog()) return put_back(due);
      if (blocks) {
        subscriptions.step(step, catalog.get(), snapshot);
      } else {
        subscriptions.fault_all("the feed of changes has a hole");
      }
      steps = subscriptions.steps();
      steps_total.add();
      step_seconds.observe(std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
      processed = snapshot_cursor.value();
    } else if (schema_changed && !load_catalog()) {
      return put_back(due);
    }
    const Subscriptions::View view{*catalog, snapshot, now_ms()};
    for (const Task& task : due) task(view);
    if (schema_changed) {
      auto waiting = std::exchange(waiting_tables, {});
      for (WaitingTable& table : waiting) materialize(std::move(table), view);
    }
    std::erase_if(waiting_cursors, [&](const WaitingCursor& waiting) {
      if (waiting.cursor > snapshot_cursor) return false;
      waiting.done(true);
      return true;
    });
  }

  // The file cannot be read just now: ask again with the next sweep.
  void put_back(const std::vector<Task>& due) {
    std::unique_lock lock(mutex);
    tasks.insert(tasks.begin(), due.begin(), due.end());
    changed.wait_for(lock, milliseconds(20), [this] { return stopping; });
  }

  bool load_catalog() {
    auto loaded = Catalog::load(*connection);
    if (loaded.has_error()) return false;
    catalog = std::move(loaded).value();
    return true;
  }

  // The blocks after `from` up to `to`; nullopt when the feed does not hold them all.
  std::optional<std::vector<AppliedBlock>> take_blocks(Cursor from, Cursor to) {
    std::unique_lock lock(mutex);
    const bool has_come = changed.wait_for(lock, milliseconds(feed_wait_ms),
                                           [&] { return stopping || (!feed.empty() && feed.back().last >= to); });
    std::vector<AppliedBlock> blocks;
    bool is_whole = has_come && !stopping && from < to;
    Cursor at = from;
    while (!feed.empty() && feed.front().last <= to) {
      AppliedBlock block = std::move(feed.front());
      feed.pop_front();
      if (block.last <= from) continue;
      if (block.first != at.next() && block.first.epoch() == at.epoch()) is_whole = false;
      at = block.last;
      blocks.push_back(std::move(block));
    }
    if (at != to) is_whole = false;
    if (!is_whole) return std::nullopt;
    return blocks;
  }

  void add_to_step(const AppliedBlock& block, Step& step) {
    for (const changelog::Transaction& transaction : *block.transactions) {
      for (const changelog::ChangeRecord& record : transaction.records) {
        if (const auto* row = std::get_if<changelog::RowChange>(&record)) {
          const changelog::TableSchema* table = subscriptions.watched(row->table);
          if (table == nullptr) continue;
          // Rows of another width: a schema change in this very step, which ends the table's queries anyway.
          const std::size_t width = table->columns.size();
          if ((!row->old_row.empty() && row->old_row.size() != width) ||
              (!row->new_row.empty() && row->new_row.size() != width)) {
            continue;
          }
          step.add(*row, *table);
        } else if (const auto* schema = std::get_if<changelog::SchemaChange>(&record)) {
          step.add_schema_change(schema->sql);
        }
      }
    }
  }

  void sweep() {
    const std::int64_t now = now_ms();
    subscriptions.sweep(now);
    std::erase_if(waiting_cursors, [now](const WaitingCursor& waiting) {
      if (waiting.deadline_ms > now) return false;
      waiting.done(false);
      return true;
    });
    std::erase_if(waiting_tables, [this, now](const WaitingTable& waiting) {
      if (waiting.deadline_ms > now) return false;
      answer(*waiting.reply, 400,
             error_body("schema error: unknown table in query tree: " + waiting.request.ast.table));
      return true;
    });
    update_metrics();
  }

  void update_metrics() {
    const Subscriptions::Counts counts = subscriptions.counts();
    queries.set(static_cast<std::int64_t>(subscriptions.engine().queries()));
    subscribers.set(static_cast<std::int64_t>(counts.subscriptions));
    evaluations.set(static_cast<std::int64_t>(subscriptions.engine().evaluations()));
    sheds_total.add(counts.sheds - sheds_total.value());
  }

  void materialize(WaitingTable waiting, const Subscriptions::View& view) {
    auto materialized = subscriptions.materialize(waiting.request, view);
    if (materialized.has_error()) {
      if (materialized.error().code == ErrorCode::kNotFound && waiting.deadline_ms > view.now_ms) {
        waiting_tables.push_back(std::move(waiting));
        return;
      }
      return answer(*waiting.reply, status_of(materialized.error()), error_body(materialized.error().message));
    }
    std::string body = "{\"leaseToken\":\"" + materialized->lease_token + "\",\"materializationId\":\"" +
                       materialized->materialization_id + "\",\"queryKey\":\"" + materialized->query_key +
                       "\",\"reused\":" + (materialized->reused ? "true}" : "false}");
    answer(*waiting.reply, 200, std::move(body));
  }

  std::string stats() const {
    const Lag lag = options.lag ? options.lag() : Lag{};
    const Subscriptions::Counts counts = subscriptions.counts();
    const std::string applied_text = Cursor(processed.load()).to_text();
    return "{\"connections\":" + std::to_string(counts.connections) + ",\"leases\":" + std::to_string(counts.leases) +
           ",\"materializations\":" + std::to_string(counts.materializations) +
           ",\"subscriptions\":" + std::to_string(counts.subscriptions) +
           ",\"wsEgressEvictions\":" + std::to_string(counts.sheds) +
           ",\"wsEgressQueueDepth\":" + std::to_string(counts.queued_bytes) +
           ",\"followerMode\":\"normal\",\"followerModeTransitions\":{},\"followerLastBatchTxns\":0,"
           "\"followerSourceOffset\":\"" +
           applied_text + "\",\"followerLagChanges\":" + std::to_string(lag.writes) +
           ",\"followerLagOffset\":" + std::to_string(lag.writes) +
           ",\"followerStalenessSeconds\":" + std::to_string(lag.age_ms / 1000) +
           ","
           "\"followerLastAppliedAgeSeconds\":0,\"followerDrainRatePerSec\":0,\"followerEstDrainSeconds\":0}";
  }

  static void answer(HttpReply& reply, int status, std::string body) {
    HttpResponse response;
    response.status = status;
    response.body = std::move(body);
    reply.send(std::move(response));
  }
  void post(Task task) {
    {
      const std::lock_guard lock(mutex);
      if (stopping) return;
      tasks.push_back(std::move(task));
    }
    changed.notify_all();
  }
  void read(HttpReply& reply, std::function<Result<std::string>(sqlite::Connection&)> work) {
    auto shared = std::make_shared<HttpReply>(std::move(reply));
    readers->read<std::string>(milliseconds(options.read_ms_max), std::move(work),
                               [self = shared_from_this(), shared](Result<std::string> answered) {
                                 if (answered.has_error()) {
                                   self->answer(*shared, status_of(answered.error()),
                                                error_body(answered.error().message));
                                 } else {
                                   self->answer(*shared, 200, std::move(answered).value());
                                 }
                               });
  }

  void handle_materialize(const json::object& body, HttpReply& reply);
  void handle_dematerialize(const json::object& body, HttpReply& reply);

  const Options options;
  Clock& clock;
  const std::string boot_id;
  SharedCatalog catalogs;
  std::unique_ptr<ReaderPool> readers;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<AppliedBlock> feed;
  std::vector<Task> tasks;
  bool stopping = false;

  std::atomic<std::uint64_t> processed{0};
  std::atomic<std::int64_t> steps{1};
  std::atomic<ConnectionId> next_connection{1};

  // Of the engine thread alone.
  std::unique_ptr<sqlite::Connection> connection;
  std::shared_ptr<const Catalog> catalog;
  Subscriptions subscriptions;
  std::vector<WaitingTable> waiting_tables;
  std::vector<WaitingCursor> waiting_cursors;

  Histogram& step_seconds;
  Counter& steps_total;
  Counter& sheds_total;
  Gauge& queries;
  Gauge& subscribers;
  Gauge& evaluations;
  std::thread thread;
};

void ReadingHalf::Impl::handle_materialize(const json::object& body, HttpReply& reply) {
  auto ast = parse_ast(body);
  if (ast.has_error()) return answer(reply, 400, error_body(ast.error().message));
  WaitingTable waiting{{}, nullptr, now_ms() + table_wait_ms};
  MaterializeRequest& request = waiting.request;
  request.ast = std::move(ast).value();
  request.visibility_key = text_at(body, "visibilityKey");
  request.lease_ttl_ms = number_at(body, "leaseTtlMs").value_or(options.lease_ttl_ms);
  request.subscribers_max = number_at(body, "maxSubscribers");
  if (const json::value* policy = body.if_contains("policy"); policy != nullptr && policy->is_object()) {
    request.is_pinned = text_at(policy->get_object(), "kind") == "pinned";
    request.name = text_at(policy->get_object(), "name");
    request.idle_ttl_ms = number_at(policy->get_object(), "idleTtlMs").value_or(idle_ttl_ms_default);
  }
  waiting.reply = std::make_shared<HttpReply>(std::move(reply));
  post([this, waiting](const Subscriptions::View& view) { materialize(waiting, view); });
}

void ReadingHalf::Impl::handle_dematerialize(const json::object& body, HttpReply& reply) {
  auto shared = std::make_shared<HttpReply>(std::move(reply));
  post([this, shared, id = text_at(body, "materializationId"), key = text_at(body, "queryKey"),
        name = text_at(body, "name")](const Subscriptions::View&) {
    answer(*shared, 200, subscriptions.dematerialize(id, key, name) ? "{\"removed\":true}" : "{\"removed\":false}");
  });
}

ReadingHalf::ReadingHalf(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<ReadingHalf>> ReadingHalf::open(Options options, Clock& clock, Random& random,
                                                       MetricsRegistry& metrics) {
  auto impl = std::make_shared<Impl>(std::move(options), clock, random, metrics);
  LEAT_ASSIGN(impl->connection, sqlite::Connection::open(impl->options.database_path, sqlite::OpenMode::kReadOnly));
  LEAT_TRY(register_live_functions(*impl->connection));
  LEAT_ASSIGN(const auto state, changelog::read_state(*impl->connection));
  if (state) impl->processed = state->applied.value();
  impl->thread = std::thread([raw = impl.get()] { raw->run(); });
  return std::unique_ptr<ReadingHalf>(new ReadingHalf(std::move(impl)));
}

ReadingHalf::~ReadingHalf() { stop(); }

void ReadingHalf::stop() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
  }
  impl_->changed.notify_all();
  if (impl_->thread.joinable()) impl_->thread.join();
  impl_->readers->stop();
  std::vector<Impl::Task> unanswered;
  const std::lock_guard lock(impl_->mutex);
  unanswered.swap(impl_->tasks);
}

void ReadingHalf::publish(const AppliedBlock& block) {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->feed.push_back(block);
  }
  impl_->changed.notify_all();
}

Cursor ReadingHalf::applied() const { return Cursor(impl_->processed.load()); }
const std::string& ReadingHalf::boot_id() const { return impl_->boot_id; }

void ReadingHalf::when_applied(Cursor cursor, std::int64_t wait_ms, std::function<void(bool)> done) {
  if (applied() >= cursor) return done(true);
  const std::int64_t deadline = impl_->now_ms() + wait_ms;
  impl_->post([impl = impl_.get(), cursor, deadline, done = std::move(done)](const Subscriptions::View&) {
    impl->waiting_cursors.push_back({cursor, deadline, done});
  });
}

bool ReadingHalf::handle(HttpRequest& request, HttpReply& reply) {
  Impl& impl = *impl_;
  const std::string& path = request.path;
  if (path == "/schema" || path == "/migrations") {
    if (request.method != "GET" && request.method != "POST") return false;
    impl.read(reply, path == "/schema" ? &answer_schema : &answer_migrations);
    return true;
  }
  if (request.method != "POST") return false;
  if (path == "/stats") {
    auto shared = std::make_shared<HttpReply>(std::move(reply));
    impl.post([&impl, shared](const Subscriptions::View&) { impl.answer(*shared, 200, impl.stats()); });
    return true;
  }
  if (path == "/execute-sql-read") {
    auto statement = wire::parse_control_read(request.body);
    if (statement.has_error()) {
      impl.answer(reply, 400, error_body(statement.error().message));
    } else {
      impl.read(reply, [statement = std::move(statement).value()](sqlite::Connection& connection) {
        return answer_read(connection, statement);
      });
    }
    return true;
  }
  if (path != "/materialize" && path != "/dematerialize" && path != "/query") return false;
  auto body = parse_body(request.body);
  if (body.has_error()) {
    impl.answer(reply, 400, error_body(body.error().message));
  } else if (path == "/materialize") {
    impl.handle_materialize(*body, reply);
  } else if (path == "/dematerialize") {
    impl.handle_dematerialize(*body, reply);
  } else {
    auto ast = parse_ast(*body);
    if (ast.has_error()) {
      impl.answer(reply, 400, error_body(ast.error().message));
    } else {
      impl.read(reply, [ast = std::move(ast).value(), visibility = text_at(*body, "visibilityKey"),
                        steps = impl.steps.load(), self = impl_](sqlite::Connection& connection) {
        return answer_query(connection, self->catalogs, ast, visibility, steps, self->boot_id);
      });
    }
  }
  return true;
}

namespace {

// One WebSocket's messages, sent to the engine thread in order.
template <class Impl>
class SubscriptionListener final : public WebSocketListener {
 public:
  SubscriptionListener(std::shared_ptr<Impl> impl, ConnectionId id, std::string affinity)
      : impl_(std::move(impl)), id_(id), affinity_(std::move(affinity)) {}

  void on_open(std::shared_ptr<WebSocket> socket) override {
    if (!affinity_.empty()) {
      std::string frame = "{\"t\":\"affinity\",\"ticket\":";
      wire::append_string(frame, affinity_);
      socket->send({true, frame + '}', nullptr});
    }
    impl_->post([impl = impl_.get(), id = id_, socket = std::move(socket)](const Subscriptions::View&) {
      impl->subscriptions.open(id, socket);
    });
  }
  void on_message(std::string_view message, bool text) override {
    if (!text) return;
    impl_->post([impl = impl_.get(), id = id_, message = std::string(message)](const Subscriptions::View& view) {
      impl->subscriptions.message(id, message, view);
    });
  }
  void on_close() override {
    impl_->post([impl = impl_.get(), id = id_](const Subscriptions::View&) { impl->subscriptions.close(id); });
  }

 private:
  std::shared_ptr<Impl> impl_;
  ConnectionId id_;
  std::string affinity_;
};

}  // namespace

WebSocketAcceptor ReadingHalf::acceptor() {
  return [impl = impl_](const WebSocketUpgrade& upgrade) {
    constexpr std::string_view kProtocol = "rindle.v1";
    WebSocketAccept accept;
    std::string affinity;
    for (const std::string& offered : upgrade.subprotocols) {
      if (offered == kProtocol) accept.subprotocol = kProtocol;
    }
    if (!accept.subprotocol.empty()) affinity = "aff." + impl->boot_id;
    accept.listener = std::make_shared<SubscriptionListener<Impl>>(impl, impl->next_connection++, std::move(affinity));
    return accept;
  };
}

}  // namespace leat::follower
