#include "changelog/capture.h"

#include <gtest/gtest.h>

#include "changelog/replay_fixture.h"

namespace leat::changelog {
namespace {

const RowChange& row_change(const ChangeRecord& record) { return std::get<RowChange>(record); }

std::string operations(const std::vector<ChangeRecord>& records) {
  std::string text;
  for (const auto& record : records) {
    const auto* change = std::get_if<RowChange>(&record);
    text += change == nullptr ? std::holds_alternative<SchemaChange>(record) ? 'S' : 'Q'
                              : "?IUD"[static_cast<int>(change->operation)];
  }
  return text;
}

TEST(Capture, HandsOverAllFiveTypesBitForBit) {
  Replay replay;
  replay.must("create table t (id integer primary key, a, b, c, d, e)");
  replay.must("insert into t values (1, null, -9223372036854775808, -1.5e300, cast(x'00ff' as text), x'')");
  const auto records = replay.commit();
  ASSERT_EQ(operations(records), "SI");
  const Row expected{std::int64_t{1}, Null{}, std::int64_t{INT64_MIN}, -1.5e300, Text{std::string("\0\xff", 2)},
                     Blob{""}};
  EXPECT_EQ(row_change(records[1]).new_row, expected);
  EXPECT_EQ(row_change(records[1]).new_rowid, 1);
  replay.expect_equal();
}

TEST(Capture, AnUpdateThatChangesNothingIsNotRecorded) {
  Replay replay;
  replay.must("create table t (id integer primary key, a, r real)");
  replay.must("insert into t values (1, 'x', 5), (2, 1, 0.0)");
  replay.commit();
  replay.must("update t set a = a, r = r, id = id");
  EXPECT_EQ(operations(replay.commit()), "");
  replay.must("update t set a = 1.0");
  EXPECT_EQ(operations(replay.commit()), "UU");
  replay.expect_equal();
}

TEST(Capture, ReplaceUpsertCascadesAndTriggersAreSeenRowByRow) {
  Replay replay;
  replay.must("create table p (id integer primary key, u text unique)");
  replay.must("create table c (id integer primary key, p references p on delete cascade on update cascade)");
  replay.must("create table audit (id integer primary key, what text)");
  replay.must("create trigger r after delete on p begin insert into audit (what) values (old.u); end");
  replay.must("insert into p values (1, 'a'), (2, 'b')");
  replay.must("insert into c values (1, 1), (2, 2)");
  replay.commit();
  replay.must("delete from p where id = 1");
  EXPECT_EQ(operations(replay.commit()), "DDI");
  replay.must("update p set id = 3 where id = 2");
  EXPECT_EQ(operations(replay.commit()), "UU");
  replay.must("replace into p values (9, 'b')");
  EXPECT_EQ(operations(replay.commit()), "DDI");
  replay.must("insert into p values (9, 'x') on conflict (id) do update set u = excluded.u");
  EXPECT_EQ(operations(replay.commit()), "U");
  replay.must("delete from p");
  EXPECT_EQ(operations(replay.commit()), "DI");
  replay.expect_equal();
}

TEST(Capture, WithoutRowidTablesAreCapturedByKeyAlsoWhenTheKeyChanges) {
  Replay replay;
  replay.must("create table t (a text, b integer, c, primary key (b desc, a collate nocase)) without rowid");
  replay.must("insert into t values ('x', 1, 'one'), ('y', 1, 'two'), ('X', 2, 3.5)");
  replay.must("update t set a = 'X' where c = 'one'");
  replay.must("update t set b = b + 10, a = a || 'z'");
  replay.must("replace into t values ('XZ', 11, 'new')");
  replay.must("delete from t where c = 'two'");
  replay.commit();
  replay.expect_equal();
}

TEST(Capture, CopyingOneTableIntoAnotherIsSeenRowByRow) {
  for (const auto* kind : {"", " without rowid"}) {
    Replay replay;
    replay.must(std::string("create table a (id integer, t text, primary key (id, t))") + kind);
    replay.must(std::string("create table b (id integer, t text, primary key (id, t))") + kind);
    replay.must("insert into a values (1, 'x'), (2, 'y')");
    replay.commit();
    replay.must("insert into b select * from a");
    EXPECT_EQ(operations(replay.commit()), "II") << kind;
    replay.must("delete from b");
    EXPECT_EQ(operations(replay.commit()), "DD") << kind;
    replay.expect_equal();
  }
}

TEST(Capture, RewindForgetsWhatWasRolledBack) {
  Replay replay;
  replay.must("create table t (id integer primary key autoincrement, a text unique)");
  replay.must("insert into t (a) values ('a')");
  EXPECT_TRUE(replay.write("insert into t (a) values ('b'), ('a')").has_error());
  EXPECT_TRUE(replay.write("insert or fail into t (a) values ('c'), ('a')").has_error());
  EXPECT_TRUE(replay.write("create table bad (a)").has_error());
  replay.must("insert or ignore into t (a) values ('a'), ('d')");
  EXPECT_EQ(operations(replay.commit()), "SIIQ");
  replay.expect_equal();
}

TEST(Capture, SchemaChangesAreRecordedAndFollowed) {
  Replay replay;
  replay.must("create table t (id integer primary key, a)");
  replay.must("insert into t values (1, 2)");
  replay.must("alter table t rename to u");
  replay.must("alter table u rename column a to b");
  replay.must("alter table u add column c text");
  replay.must("insert into u values (2, 3, 'x')");
  replay.must("create index i on u (b)");
  replay.must("create view v as select b from u");
  replay.must("create trigger r after insert on u begin update u set c = 'r' where id = new.id; end");
  replay.must("insert into u values (3, 4, 'y')");
  replay.must("drop view v");
  replay.must("drop trigger r");
  replay.must("alter table u drop column c");
  replay.must("drop table if exists nosuch");
  replay.must("analyze");
  replay.commit();
  replay.expect_equal();
  replay.must("drop table u");
  replay.must("create table u (id text primary key, z)");
  replay.must("insert into u values ('k', 1)");
  replay.commit();
  replay.expect_equal();
}

TEST(Capture, ARolledBackSchemaChangeIsForgotten) {
  Replay replay;
  replay.must("create table t (id integer primary key, a)");
  replay.commit();
  replay.source().execute("begin; savepoint s").value();
  const auto position = replay.capture().position();
  ASSERT_TRUE(replay.capture().run_schema_change("alter table t add column b").has_value());
  replay.source().execute("rollback to s").value();
  replay.capture().rewind(position);
  replay.must("insert into t values (1, 2)");
  EXPECT_EQ(operations(replay.commit()), "I");
  replay.expect_equal();
}

TEST(Capture, RefusesWhatCannotBeReplicatedAndSaysTheWayOut) {
  Capture::Options options;
  options.excluded_tables = {"Local"};
  Replay replay(options);
  const auto bad = replay.write("create table bad (a)");
  ASSERT_TRUE(bad.has_error());
  EXPECT_EQ(bad.error().code, ErrorCode::kSchemaUnsupported);
  EXPECT_TRUE(bad.error().message.starts_with(
      "schema error: table \"bad\" has no primary key (the engine requires an explicit key for row identity)"))
      << bad.error().message;
  EXPECT_TRUE(replay.write("create table bad as select 1 as a").has_error());
  EXPECT_TRUE(replay.capture().run_schema_change("create temp table x (id integer primary key)").has_error());
  EXPECT_TRUE(replay.capture().run_schema_change("create virtual table x using fts5(a)").has_error());
  EXPECT_TRUE(replay.write("create table r (rowid, _rowid_, oid, k text primary key)").has_error());
  replay.must("create table local (id integer primary key)");
  const auto excluded = replay.write("insert into local values (1)");
  ASSERT_TRUE(excluded.has_error());
  EXPECT_NE(excluded.error().message.find("excluded"), std::string::npos);
  replay.must("create table r (rowid, oid, k text primary key)");
  replay.must("insert into r values (1, 2, 'k')");
  EXPECT_TRUE(replay.write("alter table r rename to _leat_r").has_error());
  replay.commit();
  replay.expect_equal();
}

TEST(Capture, LocalTablesAreNeverCaptured) {
  Replay replay;
  replay.source().execute("begin").value();
  ASSERT_TRUE(write_applied_cursor(replay.source(), Cursor(Epoch{1}, 5)).has_value());
  EXPECT_TRUE(replay.capture().take().value().empty());
}

TEST(Hazard05, OneWriteHasASize) {
  Capture::Options options;
  options.transaction_bytes_max = 10'000;
  Replay replay(options);
  replay.must("create table t (id integer primary key, a)");
  replay.must("insert into t values (1, zeroblob(4000))");
  const auto update = replay.write("update t set a = zeroblob(9000)");
  ASSERT_TRUE(update.has_error());
  EXPECT_EQ(update.error().code, ErrorCode::kLimit);
  replay.must("insert into t values (2, zeroblob(4000))");
  replay.commit();
  replay.must("insert into t values (3, zeroblob(9000))");
  replay.commit();
  replay.expect_equal();
}

TEST(Hazard09, AddColumnWithDefaultStillReportsOldValues) {
  for (const auto* kind : {"id integer primary key, a)", "id text primary key, a) without rowid"}) {
    Replay replay;
    replay.must(std::string("create table t (") + kind);
    replay.must("create table log (id integer primary key)");
    replay.must("insert into t values (1, 'x')");
    replay.must("create trigger r after update on t begin insert into log values (null); end");
    replay.must("alter table t add column d text not null default 'def'");
    EXPECT_EQ(operations(replay.commit()), "SSISS");
    replay.must("update t set a = 'y'");
    const auto records = replay.commit();
    EXPECT_EQ(row_change(records[0]).old_row.back(), Value(Text{"def"}));
    replay.expect_equal();
  }
}

TEST(Hazard10, VirtualGeneratedColumnsAreRefusedAndStoredOnesSkipped) {
  Replay replay;
  EXPECT_TRUE(replay.write("create table t (id integer primary key, a, v as (a + 1), b)").has_error());
  replay.must("create table t (id integer primary key, a, v as (a + 1) stored, b)");
  replay.must("insert into t (id, a, b) values (1, 2, 'b')");
  replay.must("update t set a = 5");
  const auto records = replay.commit();
  EXPECT_EQ(row_change(records[2]).new_row, (Row{std::int64_t{1}, std::int64_t{5}, Text{"b"}}));
  EXPECT_TRUE(replay.write("alter table t add column w as (a)").has_error());
  replay.expect_equal();
}

TEST(Hazard10, AWholeNumberInARealColumnIsReal) {
  Replay replay;
  replay.must("create table t (id integer primary key, r real)");
  replay.must("insert into t values (1, 5)");
  replay.must("update t set r = -0.0");
  const auto records = replay.commit();
  EXPECT_EQ(row_change(records[1]).new_row[1], Value(5.0));
  EXPECT_EQ(row_change(records[2]).old_row[1], Value(5.0));
  replay.expect_equal();
}

TEST(Hazard12, RowidsAndSequencesAreShipped) {
  Replay replay;
  replay.must("create table t (k text primary key, a)");
  replay.must("create table s (id integer primary key autoincrement, a)");
  replay.must("insert into t values ('a', 1), ('b', 2)");
  replay.must("replace into t values ('a', 3)");
  replay.must("insert into t (rowid, k) values (1000, 'c')");
  replay.must("update t set rowid = 5000 where k = 'b'");
  replay.must("insert into s values (77, 1)");
  replay.must("delete from s");
  replay.commit();
  replay.expect_equal();
  replay.must("insert into s (a) values (1)");
  replay.must("alter table s rename to s2");
  replay.must("insert into s2 (a) values (1)");
  replay.commit();
  replay.expect_equal();
  auto seq = replay.target().prepare("select seq from sqlite_sequence where name = 's2'", sqlite::Access::kInternal);
  ASSERT_TRUE(seq.value()->step().value());
  EXPECT_EQ(seq.value()->column_int64(0), 79);
}

TEST(Hazard13, NullInAPrimaryKeyIsRefused) {
  Replay replay;
  replay.must("create table t (k text primary key, a)");
  replay.must("create table d (k integer primary key desc, a)");
  for (const auto* sql : {"insert into t values (null, 1)", "insert into d values (null, 1)"}) {
    const auto refused = replay.write(sql);
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().code, ErrorCode::kValueUnsupported);
  }
  replay.must("insert into d values (1, 1)");
  EXPECT_TRUE(replay.write("update d set k = null").has_error());
  EXPECT_EQ(operations(replay.commit()), "SSI");
  replay.expect_equal();
}

TEST(Hazard16, DroppingATableDeletesNoChildrenUnseen) {
  Replay replay;
  replay.must("create table p (id integer primary key)");
  replay.must("create table c (id integer primary key, p references p on delete cascade)");
  replay.must("insert into p values (1)");
  replay.must("insert into c values (1, 1)");
  replay.must("create table p2 (id integer primary key, more)");
  replay.must("insert into p2 select id, 1 from p");
  replay.must("drop table p");
  replay.must("alter table p2 rename to p");
  replay.commit();
  replay.expect_equal();
  auto left = replay.source().prepare("select count(*) from c", sqlite::Access::kRead).value();
  ASSERT_TRUE(left->step().value());
  EXPECT_EQ(left->column_int64(0), 1);
  EXPECT_TRUE(replay.write("insert into c values (2, 5)").has_error()) << "foreign keys are on again";
}

TEST(Hazard17, LastInsertRowidIsTheStatementsOwn) {
  Replay replay;
  replay.must("create table t (id integer primary key, a text unique)");
  replay.must("create table w (id integer primary key) without rowid");
  replay.must("create table log (id integer primary key)");
  replay.must("create trigger r after insert on t begin insert into log values (new.id + 100); end");
  replay.must("insert into t values (7, 'a'), (8, 'b')");
  EXPECT_EQ(replay.capture().last_insert_rowid(), 8);
  replay.must("insert or ignore into t values (9, 'a')");
  EXPECT_EQ(replay.capture().last_insert_rowid(), std::nullopt);
  replay.must("insert into w values (3)");
  EXPECT_EQ(replay.capture().last_insert_rowid(), std::nullopt);
  replay.must("update t set a = 'z' where id = 7");
  EXPECT_EQ(replay.capture().last_insert_rowid(), std::nullopt);
  replay.commit();
  replay.expect_equal();
}

TEST(Hazard19, DeletesFromSystemTablesShipOnlyKeyColumns) {
  Replay replay;
  ASSERT_TRUE(replay.write("create table _leat_outcomes (k text primary key, reply blob) without rowid").has_value());
  replay.must("insert into _leat_outcomes values ('a', zeroblob(1000))");
  replay.must("delete from _leat_outcomes");
  const auto records = replay.commit();
  EXPECT_EQ(row_change(records[2]).old_row, (Row{Text{"a"}, Null{}}));
  replay.expect_equal();
}

}  // namespace
}  // namespace leat::changelog
