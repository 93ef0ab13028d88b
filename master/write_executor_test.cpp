#include "master/write_executor.h"

#include "master/limits.h"
#include "master/writer_test_support.h"

namespace leat::master {
namespace {

class WriteExecutorTest : public GroupTest {
 protected:
  void SetUp() override {
    GroupTest::SetUp();
    must_migrate({"create table t (id integer primary key, a text, b boolean, big bigint, i int)"});
  }
  AnswerPointer produce(std::int64_t seq, const std::string& sql) {
    return run({sql}, Guard(wire::Producer{ProducerId("p"), Seq{seq}}));
  }
  AnswerPointer mutate(std::int64_t mid, std::vector<std::string> statements) {
    return run(std::move(statements), Guard(wire::Mutation{ClientId("c"), Mid{mid}}));
  }
};

TEST_F(WriteExecutorTest, TheSameKeyAnswersTheSameBytesAcrossARestart) {
  const auto first = execute("insert into t (a) values ('x') returning id, a", key(1));
  ASSERT_EQ(first->status(), 200) << first->body();
  EXPECT_EQ(execute("insert into t (a) values ('x') returning id, a", key(1))->body(), first->body());
  run("delete from t");
  reopen();
  EXPECT_EQ(execute("insert into t (a) values ('x') returning id, a", key(1))->body(), first->body());
  EXPECT_EQ(rows("select count(*) from t"), "0");
  EXPECT_EQ(execute("insert into t (a) values ('y') returning id, a", key(1))->status(), 409);
  EXPECT_TRUE(execute("insert into t (a) values ('y')", key(1))->has("OPERATION_ID_MISMATCH"));
}

TEST_F(WriteExecutorTest, TheSameKeyTwiceInOneGroupIsAppliedOnce) {
  std::vector<AnswerPointer> answers;
  std::vector<Write> writes;
  for (int i = 0; i < 3; ++i) {
    answers.push_back(std::make_shared<Answer>());
    writes.push_back(keyed_write("insert into t (a) values ('x')", key(1), answers.back()));
  }
  group_->commit(writes);
  EXPECT_EQ(answers[0]->status(), 200);
  EXPECT_EQ(answers[1]->body(), answers[0]->body());
  EXPECT_EQ(answers[2]->body(), answers[0]->body());
  EXPECT_EQ(rows("select count(*) from t"), "1");
}

TEST_F(WriteExecutorTest, AKeyThatIsTooOldOrTooFarAheadRunsNothing) {
  const auto old = execute("insert into t (a) values ('x')", key_at(test_now_ms - outcome_kept_ms - 1, 1));
  EXPECT_EQ(old->status(), 410);
  EXPECT_TRUE(old->has("OPERATION_OUTCOME_EXPIRED"));
  const auto ahead = execute("insert into t (a) values ('x')", key_at(test_now_ms + key_ahead_ms_max + 1, 1));
  EXPECT_EQ(ahead->status(), 400);
  EXPECT_TRUE(ahead->has("IDEMPOTENCY_KEY_INVALID"));
  EXPECT_EQ(rows("select count(*) from t"), "0");
}

TEST_F(WriteExecutorTest, AFailedStatementLeavesItsKeyUnused) {
  EXPECT_EQ(execute("insert into nowhere values (1)", key(1))->status(), 400);
  EXPECT_EQ(execute("insert into t (a) values ('x')", key(1))->status(), 200);
}

TEST_F(WriteExecutorTest, Hazard29AClockThatJumpsAheadDoesNotRefuseWhatComesAfter) {
  execute("insert into t (a) values ('x')", key(1));
  clock_.advance_ms(400LL * 24 * 3600 * 1000);
  const auto swept = std::make_shared<Answer>();
  commit_one(make_write(SweepBody{}, AnswerStyle::kControl, swept), swept);
  EXPECT_EQ(rows("select count(*) from _leat_outcomes"), "0");
  clock_.advance_ms(-400LL * 24 * 3600 * 1000);
  EXPECT_TRUE(execute("insert into t (a) values ('x')", key(1))->has("OPERATION_OUTCOME_EXPIRED"));
  EXPECT_EQ(execute("insert into t (a) values ('y')", key_at(test_now_ms + 1, 2))->status(), 200);
  EXPECT_EQ(rows("select a from t order by a"), "x;y");
}

TEST_F(WriteExecutorTest, ASweepKeepsWhatIsYoungEnough) {
  execute("insert into t (a) values ('old')", key(1));
  clock_.advance_ms(outcome_kept_ms / 2);
  execute("insert into t (a) values ('young')", key_at(clock_.now().value, 2));
  clock_.advance_ms(outcome_kept_ms / 2 + 1);
  const auto swept = std::make_shared<Answer>();
  commit_one(make_write(SweepBody{}, AnswerStyle::kControl, swept), swept);
  EXPECT_EQ(rows("select count(*) from _leat_outcomes"), "1");
  EXPECT_TRUE(execute("insert into t (a) values ('old')", key(1))->has("OPERATION_OUTCOME_EXPIRED"));
  EXPECT_EQ(execute("insert into t (a) values ('young')", key_at(test_now_ms + outcome_kept_ms / 2, 2))->status(), 200);
  EXPECT_EQ(rows("select count(*) from t"), "2");
}

TEST_F(WriteExecutorTest, Hazard28AControlKeyThatWasUsedAppliesNothing) {
  const auto once = [this] { return run({"insert into t (a) values ('x')"}, Guard(wire::ControlKey{"any text"})); };
  EXPECT_TRUE(once()->has(R"({"applied":true,"cursor":)"));
  EXPECT_EQ(once()->body(), R"({"applied":false})");
  reopen();
  EXPECT_EQ(once()->body(), R"({"applied":false})");
  EXPECT_EQ(rows("select count(*) from t"), "1");
}

TEST_F(WriteExecutorTest, ProducerNumbersAreAppliedOnceInOrderAcrossARestart) {
  EXPECT_EQ(produce(2, "insert into t (a) values ('2')")->status(), 409);
  EXPECT_TRUE(produce(1, "insert into t (a) values ('1')")->has(R"("applied":true)"));
  EXPECT_EQ(produce(1, "insert into t (a) values ('1')")->body(), R"({"applied":false})");
  EXPECT_TRUE(produce(3, "insert into t (a) values ('3')")->has("expected seq 2, got 3"));
  EXPECT_NE(produce(2, "nonsense")->status(), 200);
  reopen();
  EXPECT_EQ(produce(1, "insert into t (a) values ('1')")->body(), R"({"applied":false})");
  EXPECT_EQ(produce(3, "insert into t (a) values ('3')")->status(), 409);
  EXPECT_TRUE(produce(2, "insert into t (a) values ('2')")->has(R"("applied":true)"));
  EXPECT_EQ(rows("select a from t order by id"), "1;2");
}

TEST_F(WriteExecutorTest, ClientMutationsMoveTheirLmidInTheSameCommit) {
  EXPECT_TRUE(
      mutate(1, {"insert into t (a) values ('1')"})->has(R"("lmid":1,"lmidAdvances":[{"clientID":"c","lmid":1}])"));
  EXPECT_TRUE(mutate(2, {})->has(R"("lmid":2)"));  // a rejection, or nothing to do
  EXPECT_TRUE(mutate(1, {"insert into t (a) values ('1')"})->has(R"({"applied":false,"lmid":2)"));
  EXPECT_EQ(mutate(4, {})->status(), 409);
  EXPECT_NE(mutate(3, {"nonsense"})->status(), 200);
  reopen();
  EXPECT_TRUE(mutate(2, {})->has(R"({"applied":false,"lmid":2)"));
  EXPECT_TRUE(mutate(3, {"insert into t (a) values ('3')"})->has(R"({"applied":true,"cursor":)"));
  EXPECT_EQ(rows("select * from _rindle_client_mutations"), "c,3");
  EXPECT_EQ(rows("select a from t order by id"), "1;3");
  run("insert into t (a) values ('system')");
  EXPECT_EQ(rows("select * from _rindle_client_mutations"), "c,3");
}

TEST_F(WriteExecutorTest, ValuesTheLivePlaneCannotCarryAreRefusedWhole) {
  const auto refused = [this](const std::string& sql, const std::string& column) {
    const auto answer = run({"insert into t (a) values ('half')", sql});
    EXPECT_TRUE(answer->has("VALUE_UNSUPPORTED") && answer->has(column)) << answer->body();
  };
  refused("insert into t (b) values (2)", R"(\"t\".\"b\")");
  refused("insert into t (b) values ('true')", R"(\"t\".\"b\")");
  refused("insert into t (b) values (0.5)", R"(\"t\".\"b\")");
  refused("insert into t (i) values (9007199254740992)", R"(\"t\".\"i\")");
  refused("insert into t (i) values (-9007199254740992)", R"(\"t\".\"i\")");
  refused("insert into t (a, id) values ('x', 9223372036854775807)", R"(\"t\".\"id\")");
  refused("update t set i = 9007199254740992", R"(\"t\".\"i\")");
  EXPECT_EQ(rows("select count(*) from t"), "0");
  EXPECT_EQ(run("insert into t (b, big, i) values (true, 9223372036854775807, 9007199254740991), (0, -1, 1.5), "
                "(null, null, -9007199254740991)")
                ->status(),
            200);
}

TEST_F(WriteExecutorTest, WhatCannotBeReplicatedIsRefusedByName) {
  const auto refused = [this](const std::string& sql, const std::string& why) {
    const Cursor before = store_->applied();
    const auto answer = migrate({sql});
    EXPECT_EQ(answer->status(), 400) << sql;
    EXPECT_TRUE(answer->has(why)) << sql << ": " << answer->body();
    EXPECT_EQ(store_->applied(), before);
  };
  refused("create virtual table v using fts5(a)", "virtual table \\\"v\\\"");
  refused("create table keyless (a)", "table \\\"keyless\\\" has no primary key");
  refused("create table copy as select * from t", "no primary key");
  refused("create temp table x (id integer primary key)", "temporary object \\\"x\\\"");
  refused("create table temp.x (id integer primary key)", "temporary object \\\"x\\\"");
  refused("create table _leat_x (id integer primary key)", "_leat_x");
  refused("create table _LEAT_X (id integer primary key)", "_LEAT_X");
  refused("create table sqlite_x (id integer primary key)", "sqlite_x");
  refused("create table v (id integer primary key, a, b as (a) virtual)", "virtual generated column");
  refused("alter table t rename to _leat_t", "_leat_t");
  refused("drop table _leat_outcomes", "_leat_outcomes");
  refused("create trigger x after insert on _leat_outcomes begin select 1; end", "_leat_outcomes");
  refused("attach 'x' as y", "ATTACH");
  refused("vacuum", "VACUUM");
  refused("pragma journal_mode = delete", "pragma");
}

TEST_F(WriteExecutorTest, ReservedAndExcludedTablesAreNotWritten) {
  must_migrate({"create table hidden (id integer primary key)", "create table open (id integer primary key)",
                "create trigger leak after insert on open begin insert into hidden values (new.id); end"});
  options_.excluded_tables = {"Hidden"};
  reopen();
  const auto refused = [this](const char* sql, std::string_view why) {
    const auto answer = run(sql);
    EXPECT_NE(answer->status(), 200) << sql;
    EXPECT_TRUE(answer->has(why)) << answer->body();
  };
  refused("insert into hidden values (1)", "excluded");
  refused("insert into HIDDEN values (1)", "excluded");
  refused("insert into open values (1)", "excluded");
  refused("delete from _leat_outcomes", "_leat_outcomes");
  refused("update _leat_meta set applied = 0", "_leat_meta");
  refused("insert into _rindle_client_mutations values ('c', 9)", "_rindle_client_mutations");
  refused("delete from sqlite_sequence", "sqlite_sequence");
  refused("begin", "transaction-control");
  refused("savepoint x", "transaction-control");
  refused("commit", "transaction-control");
  refused("rollback", "transaction-control");
  EXPECT_EQ(rows("select count(*) from open"), "0");
}

TEST_F(WriteExecutorTest, Hazard13ANullInAPrimaryKeyIsRefused) {
  must_migrate({"create table n (id text primary key)"});
  EXPECT_TRUE(run("insert into n values (null)")->has("primary key"));
  EXPECT_EQ(rows("select count(*) from n"), "0");
}

TEST_F(WriteExecutorTest, Hazard05OneWriteHasASize) {
  options_.transaction_bytes_max = 1 << 20;
  reopen();
  const auto answer = run("insert into t (a) values (printf('%.2000000c', 'x'))");
  EXPECT_TRUE(answer->has("LIMIT_EXCEEDED") && answer->has("transaction_bytes_max")) << answer->body();
  EXPECT_EQ(rows("select count(*) from t"), "0");
}

TEST_F(WriteExecutorTest, Hazard16MigrationsRunWithForeignKeysOffAndChecked) {
  must_migrate({"create table p (id integer primary key, a text)",
                "create table c (id integer primary key, p integer not null references p (id) on delete cascade)"});
  run("insert into p values (1, 'x')");
  run("insert into c values (10, 1)");
  must_migrate({"create table p2 (id integer primary key, a text, b text default 'new')"});
  must_migrate({"insert into p2 (id, a) select id, a from p"});
  must_migrate({"drop table p", "alter table p2 rename to p"});
  EXPECT_EQ(rows("select * from c"), "10,1") << "the children went with the dropped table";
  EXPECT_EQ(rows("select * from p"), "1,x,new");
  EXPECT_EQ(run("insert into c values (11, 2)")->status(), 500);
  EXPECT_EQ(run("delete from p")->status(), 200);
  EXPECT_EQ(rows("select count(*) from c"), "0");
}

TEST_F(WriteExecutorTest, Hazard16AReferencedTableIsNotDropped) {
  must_migrate(
      {"create table p (id integer primary key)", "create table c (id integer primary key, p references p (id))"});
  run("insert into p values (1)");
  run("insert into c values (10, 1)");
  const auto answer = migrate({"drop table p"});
  EXPECT_TRUE(answer->has("SCHEMA_UNSUPPORTED") && answer->has("still references")) << answer->body();
  EXPECT_EQ(rows("select count(*) from p"), "1");
  EXPECT_EQ(rows("pragma foreign_keys"), "1");
  EXPECT_EQ(run("insert into c values (11, 99)")->status(), 500);
  EXPECT_EQ(migrate({"drop table c", "drop table p"})->status(), 200);
}

TEST_F(WriteExecutorTest, Hazard16ADataMigrationThatBreaksAReferenceIsRefused) {
  must_migrate(
      {"create table p (id integer primary key)", "create table c (id integer primary key, p references p (id))"});
  run("insert into p values (1)");
  run("insert into c values (10, 1)");
  const auto answer = migrate({"delete from p"});
  EXPECT_TRUE(answer->has("FOREIGN KEY constraint failed")) << answer->body();
  EXPECT_EQ(rows("select count(*) from p"), "1");
}

TEST_F(WriteExecutorTest, AMigrationIsAppliedOnceAndNotEdited) {
  const auto apply = [this](const std::string& sql) {
    const auto answer = std::make_shared<Answer>();
    return commit_one(migration_write("fixed", {sql}, answer), answer);
  };
  EXPECT_TRUE(apply("create table m (id integer primary key)")->has(R"("applied":true)"));
  EXPECT_TRUE(apply("create table m (id integer primary key)")->has(R"("applied":false)"));
  reopen();
  EXPECT_TRUE(apply("create table m (id integer primary key)")->has(R"("applied":false)"));
  const auto edited = apply("create table m (id integer primary key, a)");
  EXPECT_EQ(edited->status(), 409);
  EXPECT_TRUE(edited->has("MIGRATION_CHECKSUM_MISMATCH"));
}

TEST_F(WriteExecutorTest, AListOfMigrationsStopsAtTheFirstFailureAndKeepsWhatApplied) {
  std::vector<wire::MigrationRequest> list(3);
  list[0] = {"a", {"create table a (id integer primary key, b boolean)"}, std::nullopt, std::nullopt};
  list[1] = {"b", {"insert into a values (1, 7)"}, migration_checksum({"insert into a values (1, 7)"}), std::nullopt};
  list[2] = {"c", {"create table c (id integer primary key)"}, std::nullopt, std::nullopt};
  const auto answer = std::make_shared<Answer>();
  commit_one(make_write(MigrationsBody{list}, AnswerStyle::kMigrationList, answer), answer);
  EXPECT_EQ(answer->status(), 200) << answer->body();
  EXPECT_TRUE(answer->has(R"("failedId":"b")") && answer->has("VALUE_UNSUPPORTED")) << answer->body();
  EXPECT_EQ(rows("select name from sqlite_schema where name in ('a', 'c')"), "a");
}

}  // namespace
}  // namespace leat::master
