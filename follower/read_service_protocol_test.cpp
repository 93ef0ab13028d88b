// The paths and frames of the reading half, one by one.
#include "follower/read_service_test_support.h"
#include "follower/replication_test_support.h"

namespace leat::follower {
namespace {

constexpr const char* kAllIssues = R"({"table":"issue"})";

std::string text(const json::value& value) { return json::serialize(value); }

TEST_F(ReadingHalfTest, SchemaNamesTheTypesOfThePlane) {
  writer_
      ->execute(
          "create table a_types (b1 bool, b2 boolean, j1 json, j2 jsonb, i1 bigint, i2 int8, i3 integer, i4 int,"
          "s1 text, s2 varchar(20), s3 char, s4 clob, n1 real, n2 numeric, n3 decimal(4,2), n4, k text primary key)")
      .value();
  const auto tables = json::parse(ask("/schema", "", "GET").body).at("tables").as_array();
  ASSERT_EQ(tables.size(), 2u) << "sorted, without system tables";
  const json::object& table = tables[0].as_object();
  std::string types;
  for (const auto& column : table.at("columns").as_array()) {
    types += std::string(column.at("name").as_string()) + ":" + std::string(column.at("type").as_string()) + " ";
    EXPECT_EQ(column.at("nullable").as_bool(), column.at("name").as_string() != "k");
  }
  EXPECT_EQ(types,
            "b1:boolean b2:boolean j1:json j2:json i1:int64 i2:int64 i3:number i4:number s1:string s2:string "
            "s3:string s4:string n1:number n2:number n3:number n4:number k:string ");
  EXPECT_EQ(text(table.at("primaryKey")), R"(["k"])");
}

TEST_F(ReadingHalfTest, MigrationsAreListedInTheirOrder) {
  EXPECT_EQ(ask("/migrations", "", "GET").body, R"({"migrations":[]})");
  writer_
      ->execute(
          "create table _leat_migrations (id text primary key, applied_at integer, content_checksum text, "
          "kind text, cursor integer)")
      .value();
  writer_->execute("insert into _leat_migrations values ('b',5,'c1','ddl',1), ('a',6,'c2','data',2)").value();
  EXPECT_EQ(ask("/migrations", "", "GET").body,
            R"({"migrations":[{"id":"b","appliedAt":5,"contentChecksum":"c1","kind":"ddl"},)"
            R"({"id":"a","appliedAt":6,"contentChecksum":"c2","kind":"data"}]})");
}

TEST_F(ReadingHalfTest, StatsCountAndTellTheAppliedCursorAndTheLag) {
  insert("i1", "one", 1, 1);
  Client client = connect();
  client.send(subscribe(1, lease(kAllIssues)));
  client.socket->next();
  lag_ = {7, 12'345};
  const json::object stats = this->stats();
  EXPECT_EQ(stats.at("followerSourceOffset").as_string(), cursor_.to_text());
  EXPECT_EQ(stats.at("connections").as_int64(), 1);
  EXPECT_EQ(stats.at("leases").as_int64(), 1);
  EXPECT_EQ(stats.at("materializations").as_int64(), 1);
  EXPECT_EQ(stats.at("subscriptions").as_int64(), 1);
  EXPECT_EQ(stats.at("followerLagChanges").as_int64(), 7);
  EXPECT_EQ(stats.at("followerStalenessSeconds").as_int64(), 12);
}

TEST_F(ReadingHalfTest, QueryFollowsASchemaChange) {
  insert("i1", "one", 1, 1);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(text(json::parse(ask("/query", R"({"ast":{"table":"issue"}})").body).at("rows")),
              R"([{"cols":{"id":"i1","title":"one","open":true,"pri":1}}])");
  }
  const std::string sql = "alter table issue add column owner text default 'ann'";
  apply(sql, {changelog::SchemaChange{sql}});
  EXPECT_EQ(text(json::parse(ask("/query", R"({"ast":{"table":"issue","select":["id","owner"]}})").body).at("rows")),
            R"([{"cols":{"id":"i1","owner":"ann"}}])");
}

TEST_F(ReadingHalfTest, TheReservedQueryIsTheClientsOwnRow) {
  writer_
      ->execute(
          "create table _rindle_client_mutations (client_id text primary key, last_mutation_id integer) "
          "without rowid")
      .value();
  writer_->execute("insert into _rindle_client_mutations values ('c1', 4), ('c2', 9)").value();
  const std::string ask_lmid = R"({"t":"subscribe","queryId":5,"name":"_rindle/clientLmid","args":{}})";
  Client client = connect();
  client.send(ask_lmid);
  const json::object early = client.socket->next();
  EXPECT_EQ(early.at("t").as_string(), "queryError");
  EXPECT_FALSE(early.contains("retryable")) << "terminal";
  client.send(R"({"t":"init","clientID":"c1"})");
  client.send(ask_lmid);
  EXPECT_EQ(client.socket->next().at("t").as_string(), "nhello");
  EXPECT_EQ(text(client.socket->next().at("batch").at("ops")),
            R"([{"table":"_rindle_client_mutations","op":"add","row":["c1",4]}])");
  EXPECT_EQ(client.socket->next().at("t").as_string(), "progress");
  client.send(R"({"t":"subscribe","queryId":6,"name":"other"})");
  EXPECT_FALSE(client.socket->next().contains("code"));
  client.send(R"({"t":"subscribe","queryId":7})");
  EXPECT_FALSE(client.socket->next().contains("code"));
}

TEST_F(ReadingHalfTest, ALeaseServesNoMoreThanItsSubscribers) {
  const std::string token = lease(kAllIssues, R"(,"maxSubscribers":1)");
  Client first = connect();
  Client second = connect();
  first.send(subscribe(1, token));
  EXPECT_EQ(first.socket->next().at("t").as_string(), "nhello");
  first.socket->next();
  first.send(subscribe(1, token));
  EXPECT_EQ(first.socket->next().at("hello").at("epoch").as_int64(), 2) << "again is not one more";
  second.send(subscribe(1, token));
  EXPECT_EQ(second.socket->next().at("t").as_string(), "queryError");
  first.socket->next();
  first.send(R"({"t":"unsubscribe","queryId":1})");
  stats();  // the engine has seen it
  second.send(subscribe(1, token));
  EXPECT_EQ(second.socket->next().at("t").as_string(), "nhello");
}

TEST_F(ReadingHalfTest, ALeaseEndsAndItsSubscriptionsOutliveIt) {
  ManualClock clock(UnixMs{1});
  open(clock);
  const std::string token = lease(kAllIssues, R"(,"leaseTtlMs":1000)");
  Client client = connect();
  client.send(subscribe(1, token));
  client.socket->next();
  client.socket->next();
  clock.advance_ms(1'000);
  client.send(subscribe(2, token));
  EXPECT_EQ(client.socket->next().at("code").as_string(), "lease_expired");
  EXPECT_TRUE(eventually([&] { return stats().at("leases").as_int64() == 0; })) << "swept";
  insert("i1", "one", 1, 1);
  EXPECT_EQ(client.socket->next().at("batch").at("seq").as_int64(), 1);
}

TEST_F(ReadingHalfTest, UnusedMaterializationsGoAndPinnedOnesStay) {
  ManualClock clock(UnixMs{1});
  open(clock);
  materialize(kAllIssues, R"(,"leaseTtlMs":1000,"policy":{"kind":"pinned","name":"all"})");
  materialize(kOpenIssues, R"(,"leaseTtlMs":1000,"policy":{"kind":"whileSubscribed","idleTtlMs":500})");
  materialize(R"({"table":"issue","limit":3})",
              R"(,"leaseTtlMs":1000,"policy":{"kind":"whileSubscribed","idleTtlMs":9223372036854775807})");
  EXPECT_EQ(stats().at("materializations").as_int64(), 3);
  clock.advance_ms(1'400);
  EXPECT_TRUE(eventually([&] { return stats().at("leases").as_int64() == 0; }));
  EXPECT_EQ(stats().at("materializations").as_int64(), 3);
  clock.advance_ms(200);
  EXPECT_TRUE(eventually([&] { return stats().at("materializations").as_int64() == 2; }));
  EXPECT_TRUE(materialize(kAllIssues).at("reused").as_bool());
  EXPECT_EQ(ask("/dematerialize", R"({"name":"all"})").body, R"({"removed":true})");
  EXPECT_EQ(ask("/dematerialize", R"({"name":"all"})").body, R"({"removed":false})");
}

TEST_F(ReadingHalfTest, DematerializeFaultsItsSubscribersRetryably) {
  const json::object made = materialize(kAllIssues);
  Client client = connect();
  client.send(subscribe(1, std::string(made.at("leaseToken").as_string())));
  client.socket->next();
  client.socket->next();
  EXPECT_EQ(ask("/dematerialize", "{\"materializationId\":" + text(made.at("materializationId")) + "}").body,
            R"({"removed":true})");
  const json::object error = client.socket->next();
  EXPECT_EQ(error.at("code").as_string(), "faulted");
  EXPECT_TRUE(error.at("retryable").as_bool());
  client.send(subscribe(1, std::string(made.at("leaseToken").as_string())));
  EXPECT_EQ(client.socket->next().at("code").as_string(), "lease_expired");
}

TEST_F(ReadingHalfTest, TheSubprotocolIsEchoedAndTheAffinityFrameComesFirst) {
  const WebSocketUpgrade upgrade{"/", "", {"other", "rindle.v1", "aff.x"}};
  EXPECT_EQ(half_->acceptor()(upgrade).subprotocol, "rindle.v1");
  EXPECT_EQ(half_->acceptor()({}).subprotocol, "");
  Client client = connect(upgrade);
  client.send(subscribe(1, lease(kAllIssues)));
  const json::object first = client.socket->next();
  EXPECT_EQ(first.at("t").as_string(), "affinity");
  EXPECT_TRUE(first.at("ticket").as_string().starts_with("aff."));
  EXPECT_EQ(client.socket->next().at("t").as_string(), "nhello");
}

TEST_F(ReadingHalfTest, AnUnsubscribeStartsAgainAtEpochOneAndEndsTheDeltas) {
  const std::string token = lease(kAllIssues);
  Client client = connect();
  for (int i = 0; i < 2; ++i) {
    client.send(subscribe(1, token));
    EXPECT_EQ(client.socket->next().at("hello").at("epoch").as_int64(), 1);
    client.socket->next();
    client.send(R"({"t":"unsubscribe","queryId":1})");
    client.send(R"({"t":"unsubscribe","queryId":1})");
    const auto frames = client.socket->frames();
    insert(("i" + std::to_string(i)).c_str(), "t", 1, 1);
    EXPECT_TRUE(eventually([&] { return stats().at("followerSourceOffset").as_string() == cursor_.to_text(); }));
    EXPECT_EQ(client.socket->frames(), frames);
  }
}

TEST_F(ReadingHalfTest, ProgressComesOnlyAfterStepsThatSentSomething) {
  Client client = connect();
  client.send(R"({"t":"init","clientID":"c1"})");
  client.send(subscribe(1, lease(kOpenIssues)));
  for (int i = 0; i < 3; ++i) client.socket->next();
  const auto frames = client.socket->frames();
  insert("i1", "shut", 0, 1);
  EXPECT_TRUE(eventually([&] { return stats().at("followerSourceOffset").as_string() == cursor_.to_text(); }));
  EXPECT_EQ(client.socket->frames(), frames);
  insert("i2", "open", 1, 1);
  const json::object batch = client.socket->next();
  const json::object progress = client.socket->next();
  EXPECT_EQ(progress.at("t").as_string(), "progress");
  EXPECT_EQ(progress.at("frame").at("cvMin"), batch.at("batch").at("cv"));
}

TEST_F(ReadingHalfTest, ABadFrameChangesNothing) {
  Client client = connect();
  for (const char* frame : {"", "[", "[]", "{}", "null", "1", R"({"t":1})", R"({"t":"init"})", R"({"t":"subscribe"})",
                            R"({"t":"subscribe","queryId":"x"})", R"({"t":"subscribe","queryId":1e400})",
                            R"({"t":"subscribe","queryId":0.5})", R"({"t":"unsubscribe","queryId":99})",
                            R"({"t":"what","queryId":1})", "\xff\xfe", R"({"t":"subscribe","queryId":{}})"}) {
    client.send(frame);
  }
  client.send(std::string(100'000, '['));
  client.listener->on_message(std::string_view("\0\1\2", 3), false);
  client.send(subscribe(1, lease(kAllIssues)));
  EXPECT_EQ(client.socket->next().at("t").as_string(), "nhello");
  EXPECT_EQ(client.socket->close_code, 0);
}

TEST_F(ReadingHalfTest, TenThousandQueuedDeltasAreShedBeforeTheyTakeMuchMemory) {
  open(system_clock(), subscription_queue_bytes_max);
  Client slow = connect();
  slow.send(subscribe(1, lease(kAllIssues)));
  slow.socket->next();
  slow.socket->next();
  slow.socket->is_stuck = true;
  const std::string title(2'000, 'x');
  writer_->execute("pragma synchronous=off").value();
  for (int i = 0; i < 10'000; ++i) insert(("k" + std::to_string(i)).c_str(), title.c_str(), 1, i);
  EXPECT_TRUE(eventually([&] { return stats().at("wsEgressEvictions").as_int64() == 1; }));
  EXPECT_LT(slow.socket->queued_bytes(), subscription_queue_bytes_max + 4'096);
  EXPECT_EQ(stats().at("subscriptions").as_int64(), 0);
}

TEST_F(ReadingHalfTest, AConnectionHoldsNoMoreThanItsSubscriptions) {
  open(system_clock(), std::size_t{1} << 30);
  const std::string again = lease(kAllIssues);
  Client client = connect();
  for (std::size_t i = 0; i <= subscriptions_per_connection_max; ++i) {
    client.send(subscribe(static_cast<int>(i), again));
  }
  json::object last;
  for (std::size_t i = 0; i < 2 * subscriptions_per_connection_max + 1; ++i) last = client.socket->next();
  EXPECT_EQ(last.at("code").as_string(), "shed");
  EXPECT_EQ(stats().at("subscriptions").as_int64(), static_cast<std::int64_t>(subscriptions_per_connection_max));
  client.listener->on_close();
  EXPECT_EQ(stats().at("subscriptions").as_int64(), 0);
}

TEST_F(ReadingHalfTest, QueriesBeyondTheirBoundsAreRefused) {
  const auto status = [this](const std::string& ast) { return ask("/materialize", "{\"ast\":" + ast + "}").status; };
  const auto simple = [](const std::string& literal) {
    return R"({"type":"simple","op":"=","left":{"type":"column","name":"pri"},"right":{"type":"literal","value":)" +
           literal + "}}";
  };
  const auto where = [](const std::string& condition) { return R"({"table":"issue","where":)" + condition + "}"; };
  const auto nested = [&](int depth) {
    std::string condition = simple("1");
    for (int i = 1; i < depth; ++i) condition = R"({"type":"and","conditions":[)" + condition + "]}";
    return where(condition);
  };
  EXPECT_EQ(status(nested(query_depth_max - 2)), 200);
  EXPECT_EQ(status(nested(query_depth_max + 2)), 400);
  const auto wide = [&](std::size_t count) {
    std::string conditions = simple("0");
    for (std::size_t i = 1; i < count; ++i) conditions += "," + simple(std::to_string(i));
    return where(R"({"type":"or","conditions":[)" + conditions + "]}");
  };
  EXPECT_EQ(status(wide(10)), 200);
  EXPECT_EQ(status(wide(query_nodes_max + 1)), 400);
  const auto in = [&](std::size_t count) {
    std::string values = "0";
    for (std::size_t i = 1; i < count; ++i) values += "," + std::to_string(i);
    return where(
        R"({"type":"simple","op":"IN","left":{"type":"column","name":"pri"},"right":{"type":"literal","value":[)" +
        values + "]}}");
  };
  EXPECT_EQ(status(in(query_in_values_max)), 200);
  EXPECT_EQ(status(in(query_in_values_max + 1)), 400);
  EXPECT_EQ(status(R"({"table":"issue","limit":)" + std::to_string(query_limit_max) + "}"), 200);
  EXPECT_EQ(status(R"({"table":"issue","limit":)" + std::to_string(query_limit_max + 1) + "}"), 400);
}

TEST_F(ReadingHalfTest, AnAnswerBeyondItsRowsIsRefused) {
  writer_
      ->execute(
          "insert into issue select 'k' || value, 't', 1, value from (with recursive n(value) as (select 1 union "
          "all select value + 1 from n where value <= " +
          std::to_string(query_rows_max) + ") select value from n)")
      .value();
  EXPECT_EQ(ask("/query", R"({"ast":{"table":"issue"}})").status, 413);
  Client client = connect();
  client.send(subscribe(1, lease(kAllIssues)));
  EXPECT_EQ(client.socket->next().at("t").as_string(), "queryError");
  client.send(subscribe(2, lease(R"({"table":"issue","limit":2,"orderBy":[["pri","asc"]]})")));
  EXPECT_EQ(client.socket->next().at("t").as_string(), "nhello");
}

}  // namespace
}  // namespace leat::follower
