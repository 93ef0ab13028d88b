// Leases, materialisations and the subscription protocol of every connection (WIRE, "Follower reads and leases",
// "Subscription frames"): a machine fed with messages, deltas and the time. It writes frames to WebSockets and asks for
// rows through a Snapshot; it has no thread, no clock and no file. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "changelog/catalog.h"
#include "core/http.h"
#include "core/ids.h"
#include "core/random.h"
#include "follower/limits.h"
#include "follower/live_engine.h"

namespace leat::follower {

struct MaterializeRequest {
  QueryAst ast;
  std::string visibility_key;
  bool is_pinned = false;
  std::string name;  // of a pinned one; may be empty
  std::int64_t idle_ttl_ms = idle_ttl_ms_default;
  std::int64_t lease_ttl_ms = lease_ttl_ms_default;
  std::optional<std::int64_t> subscribers_max;
};

struct Materialized {
  std::string lease_token;
  std::string materialization_id;
  std::string query_key;
  bool reused = false;
};

using ConnectionId = std::uint64_t;

class Subscriptions {
 public:
  struct Options {
    std::string boot_id;
    std::size_t queue_bytes_max = subscription_queue_bytes_max;
  };
  struct Counts {
    std::size_t connections = 0;
    std::size_t leases = 0;
    std::size_t materializations = 0;
    std::size_t subscriptions = 0;
    std::size_t queued_bytes = 0;
    std::uint64_t sheds = 0;
  };

  Subscriptions(Options options, Random& random);
  ~Subscriptions();

  // What a message needs to know about the database: its schema and rows right after the last step.
  struct View {
    const changelog::Catalog& catalog;
    Snapshot& snapshot;
    std::int64_t now_ms;  // monotonic
  };

  // Errors as bind_query, and kLimit beyond leases_max.
  Result<Materialized> materialize(const MaterializeRequest& request, const View& view);
  // By materialisation id, query key or a pinned one's name.
  bool dematerialize(std::string_view id, std::string_view key, std::string_view name);

  void open(ConnectionId connection, std::shared_ptr<WebSocket> socket);
  void close(ConnectionId connection);
  void message(ConnectionId connection, std::string_view text, const View& view);

  // One step of the engine: its frames, then a progress frame to each connection that got one.
  void step(const Step& step, const changelog::Catalog* catalog, Snapshot& snapshot);
  // Ends every query retryably: the history has a hole, or the file is another.
  void fault_all(std::string_view message);
  // Lets go of expired leases and of materialisations that nobody uses. Call it every second or so.
  void sweep(std::int64_t now_ms);

  std::int64_t steps() const { return steps_; }  // cv
  Counts counts() const;
  const LiveEngine& engine() const { return engine_; }
  // A row change matters to a step only if a running query is over its table.
  const changelog::TableSchema* watched(const std::string& table) const { return engine_.schema_of(table); }

 private:
  struct Materialization;
  struct Subscription;
  struct Connection;
  struct Lease;

  Result<Materialization*> acquire(std::shared_ptr<const TableQuery> query, const std::string& visibility_key,
                                   bool& reused);
  void subscribe(Connection& connection, QueryId query, std::string_view lease_token, std::string_view name,
                 const View& view);
  void start_subscription(Connection& connection, QueryId query, Materialization& materialization, const View& view);
  void end_subscription(Connection& connection, QueryId query);
  void fault(Materialization& materialization, std::string_view message);
  void shed(Connection& connection);
  void send(Connection& connection, WebSocketFrame frame);
  void send_error(Connection& connection, QueryId query, std::string_view message, std::string_view code = {});
  void send_progress(Connection& connection);
  void remove(Materialization& materialization);
  void forget_changed_tables(const changelog::Catalog& catalog);

  Options options_;
  Random& random_;
  LiveEngine engine_;
  std::int64_t steps_ = 1;
  std::uint64_t next_materialization_ = 1;
  std::uint64_t sheds_ = 0;
  std::map<std::string, std::unique_ptr<Materialization>> materializations_;  // by canonical text and visibility
  std::unordered_map<LiveQueryId, Materialization*> running_;
  std::unordered_map<std::string, Lease> leases_;
  std::unordered_map<ConnectionId, std::unique_ptr<Connection>> connections_;
};

}  // namespace leat::follower
