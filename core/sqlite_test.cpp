#include "core/sqlite.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/limits.h"

namespace leat::sqlite {
namespace {

std::unique_ptr<Connection> open_memory() {
  auto connection = Connection::open(":memory:", OpenMode::kCreate).value();
  connection->execute("pragma foreign_keys=on").value();
  return connection;
}

struct Sqlite : testing::Test {
  std::unique_ptr<Connection> connection = open_memory();

  void run(const std::string& sql) {
    auto done = connection->execute(sql);
    ASSERT_TRUE(done.has_value()) << sql << ": " << done.error().message;
  }
  Error refusal(std::string_view sql, Access access = Access::kWrite) {
    auto statement = connection->prepare(sql, access);
    if (statement.has_error()) return statement.error();
    auto done = statement.value()->run();
    if (done.has_error()) return done.error();
    ADD_FAILURE() << sql << " was not refused";
    return {};
  }
  StatementTraits traits(std::string_view sql, Access access = Access::kWrite) {
    return connection->prepare(sql, access).value()->traits();
  }
};

TEST_F(Sqlite, BindsAndReadsEveryTypeBitForBit) {
  auto statement = connection->prepare("select ?1, ?2, ?3, ?4, ?5", Access::kRead).value();
  const Row row{Null{}, std::int64_t{INT64_MIN}, -0.0, Text{std::string("a\0\xff", 3)}, Blob{""}};
  for (int i = 0; i < 5; ++i) statement->bind(i + 1, row[static_cast<std::size_t>(i)]);
  ASSERT_TRUE(statement->step().value());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(statement->column(i), row[static_cast<std::size_t>(i)]);
  EXPECT_TRUE(std::signbit(std::get<double>(statement->column(2))));
  EXPECT_FALSE(statement->step().value());
}

TEST_F(Sqlite, RefusesMoreThanOneStatement) {
  for (const auto* sql : {"select 1; select 2", "select 1; garbage", "select 1;; ; pragma user_version=7"}) {
    EXPECT_EQ(refusal(sql).code, ErrorCode::kStatementInvalid);
    EXPECT_EQ(refusal(sql).message, "one Statement may contain only one SQL statement");
  }
  auto version = connection->prepare("pragma user_version", Access::kRead).value();
  ASSERT_TRUE(version->step().value());
  EXPECT_EQ(version->column_int64(0), 0);
}

TEST_F(Sqlite, AllowsCommentsAndSemicolonsAroundOneStatement) {
  EXPECT_TRUE(connection->prepare(" ; -- one\n select 1; /* end */ ; -- more", Access::kRead).has_value());
}

TEST_F(Sqlite, RefusesNoStatement) {
  for (const auto* sql : {"", "  ", ";", "-- nothing"}) EXPECT_EQ(refusal(sql).code, ErrorCode::kStatementInvalid);
}

TEST_F(Sqlite, RefusesPragmasThatChangeASetting) {
  for (const auto access : {Access::kRead, Access::kWrite}) {
    for (const auto* sql : {"pragma foreign_keys=off", "pragma journal_mode(delete)", "pragma user_version=3",
                            "pragma wal_checkpoint", "PRAGMA Optimize", "explain pragma foreign_keys=off"}) {
      const auto error = refusal(sql, access);
      EXPECT_EQ(error.code, ErrorCode::kStatementUnsupported) << sql;
      EXPECT_EQ(error.message, "connection PRAGMAs are unsupported by the v1 SQL surface");
    }
  }
}

TEST_F(Sqlite, AllowsPragmasThatOnlyAsk) {
  run("create table t (id integer primary key)");
  for (const auto* sql : {"pragma table_info(t)", "pragma foreign_keys", "pragma user_version", "pragma index_list(t)",
                          "select * from pragma_table_info('t')", "pragma journal_mode"}) {
    for (const auto access : {Access::kRead, Access::kWrite}) {
      auto statement = connection->prepare(sql, access);
      ASSERT_TRUE(statement.has_value()) << sql << statement.error().message;
      EXPECT_TRUE(statement.value()->run().has_value()) << sql;
      EXPECT_FALSE(statement.value()->traits().writes) << sql;
    }
  }
}

TEST_F(Sqlite, RefusesTransactionControl) {
  for (const auto* sql :
       {"begin", "commit", "rollback", "savepoint a", "release a", "rollback to a", "begin immediate"}) {
    const auto error = refusal(sql);
    EXPECT_EQ(error.code, ErrorCode::kStatementUnsupported) << sql;
    EXPECT_EQ(error.message, "transaction-control SQL is unsupported; use typed transaction operations");
  }
}

TEST_F(Sqlite, RefusesWhatReachesBeyondTheDatabase) {
  for (const auto* sql : {"attach ':memory:' as other", "detach main", "vacuum", "vacuum into '/nowhere'",
                          "select load_extension('x')"}) {
    EXPECT_EQ(refusal(sql).code, ErrorCode::kStatementUnsupported) << sql;
  }
  for (const auto* sql : {"create temp table x (a)", "create table temp.x (a)", "create temp view v as select 1",
                          "create virtual table f using fts5(a)"}) {
    EXPECT_EQ(refusal(sql).code, ErrorCode::kSchemaUnsupported) << sql;
  }
}

TEST_F(Sqlite, ReadAccessRefusesWritesAsSqliteDoes) {
  run("create table t (id integer primary key)");
  for (const auto* sql :
       {"insert into t values (1)", "delete from t returning id", "create table u (a)", "drop table t",
        "create table if not exists t (a)", "with c as (select 1) insert into t select * from c"}) {
    const auto error = refusal(sql, Access::kRead);
    EXPECT_EQ(error.code, ErrorCode::kSqliteError) << sql;
    EXPECT_EQ(error.sqlite_code, 8) << sql;
    EXPECT_EQ(error.message, "attempt to write a readonly database");
  }
  EXPECT_TRUE(connection->prepare("explain insert into t values (1)", Access::kRead).has_value());
}

TEST_F(Sqlite, RefusesWritesToSqlitesOwnTablesAlsoFromTriggers) {
  run("create table t (id integer primary key autoincrement, a); create table u (id integer primary key);"
      "create trigger r after insert on u begin delete from sqlite_sequence; end");
  EXPECT_EQ(refusal("update sqlite_sequence set seq = 1").code, ErrorCode::kStatementUnsupported);
  EXPECT_EQ(refusal("insert into u values (1)").code, ErrorCode::kStatementUnsupported);
  EXPECT_EQ(refusal("delete from sqlite_master").message, "table sqlite_master may not be modified");
  EXPECT_TRUE(connection->prepare("insert into t (a) values (1)", Access::kWrite).has_value());
  EXPECT_TRUE(connection->prepare("drop table t", Access::kWrite).has_value());
  EXPECT_TRUE(connection->prepare("alter table t rename to t2", Access::kWrite).has_value());
}

TEST_F(Sqlite, TheTableGuardSeesTriggersCascadesAndSchemaChanges) {
  run("create table secret (id integer primary key, t references t on delete cascade); create table u (id integer "
      "primary key);"
      "create table t (id integer primary key);"
      "create trigger r after insert on u begin update secret set id = 2; end");
  connection->set_table_guard([](std::string_view table) -> Result<void> {
    if (table == "secret") return make_error(ErrorCode::kSchemaUnsupported, "no");
    return {};
  });
  for (const auto* sql : {"insert into secret values (1, 1)", "insert into u values (1)", "delete from t",
                          "drop table secret", "alter table secret add column b", "create index i on secret (id)",
                          "create trigger x after insert on secret begin select 1; end"}) {
    EXPECT_EQ(refusal(sql).message, "no") << sql;
  }
  EXPECT_TRUE(connection->prepare("select * from secret", Access::kWrite).has_value());
  EXPECT_TRUE(connection->prepare("insert into secret values (1, 1)", Access::kInternal).has_value());
}

TEST_F(Sqlite, TheTableGuardAlsoJudgesAStatementThatSqliteCompilesAgain) {
  run("create table secret (id integer primary key); create table u (id integer primary key)");
  connection->set_table_guard([](std::string_view table) -> Result<void> {
    if (table == "secret") return make_error(ErrorCode::kSchemaUnsupported, "no");
    return {};
  });
  auto statement = connection->prepare("insert into u values (?)", Access::kWrite).value();
  statement->bind(1, std::int64_t{1});
  EXPECT_TRUE(statement->run().has_value());
  run("create trigger r after insert on u begin insert into secret values (new.id); end");
  statement->bind(1, std::int64_t{2});
  auto done = statement->run();
  ASSERT_TRUE(done.has_error());
  EXPECT_EQ(done.error().message, "no");
}

TEST_F(Sqlite, SqlitesErrorsKeepTheirCodeAndMessage) {
  run("create table parent (id integer primary key);"
      "create table child (id integer primary key, code text not null unique, parent_id references parent, n check (n "
      "> 0),"
      " unique (parent_id, n)); insert into child values (1, 'a', null, 1); create table s (id integer primary key, a "
      "int) strict");
  EXPECT_EQ(refusal("select * from nosuch").message, "no such table: nosuch");
  EXPECT_EQ(refusal("select * from nosuch").sqlite_code, 1);
  const auto key = refusal("insert into child values (1, 'b', null, 1)");
  EXPECT_EQ(key.message, "UNIQUE constraint failed: child.id");
  EXPECT_EQ(key.sqlite_code, 1555);
  ASSERT_TRUE(key.constraint);
  EXPECT_EQ(key.constraint->kind, Constraint::Kind::kPrimaryKey);
  EXPECT_EQ(key.constraint->table, "child");
  EXPECT_EQ(key.constraint->columns, std::vector<std::string>{"id"});
  EXPECT_EQ(refusal("insert into child values (2, 'a', null, 1)").constraint->kind, Constraint::Kind::kUnique);
  EXPECT_EQ(refusal("insert into child values (2, null, null, 1)").constraint->kind, Constraint::Kind::kNotNull);
  EXPECT_EQ(refusal("insert into child values (2, 'b', null, 0)").constraint->kind, Constraint::Kind::kCheck);
  EXPECT_EQ(refusal("insert into child values (2, 'b', 5, 1)").constraint->kind, Constraint::Kind::kForeignKey);
  EXPECT_EQ(refusal("insert into s values (1, 'x')").constraint->kind, Constraint::Kind::kDatatype);
}

TEST_F(Sqlite, TraitsSayWhatAStatementDoes) {
  run("create table t (id integer primary key, a); create table u (id integer primary key); create view v as select a "
      "from t");
  EXPECT_FALSE(traits("select * from t join u").writes);
  EXPECT_EQ(traits("select * from t join u").tables_read, (std::vector<std::string>{"t", "u"}));
  EXPECT_EQ(traits("select count(*) from t").tables_read, (std::vector<std::string>{"t"}));
  EXPECT_TRUE(traits("insert into t select id, 1 from u").writes);
  EXPECT_EQ(traits("insert into t select id, 1 from u").changed_table, "t");
  EXPECT_TRUE(traits("with c as (select 1 x) update t set a = (select x from c) returning a").writes);
  EXPECT_TRUE(traits("delete from t where 0").writes);
  EXPECT_FALSE(traits("explain insert into t values (1, 2)").writes);
  EXPECT_FALSE(traits("explain query plan delete from t").writes);
  EXPECT_FALSE(traits("explain drop table t").is_ddl);
  for (const auto* sql : {"create table x (a)", "create table if not exists t (a)", "drop table if exists nosuch",
                          "create index i on t (a)", "create view w as select 1", "drop view v", "drop table t",
                          "create trigger r after insert on t begin select 1; end", "alter table t add column b",
                          "create table x as select * from t", "analyze", "reindex"}) {
    EXPECT_TRUE(traits(sql).is_ddl) << sql;
    EXPECT_TRUE(traits(sql).writes) << sql;
    EXPECT_EQ(traits(sql).changed_table, "") << sql;
  }
  EXPECT_FALSE(traits("insert into t values (1, 2)").is_ddl);
  EXPECT_TRUE(traits("drop table t").drops_table);
  EXPECT_TRUE(traits("alter table t rename column a to b").alters_table);
  EXPECT_FALSE(traits("create index i on t (a)").alters_table);
}

TEST_F(Sqlite, ReturningColumnsHaveTheirDeclaredType) {
  run("create table note (id integer primary key, title text, score varchar(3), \"returning\" real)");
  const auto types = [&](std::string_view sql) {
    std::string all;
    for (const auto& column : connection->prepare(sql, Access::kWrite).value()->columns()) {
      all += column.name + "=" + column.declared_type.value_or("null") + " ";
    }
    return all;
  };
  EXPECT_EQ(types("insert into note (title, score) values (?, ?) returning id, title, score; -- end"),
            "id=INTEGER title=TEXT score=varchar(3) ");
  EXPECT_EQ(types("update note set title = 'returning' where (1) returning *"),
            "id=INTEGER title=TEXT score=varchar(3) returning=REAL ");
  EXPECT_EQ(types("delete from note RETURNING id + 1 as id, upper(title) as title, score as s, 'x' as x -- no"),
            "id=null title=null s=varchar(3) x=null ");
  EXPECT_EQ(types("insert into note (\"returning\") values (1) returning note.id"), "id=INTEGER ");
  EXPECT_EQ(types("select id, title || 'x' as t from note"), "id=INTEGER t=null ");
}

TEST_F(Sqlite, ADeadlineInterruptsAStatement) {
  auto statement =
      connection
          ->prepare("with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c",
                    Access::kRead)
          .value();
  connection->set_deadline(std::chrono::steady_clock::now() + std::chrono::milliseconds(10));
  auto stepped = statement->step();
  ASSERT_TRUE(stepped.has_error());
  EXPECT_EQ(stepped.error().sqlite_code, 9);
  connection->set_deadline(std::nullopt);
  EXPECT_TRUE(connection->execute("select 1").has_value());
}

TEST_F(Sqlite, ACachedStatementInUseIsNeverHandedOutTwice) {
  auto first = connection->prepare_cached("select ?1", Access::kRead).value();
  first->bind(1, std::int64_t{1});
  ASSERT_TRUE(first->step().value());
  sqlite3_stmt* handle = first->handle();
  {
    auto second = connection->prepare_cached("select ?1", Access::kRead).value();
    EXPECT_NE(second->handle(), handle);
    second->bind(1, std::int64_t{2});
    ASSERT_TRUE(second->step().value());
    EXPECT_EQ(second->column_int64(0), 2);
  }
  EXPECT_EQ(first->column_int64(0), 1);
  { auto gone = std::move(first); }
  auto again = connection->prepare_cached("select ?1", Access::kRead).value();
  EXPECT_EQ(again->handle(), handle);
  ASSERT_TRUE(again->step().value());
  EXPECT_TRUE(again->column_is_null(0));
}

TEST_F(Sqlite, TheCacheKeepsToItsBound) {
  auto held = connection->prepare_cached("select -1", Access::kRead).value();
  for (std::size_t i = 0; i < statement_cache_entries_max * 2; ++i) {
    ASSERT_TRUE(connection->prepare_cached("select " + std::to_string(i), Access::kRead).has_value());
  }
  ASSERT_TRUE(held->step().value());
  EXPECT_EQ(held->column_int64(0), -1);
}

TEST_F(Sqlite, BoundsHold) {
  EXPECT_EQ(refusal("select '" + std::string(sql_bytes_max, 'x') + "'").code, ErrorCode::kLimit);
  EXPECT_TRUE(connection->prepare("select ?32000", Access::kRead).has_value());
  EXPECT_EQ(refusal("select ?32001").code, ErrorCode::kSqliteError);
  auto statement = connection->prepare("select ?1", Access::kRead).value();
  const std::string big(value_bytes_max + 1, 'x');
  statement->bind(1, std::string_view(big));
  ASSERT_TRUE(statement->step().has_error());
  EXPECT_EQ(statement->step().error().sqlite_code, 18);
  statement->reset();
  EXPECT_TRUE(statement->step().has_value());
}

TEST_F(Sqlite, TheSchemaGenerationMovesWithSchemaChangesAndTheirRollback) {
  const auto start = connection->schema_generation();
  run("begin; create table t (a)");
  const auto created = connection->schema_generation();
  EXPECT_NE(created, start);
  run("insert into t values (1); savepoint s; insert into t values (2)");
  EXPECT_EQ(connection->schema_generation(), created);
  run("rollback to s");
  EXPECT_NE(connection->schema_generation(), created);
  const auto before = connection->schema_generation();
  run("rollback");
  EXPECT_NE(connection->schema_generation(), before);
  const auto after = connection->schema_generation();
  run("begin; create table t (a unique); commit; begin; insert into t values (1)");
  const auto committed = connection->schema_generation();
  EXPECT_NE(committed, after);
  run("rollback");
  EXPECT_EQ(connection->schema_generation(), committed);
}

TEST_F(Sqlite, CountsDeferredForeignKeys) {
  run("create table p (id integer primary key); create table c (p references p deferrable initially deferred); begin;"
      "insert into c values (1)");
  EXPECT_EQ(connection->deferred_foreign_keys(), 1);
  run("insert into p values (1)");
  EXPECT_EQ(connection->deferred_foreign_keys(), 0);
}

}  // namespace
}  // namespace leat::sqlite
