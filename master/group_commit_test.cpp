#include "master/group_commit.h"

#include <sqlite3.h>

#include <random>

#include "changelog/state.h"
#include "core/testing/faulty_files.h"
#include "master/limits.h"
#include "master/writer_test_support.h"

namespace leat::master {
namespace {

using GroupCommitTest = GroupTest;

TEST_F(GroupCommitTest, AnAcknowledgedWriteIsInTheLogAndInTheDatabase) {
  must_migrate({"create table t (id integer primary key, a text)"});
  const auto answer = execute("insert into t values (1, 'x')", key(1));
  EXPECT_EQ(answer->status(), 200);
  EXPECT_TRUE(answer->has(R"("commit_cursor":")" + store_->applied().to_text())) << answer->body();
  EXPECT_EQ(rows("select * from t"), "1,x");
  EXPECT_EQ(logged().back().cursor, store_->applied());
  EXPECT_EQ(store_->log().durable_cursor(), store_->applied());
  EXPECT_EQ(changelog::read_state(store_->connection()).value()->applied, store_->applied());
}

TEST_F(GroupCommitTest, Hazard03ABlockIsHandedOnOnlyAfterCommitHasReturned) {
  must_migrate({"create table t (id integer primary key)"});
  bool seen = false;
  on_block_ = [&](const changelog::AppliedBlock& block) {
    EXPECT_FALSE(store_->connection().in_transaction());
    auto reader = sqlite::Connection::open(folder_.database(), sqlite::OpenMode::kReadOnly).value();
    EXPECT_EQ(rows_of(*reader, "select count(*) from t"), "1");
    EXPECT_EQ(changelog::read_state(*reader).value()->applied, block.last);
    seen = true;
  };
  run("insert into t values (1)");
  EXPECT_TRUE(seen);
}

TEST_F(GroupCommitTest, AFailedWriteFailsAlone) {
  must_migrate({"create table t (id integer primary key, a text not null)"});
  const auto answers = commit_group({{"insert into t values (1, 'a')"},
                                     {"insert into t values (2, 'b')", "insert into t values (1, 'again')"},
                                     {"insert into t values (3, null)"},
                                     {"nonsense"},
                                     {"insert into t values (2, 'c')"}});
  EXPECT_EQ(answers[0]->status(), 200);
  EXPECT_TRUE(answers[1]->has("UNIQUE constraint failed: t.id")) << answers[1]->body();
  EXPECT_TRUE(answers[2]->has("NOT NULL constraint failed: t.a"));
  EXPECT_NE(answers[3]->status(), 200);
  EXPECT_EQ(answers[4]->status(), 200);
  EXPECT_EQ(rows("select * from t"), "1,a;2,c");
  EXPECT_EQ(blocks_.back().transactions->size(), 2u);
}

TEST_F(GroupCommitTest, Hazard18DeferredKeysAreCheckedForEachWrite) {
  must_migrate({"create table p (id integer primary key)",
                "create table c (id integer primary key, p references p deferrable initially deferred)"});
  const auto answers = commit_group({{"insert into c values (1, 1)", "insert into p values (1)"},
                                     {"insert into c values (2, 99)"},
                                     {"insert into c values (3, 3)", "insert into p values (4)"},
                                     {"insert into p values (3)"},
                                     {"insert into c values (4, 3)"}});
  EXPECT_EQ(answers[0]->status(), 200) << answers[0]->body();
  EXPECT_TRUE(answers[1]->has("FOREIGN KEY constraint failed"));
  EXPECT_TRUE(answers[1]->has(R"("kind":"foreignKey")"));
  EXPECT_TRUE(answers[2]->has("FOREIGN KEY constraint failed"));
  EXPECT_EQ(answers[3]->status(), 200);
  EXPECT_EQ(answers[4]->status(), 200);
  EXPECT_EQ(rows("select id from c"), "1;4");
  EXPECT_EQ(rows("select id from p"), "1;3");
}

// Counts how often a connection begins an INSERT into `t`.
struct Executions {
  explicit Executions(sqlite::Connection& connection) : handle(connection.handle()) {
    sqlite3_trace_v2(
        handle, SQLITE_TRACE_STMT,
        [](unsigned, void* self, void* prepared, void*) {
          const std::string_view sql = sqlite3_sql(static_cast<sqlite3_stmt*>(prepared));
          if (sql.find("into t ") != std::string_view::npos) ++static_cast<Executions*>(self)->count;
          return 0;
        },
        this);
  }
  ~Executions() { sqlite3_trace_v2(handle, 0, nullptr, nullptr); }
  sqlite3* handle;
  int count = 0;
};

TEST_F(GroupCommitTest, Hazard14AWriteThatDestroysTheTransactionFailsAlone) {
  must_migrate({"create table t (id integer primary key, a text unique)",
                "create trigger guard before insert on t when new.a = 'boom' begin select raise(rollback, 'no'); end",
                "create table s (id integer primary key autoincrement)"});
  run("insert into t values (1, 'a')");
  const auto answers = commit_group({{"insert into t values (2, 'b')"},
                                     {"insert or rollback into t values (3, 'a')"},
                                     {"insert into t values (4, 'c')", "insert into t values (5, 'boom')"},
                                     {"insert into t values (6, 'd')"},
                                     {"insert into s values (9223372036854775807)", "insert into s default values"},
                                     {"insert or fail into t values (7, 'e'), (8, 'a'), (9, 'f')"},
                                     {"insert into t values (10, 'g')"}});
  EXPECT_EQ(answers[0]->status(), 200);
  EXPECT_TRUE(answers[1]->has("UNIQUE constraint failed: t.a"));
  EXPECT_TRUE(answers[2]->has("no"));
  EXPECT_EQ(answers[3]->status(), 200);
  EXPECT_NE(answers[4]->status(), 200);
  EXPECT_TRUE(answers[5]->has("UNIQUE constraint failed: t.a"));
  EXPECT_EQ(answers[6]->status(), 200);
  EXPECT_EQ(rows("select id from t"), "1;2;6;10");
  EXPECT_EQ(store_->log().durable_cursor(), store_->applied());
}

TEST_F(GroupCommitTest, Hazard14HundredsOfCulpritsCostALinearNumberOfExecutions) {
  must_migrate({"create table t (id integer primary key, a text unique)"});
  run("insert into t values (0, 'taken')");
  std::vector<std::vector<std::string>> group;
  constexpr int writes = 1'024;
  for (int i = 1; i <= writes; ++i) {
    const std::string id = std::to_string(i);
    group.push_back({i % 2 == 0 ? "insert or rollback into t values (" + id + ", 'taken')"
                                : "insert into t values (" + id + ", '" + id + "')"});
  }
  const Executions executions(store_->connection());
  const auto answers = commit_group(group);
  EXPECT_LE(executions.count, 3 * writes);
  for (int i = 1; i <= writes; ++i) EXPECT_EQ(answers[static_cast<std::size_t>(i) - 1]->status() == 200, i % 2 == 1);
  EXPECT_EQ(rows("select count(*) from t"), "513");
}

TEST_F(GroupCommitTest, Hazard14AnInterruptedWriteFailsAlone) {
  must_migrate({"create table t (id integer primary key, a)"});
  const auto answers = commit_group({{"insert into t values (1, 1)"},
                                     {"insert into t with recursive n(i) as (select 100 union all select i + 1 from n) "
                                      "select i, 0 from n where i < 0"},
                                     {"insert into t values (2, 2)"}});
  EXPECT_EQ(answers[0]->status(), 200) << answers[0]->body();
  EXPECT_TRUE(answers[1]->has("interrupt")) << answers[1]->body();
  EXPECT_EQ(answers[2]->status(), 200);
  EXPECT_EQ(rows("select id from t"), "1;2");
}

// Every write of a random group must come out as when the groups are committed one write at a time.
TEST_F(GroupCommitTest, Hazard14RandomGroupsComeOutAsOneWriteAfterTheOther) {
  const std::vector<std::string> schema = {
      "create table t (id integer primary key, a text unique, n integer check (n < 90))",
      "create table c (id integer primary key, t references t (id) on delete cascade)",
      "create trigger guard before insert on t when new.n = 77 begin select raise(rollback, 'no'); end",
      "create trigger soft before insert on t when new.n = 78 begin select raise(fail, 'soft'); end"};
  must_migrate(schema);
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto number = [&](int until) { return std::to_string(random() % static_cast<std::uint64_t>(until)); };
  const auto one_statement = [&]() -> std::string {
    static const char* const kConflict[] = {"", "or rollback ", "or fail ", "or replace ", "or ignore ", "or abort "};
    switch (random() % 5) {
      case 0:
      case 1:
      case 2:
        return std::string("insert ") + kConflict[random() % 6] + "into t values (" + number(40) + ", 'a" + number(40) +
               "', " + number(95) + "), (" + number(40) + ", 'a" + number(40) + "', 1)";
      case 3:
        return "update or rollback t set a = 'a" + number(40) + "' where id = " + number(40);
      default:
        return random() % 2 == 0 ? "delete from t where id = " + number(40)
                                 : "insert into c values (" + number(60) + ", " + number(40) + ")";
    }
  };
  std::vector<std::vector<std::string>> all;
  std::vector<bool> succeeded;
  for (int round = 0; round < 40; ++round) {
    std::vector<std::vector<std::string>> group;
    for (std::size_t writes = 1 + random() % 12; writes > 0; --writes) {
      std::vector<std::string> statements;
      for (std::size_t count = 1 + random() % 3; count > 0; --count) statements.push_back(one_statement());
      group.push_back(std::move(statements));
    }
    const auto answers = commit_group(group);
    for (const auto& answer : answers) succeeded.push_back(answer->status() == 200);
    all.insert(all.end(), group.begin(), group.end());
  }
  const std::string query = "select 't', id, a, n from t union all select 'c', id, t, null from c";
  const std::string grouped = rows(query);

  auto alone = sqlite::Connection::open(":memory:", sqlite::OpenMode::kCreate).value();
  ASSERT_FALSE(alone->execute("pragma foreign_keys = on").has_error());
  for (const auto& sql : schema) ASSERT_FALSE(alone->execute(sql).has_error());
  for (std::size_t i = 0; i < all.size(); ++i) {
    bool good = !alone->execute("begin").has_error();
    for (const auto& sql : all[i]) good = good && !alone->execute(sql).has_error();
    if (alone->in_transaction()) {
      ASSERT_FALSE(alone->execute(good ? "commit" : "rollback").has_error());
    }
    EXPECT_EQ(good, succeeded[i]) << all[i].front();
  }
  EXPECT_EQ(grouped, rows_of(*alone, query));

  // What was logged makes the same database.
  close();
  std::filesystem::remove(folder_.database());
  std::filesystem::remove(folder_.database() + "-wal");
  open();
  EXPECT_EQ(rows(query), grouped);
  EXPECT_EQ(rows("pragma integrity_check"), "ok");
}

TEST_F(GroupCommitTest, ACommitThatFailsAfterTheAppendIsRecoveredByReplay) {
  must_migrate({"create table t (id integer primary key)"});
  bool refuse = true;
  sqlite3_commit_hook(
      store_->connection().handle(), [](void* flag) { return *static_cast<bool*>(flag) ? 1 : 0; }, &refuse);
  const auto answer = execute("insert into t values (1)", key(1));
  EXPECT_EQ(answer->status(), 503);
  EXPECT_TRUE(answer->has("OUTCOME_UNKNOWN") && answer->has(R"("retry_scope":"request")")) << answer->body();
  EXPECT_EQ(rows("select count(*) from t"), "0");
  const auto refused = run("insert into t values (2)");
  EXPECT_TRUE(refused->has("UNAVAILABLE")) << refused->body();
  ASSERT_TRUE(group_->recover().has_error());  // still not possible
  EXPECT_EQ(run("insert into t values (2)")->status(), 503);
  refuse = false;
  const auto before = blocks_.size();
  ASSERT_FALSE(group_->recover().has_error());
  EXPECT_EQ(blocks_.size(), before + 1);  // shipped now, once
  EXPECT_EQ(rows("select id from t"), "1");
  const auto again = execute("insert into t values (1)", key(1));
  EXPECT_EQ(again->status(), 200) << again->body();
  EXPECT_EQ(rows("select id from t"), "1");
  EXPECT_EQ(run("insert into t values (2)")->status(), 200);
}

TEST_F(GroupCommitTest, ACrashBetweenAppendAndCommitIsReplayedOnce) {
  must_migrate({"create table t (id integer primary key, a integer)"});
  run("insert into t values (1, 0)");
  close();
  folder_.save_database();
  open();
  run("update t set a = a + 1");
  execute("insert into t values (2, 0)", key(1));
  const Cursor head = store_->applied();
  close();
  folder_.restore_database();
  open();
  EXPECT_EQ(replayed_, 2);
  EXPECT_EQ(store_->applied(), head);
  EXPECT_EQ(rows("select * from t"), "1,1;2,0");
  EXPECT_EQ(execute("insert into t values (2, 0)", key(1))->status(), 200);
  EXPECT_EQ(rows("select count(*) from t"), "2");
  reopen();
  EXPECT_EQ(replayed_, 0);
  EXPECT_EQ(rows("select * from t"), "1,1;2,0");
}

// The log on a file system that fails; the database on a real one.
class FaultyLogTest : public GroupTest {
 protected:
  void SetUp() override {
    files_ = &faulty_;
    GroupTest::SetUp();
    must_migrate({"create table t (id integer primary key)"});
  }
  FaultyFiles faulty_;
};

TEST_F(FaultyLogTest, AWriteErrorRollsBackAndUsesNoCursorUp) {
  const Cursor before = store_->applied();
  faulty_.fail_writes(0, 1, 10);
  const auto answer = execute("insert into t values (1)", key(1));
  EXPECT_EQ(answer->status(), 503);
  EXPECT_TRUE(answer->has("LOG_UNAVAILABLE")) << answer->body();
  EXPECT_EQ(rows("select count(*) from t"), "0");
  EXPECT_EQ(store_->applied(), before);
  const auto again = execute("insert into t values (1)", key(1));
  EXPECT_EQ(again->status(), 200) << again->body();
  EXPECT_TRUE(again->has(before.next().to_text()));
  reopen();
  EXPECT_EQ(rows("select id from t"), "1");
}

TEST_F(FaultyLogTest, ASyncErrorWhoseBlockCouldBeCutRollsBack) {
  const Cursor before = store_->applied();
  faulty_.fail_syncs(0, 1);
  const auto answer = execute("insert into t values (1)", key(1));
  EXPECT_TRUE(answer->has("LOG_UNAVAILABLE")) << answer->body();
  EXPECT_EQ(rows("select count(*) from t"), "0");
  const auto next = execute("insert into t values (2)", key(2));
  EXPECT_TRUE(next->has(before.next().to_text())) << next->body();
  reopen();
  EXPECT_EQ(rows("select id from t"), "2");
}

TEST_F(FaultyLogTest, AFullLogDiskRollsBackAndServesAgainWhenThereIsSpace) {
  must_migrate({"create table big (id integer primary key, a blob)"});
  faulty_.set_free_bytes(0);
  int id = 0;
  AnswerPointer answer;
  do {
    answer = run({"insert into big values (" + std::to_string(++id) + ", randomblob(20000))"});
  } while (answer->status() == 200 && id < 1'000);
  EXPECT_EQ(answer->status(), 503);
  EXPECT_TRUE(answer->has("LOG_UNAVAILABLE") && answer->has("No space left")) << answer->body();
  EXPECT_EQ(rows("select count(*) from big"), std::to_string(id - 1));
  faulty_.set_free_bytes(100 << 20);
  EXPECT_EQ(run({"insert into big values (" + std::to_string(id) + ", randomblob(20000))"})->status(), 200);
  reopen();
  EXPECT_EQ(rows("select count(*) from big"), std::to_string(id));
}

TEST_F(FaultyLogTest, WhatRanIntoARowThatDidNotComeToStayIsNotToldSo) {
  faulty_.fail_writes(0, 1);
  const auto answers = commit_group({{"insert into t values (1)"}, {"insert into t values (1)"}, {"nonsense"}});
  for (const auto& answer : answers) EXPECT_TRUE(answer->has("LOG_UNAVAILABLE")) << answer->body();
  const auto fails = commit_group({{"nonsense"}, {"insert into t values (1)"}});
  EXPECT_TRUE(fails[0]->has("syntax error"));
  EXPECT_EQ(fails[1]->status(), 200);
  faulty_.fail_writes(0, 1);
  const auto culprit = commit_group({{"insert into t values (2)"}, {"insert or rollback into t values (2)"}});
  for (const auto& answer : culprit) EXPECT_TRUE(answer->has("LOG_UNAVAILABLE")) << answer->body();
}

TEST_F(FaultyLogTest, Hazard01AnUnknownOutcomeStopsAllWritesUntilItIsRecovered) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    faulty_.seed(seed);
    const int id = static_cast<int>(seed);
    const std::string insert = "insert into t values (" + std::to_string(id) + ")";
    faulty_.fail_syncs(0, 2);  // the block's, and that of the cut
    const auto unknown = execute(insert, key(id));
    EXPECT_EQ(unknown->status(), 503);
    EXPECT_TRUE(unknown->has("OUTCOME_UNKNOWN") && unknown->has(R"("retry_scope":"request")")) << unknown->body();
    const auto refused = execute(insert, key(id));
    EXPECT_EQ(refused->status(), 503);
    EXPECT_TRUE(refused->has("UNAVAILABLE") && refused->has(R"("retry_scope":"request")")) << refused->body();
    ASSERT_FALSE(group_->recover().has_error());
    const auto again = execute(insert, key(id));
    EXPECT_EQ(again->status(), 200) << again->body();
    EXPECT_EQ(rows("select count(*) from t"), std::to_string(id));
    EXPECT_EQ(store_->applied(), store_->log().durable_cursor());
    if (seed % 4 == 0) {
      std::mt19937_64 random(seed);
      close();
      faulty_.power_cut(random, 0);
      open();
      EXPECT_EQ(rows("select count(*) from t"), std::to_string(id));
    }
  }
}

TEST_F(FaultyLogTest, Hazard01NeighboursInAGroupAreAllToldThatTheOutcomeIsUnknown) {
  faulty_.fail_syncs(0, 2);
  const auto answers = commit_group({{"insert into t values (1)"},
                                     {"insert into t values (2)"},
                                     {"insert or rollback into t values (1)"},
                                     {"insert into t values (3)"}});
  EXPECT_TRUE(answers[0]->has("OUTCOME_UNKNOWN"));
  EXPECT_TRUE(answers[1]->has("OUTCOME_UNKNOWN"));
  EXPECT_TRUE(answers[2]->has("OUTCOME_UNKNOWN"));
  EXPECT_TRUE(answers[3]->has("UNAVAILABLE"));
  ASSERT_FALSE(group_->recover().has_error());
  EXPECT_EQ(store_->applied(), store_->log().durable_cursor());
  const std::string count = rows("select count(*) from t");
  EXPECT_TRUE(count == "0" || count == "2") << count;
}

TEST_F(FaultyLogTest, Hazard15ADiskWithoutReserveRefusesBeforeTheBlock) {
  options_.disk_reserve_bytes = 1 << 20;
  reopen();
  faulty_.set_free_bytes((1 << 20) - 1);
  const Cursor before = store_->log().durable_cursor();
  const auto answer = execute("insert into t values (1)", key(1));
  EXPECT_EQ(answer->status(), 503);
  EXPECT_TRUE(answer->has("nothing was written") && answer->has(R"("retry_scope":"request")")) << answer->body();
  EXPECT_EQ(store_->log().durable_cursor(), before);
  faulty_.set_free_bytes(2 << 20);
  EXPECT_EQ(execute("insert into t values (1)", key(1))->status(), 200);
}

TEST_F(GroupCommitTest, Hazard15AFullDatabaseRefusesBeforeTheBlock) {
  must_migrate({"create table t (id integer primary key, a blob)"});
  const Cursor before = store_->log().durable_cursor();
  ASSERT_FALSE(store_->connection().execute("pragma max_page_count = 60").has_error());
  const auto answers = commit_group({{"insert into t values (1, x'')"},
                                     {"insert into t values (2, zeroblob(1000000))"},
                                     {"insert into t values (3, x'')"}});
  EXPECT_EQ(answers[0]->status(), 200) << answers[0]->body();
  EXPECT_EQ(answers[1]->status(), 503);
  EXPECT_TRUE(answers[1]->has("free some space")) << answers[1]->body();
  EXPECT_EQ(answers[2]->status(), 200);
  EXPECT_EQ(rows("select id from t"), "1;3");
  EXPECT_EQ(store_->log().durable_cursor().value(), before.value() + 2);
}

TEST_F(GroupCommitTest, Hazard17TheLastInsertRowidIsTheStatementsOwn) {
  must_migrate({"create table t (id integer primary key, a text unique)",
                "create table w (id text primary key) without rowid", "create table audit (id integer primary key, a)",
                "create trigger log after insert on t begin insert into audit values (500, new.a); end"});
  const auto rowid = [this](const std::string& sql, int number) {
    const std::string body = execute(sql, key(number))->body();
    const auto at = body.find("\"last_insert_rowid\":");
    return at == std::string::npos ? body : body.substr(at + 20, body.find(',', at) - at - 20);
  };
  EXPECT_EQ(rowid("insert into t values (7, 'a')", 1), "\"7\"");
  EXPECT_EQ(rowid("insert or ignore into t values (8, 'a')", 2), "null");
  EXPECT_EQ(rowid("insert into w values ('x')", 3), "null");
  EXPECT_EQ(rowid("update t set a = 'b'", 4), "null");
  EXPECT_EQ(rowid("delete from audit", 5), "null");
  EXPECT_EQ(rowid("insert into t values (7, 'c') on conflict (id) do update set a = 'c'", 6), "null");
}

TEST_F(GroupCommitTest, Hazard19SystemTablesAreCheapInTheLog) {
  must_migrate({"create table t (id integer primary key, a text)"});
  execute("insert into t values (1, 'x')", key(1));
  auto records = logged().back().records;
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(std::get<changelog::RowChange>(records[1]).table, "_leat_outcomes");
  run("insert into t values (2, 'y')");
  EXPECT_EQ(logged().back().records.size(), 1u);  // no key, no outcome

  clock_.advance_ms(outcome_kept_ms + key_ahead_ms_max + 1);
  const auto swept = std::make_shared<Answer>();
  commit_one(make_write(SweepBody{}, AnswerStyle::kControl, swept), swept);
  records = logged().back().records;
  ASSERT_EQ(records.size(), 2u);  // the outcome, and the floor
  const auto& removed = std::get<changelog::RowChange>(records[0]);
  EXPECT_EQ(removed.operation, changelog::Operation::kDelete);
  EXPECT_FALSE(is_null(removed.old_row[0]) || is_null(removed.old_row[1]));
  EXPECT_TRUE(is_null(removed.old_row[2]) && is_null(removed.old_row[3]));
  EXPECT_TRUE(execute("insert into t values (1, 'x')", key(1))->has("OPERATION_OUTCOME_EXPIRED"));
}

TEST_F(GroupCommitTest, ASweepThatFindsNothingWritesNothing) {
  const Cursor before = store_->applied();
  const auto swept = std::make_shared<Answer>();
  commit_one(make_write(SweepBody{}, AnswerStyle::kControl, swept), swept);
  EXPECT_EQ(swept->status(), 200);
  EXPECT_EQ(store_->applied(), before);
}

TEST_F(GroupCommitTest, Hazard31AWriteThatChangedNothingKeepsItsOutcome) {
  must_migrate({"create table t (id integer primary key)"});
  const auto first = execute("delete from t where id = 1", key(1));
  EXPECT_EQ(first->status(), 200);
  EXPECT_TRUE(first->has(R"("commit_cursor":null)")) << first->body();
  run("insert into t values (1)");
  reopen();
  const auto again = execute("delete from t where id = 1", key(1));
  EXPECT_EQ(again->body(), first->body());
  EXPECT_EQ(rows("select count(*) from t"), "1");
}

}  // namespace
}  // namespace leat::master
