#include "follower/read_service.h"

#include "follower/read_service_test_support.h"

namespace leat::follower {
namespace {

TEST_F(ReadingHalfTest, ASubscriberGetsTheSnapshotAndThenEachDelta) {
  insert("i1", "one", 1, 3);
  Client client = connect();
  client.send("garbage");
  client.send(R"({"t":"init","clientID":"c1"})");
  client.send(subscribe(1, lease(kOpenIssues)));
  const json::object hello = client.socket->next();
  EXPECT_EQ(hello.at("t").as_string(), "nhello");
  EXPECT_EQ(json::serialize(hello.at("hello").at("tables")),
            R"([{"name":"issue","columns":["id","title","open","pri"],"primaryKey":[0]}])");
  const json::object snapshot = client.socket->next();
  EXPECT_EQ(json::serialize(snapshot.at("batch").at("ops")),
            R"([{"table":"issue","op":"add","row":["i1","one",true,3]}])");
  EXPECT_EQ(snapshot.at("batch").at("seq").as_int64(), 0);
  EXPECT_EQ(client.socket->next().at("t").as_string(), "progress");
  insert("i2", "two", 0, 1);
  insert("i3", "three", 1, 2);
  const json::object delta = client.socket->next();
  EXPECT_EQ(json::serialize(delta.at("batch").at("ops")),
            R"([{"table":"issue","op":"add","row":["i3","three",true,2]}])");
  EXPECT_EQ(delta.at("batch").at("seq").as_int64(), 1);
  EXPECT_EQ(client.socket->next().at("t").as_string(), "progress");
  client.send(subscribe(1, lease(kOpenIssues)));
  EXPECT_EQ(client.socket->next().at("hello").at("epoch").as_int64(), 2);
  client.listener->on_close();
}

TEST_F(ReadingHalfTest, ANewFingerprintIsTheClientsOwn) {
  writer_->execute("create table fissue (id text primary key, title text, open boolean, pri integer, owner text)")
      .value();
  const HttpResponse answer = ask("/query", R"({"ast":{"table":"fissue"}})");
  EXPECT_EQ(json::parse(answer.body).at("schema").at("normalizedFp").as_string(), "359880c763da41c0") << answer.body;
}

TEST_F(ReadingHalfTest, AnUnknownLeaseIsRetryable) {
  Client client = connect();
  client.send(subscribe(9, "nope"));
  const json::object error = client.socket->next();
  EXPECT_EQ(error.at("code").as_string(), "lease_expired");
  EXPECT_TRUE(error.at("retryable").as_bool());
}

TEST_F(ReadingHalfTest, AConnectionThatDoesNotReadIsShedAndOthersGoOn) {
  const std::string token = lease(R"({"table":"issue"})");
  Client slow = connect();
  Client quick = connect();
  for (Client* client : {&slow, &quick}) {
    client->send(subscribe(1, token));
    client->socket->next();
    client->socket->next();
  }
  slow.socket->is_stuck = true;
  const std::string title(2000, 'x');
  for (int i = 0; i < 6; ++i) insert(("k" + std::to_string(i)).c_str(), title.c_str(), 1, i);
  json::object last;
  while (last.empty() || last.at("t").as_string() == "nbatch") last = slow.socket->next();
  EXPECT_EQ(last.at("code").as_string(), "shed");
  EXPECT_LT(slow.socket->queued_bytes(), 4096u + 512u);
  std::size_t rows = 0;
  while (rows < 6) rows += quick.socket->next().at("batch").at("ops").as_array().size();
}

TEST_F(ReadingHalfTest, ReadsCannotWrite) {
  const HttpResponse answer = ask("/execute-sql-read", R"({"sql":"delete from issue"})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.body, R"({"error":"sqlite error during read: attempt to write a readonly database"})");
  insert("i1", "one", 1, 3);
  EXPECT_EQ(ask("/execute-sql-read", R"({"sql":"select id, pri from issue"})").body,
            R"({"cols":["id","pri"],"rows":[["i1",3]]})");
}

TEST_F(ReadingHalfTest, ASchemaChangeEndsItsQueriesRetryably) {
  Client client = connect();
  client.send(subscribe(1, lease(R"({"table":"issue"})")));
  client.socket->next();
  client.socket->next();
  const std::string sql = "alter table issue add column owner text";
  apply(sql, {changelog::SchemaChange{sql}});
  EXPECT_EQ(client.socket->next().at("code").as_string(), "faulted");
}

TEST_F(ReadingHalfTest, MaterializeWaitsForATableWhoseMigrationIsOnTheWay) {
  auto pending = std::async(std::launch::async, [this] { return ask("/materialize", R"({"ast":{"table":"later"}})"); });
  const std::string sql = "create table later (id integer primary key)";
  apply(sql, {changelog::SchemaChange{sql}});
  EXPECT_EQ(pending.get().status, 200);
}

TEST_F(ReadingHalfTest, WaitingForACursorEndsWhenItIsApplied) {
  std::promise<bool> done;
  half_->when_applied(Cursor(Epoch{1}, 1), 5'000, [&](bool applied) { done.set_value(applied); });
  insert("i1", "one", 1, 3);
  EXPECT_TRUE(done.get_future().get());
}

}  // namespace
}  // namespace leat::follower
