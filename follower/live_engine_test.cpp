// View equals fresh query, and the evaluator equals SQLite, over random rows, conditions and writes.
#include "follower/live_engine.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <random>

#include "follower/limits.h"
#include "follower/live_test_support.h"
#include "follower/values.h"

namespace leat::follower {
namespace {

TEST(Hazard24, ConditionsAnswerAsSqliteDoesOverAnyRow) {
  const std::uint64_t seed = test_seed();
  RandomQueries random(seed);
  LiveTestDatabase database(RandomQueries::kSchema);
  for (int i = 0; i < 300; ++i) database.execute(random.insert());
  const auto catalog = database.catalog();
  std::size_t compared = 0;
  for (int i = 0; i < 1500; ++i) {
    boost::json::value ast = random.query(false);
    const auto query = bind_query(parse_query(ast).value(), *catalog);
    ASSERT_TRUE(query.has_value()) << query.error().message;
    std::set<std::string> expected;
    for (const Row& row : run_query(*query, database).value()) expected.insert(key_of(row, query->table.primary_key));
    std::set<std::string> evaluated;
    for (const Row& row : database.rows({"select * from t", {}}, 100000).value()) {
      ++compared;
      if (query->matches(row)) evaluated.insert(key_of(row, query->table.primary_key));
    }
    ASSERT_EQ(evaluated, expected) << "seed " << seed << ": " << boost::json::serialize(ast);
  }
  EXPECT_GT(compared, 100'000u);
}

TEST(LiveEngine, DeltasAppliedInOrderEqualTheQueryRunFresh) {
  const std::uint64_t seed = test_seed();
  RandomQueries random(seed);
  LiveTestDatabase database(RandomQueries::kSchema);
  for (int i = 0; i < 60; ++i) database.execute(random.insert());
  const auto catalog = database.catalog();
  LiveEngine engine;
  struct View {
    std::shared_ptr<const TableQuery> query;
    std::map<std::string, Row> rows;
  };
  std::map<LiveQueryId, View> views;
  const auto start = [&] {
    auto bound = bind_query(parse_query(random.query(true)).value(), *catalog);
    ASSERT_TRUE(bound.has_value()) << bound.error().message;
    auto query = std::make_shared<const TableQuery>(std::move(bound).value());
    auto started = engine.start(query, database).value();
    View view{query, {}};
    for (Row& row : started.rows) view.rows.emplace(key_of(row, query->shipped_key), std::move(row));
    views.emplace(started.query, std::move(view));
  };
  for (int i = 0; i < 40; ++i) start();
  std::size_t deltas = 0;
  for (int i = 0; i < 2000; ++i) {
    if (i % 20 == 0) {
      engine.stop(views.begin()->first);
      views.erase(views.begin());
      start();
    }
    Step step;
    const int writes = 1 + static_cast<int>(random.number(4));
    for (int w = 0; w < writes; ++w) database.execute(random.write(), &step, *catalog->find("t"));
    const StepResult result = engine.step(step, nullptr, database);
    ASSERT_TRUE(result.ended.empty());
    for (const QueryDelta& delta : result.deltas) {
      View& view = views.at(delta.query);
      ASSERT_FALSE(delta.ops.empty());
      for (const DeltaOp& op : delta.ops) {
        ++deltas;
        if (op.kind != DeltaOp::Kind::kAdd) {
          const auto row = view.rows.find(key_of(op.before, view.query->shipped_key));
          ASSERT_NE(row, view.rows.end()) << "seed " << seed << " step " << i;
          ASSERT_EQ(row->second, op.before);
          view.rows.erase(row);
        }
        if (op.kind != DeltaOp::Kind::kRemove) {
          ASSERT_TRUE(view.rows.emplace(key_of(op.after, view.query->shipped_key), op.after).second);
        }
      }
    }
    for (const auto& [id, view] : views) {
      std::map<std::string, Row> fresh;
      for (const Row& row : run_query(*view.query, database).value()) {
        Row shipped = view.query->ship(row);
        fresh.emplace(key_of(shipped, view.query->shipped_key), std::move(shipped));
      }
      ASSERT_EQ(view.rows, fresh) << "seed " << seed << " step " << i << ": " << view.query->canonical;
    }
  }
  EXPECT_GT(deltas, 1000u);
}

TEST(LiveEngine, AChangeAsksOnlyTheQueriesItCanTouch) {
  LiveTestDatabase database("create table t (id integer primary key, a text, b integer, n real, f boolean, j)");
  const auto catalog = database.catalog();
  LiveEngine engine;
  const auto start = [&](const std::string& condition) {
    const auto ast = boost::json::parse(R"({"table":"t","where":)" + condition + "}");
    auto query = std::make_shared<const TableQuery>(bind_query(parse_query(ast).value(), *catalog).value());
    return engine.start(query, database).value().query;
  };
  const auto condition = [](const std::string& column, const std::string& op, const std::string& value) {
    return R"({"type":"simple","op":")" + op + R"(","left":{"type":"column","name":")" + column +
           R"("},"right":{"type":"literal","value":)" + value + "}}";
  };
  LiveQueryId wanted = 0;
  for (int i = 0; i < 5000; ++i) {
    const LiveQueryId id = start(condition("a", "=", "\"chat" + std::to_string(i) + "\""));
    if (i == 4321) wanted = id;
  }
  for (int i = 0; i < 1000; ++i) start(condition("b", ">", std::to_string(1'000'000 + i)));
  Step step;
  database.execute("insert into t values (1, 'chat4321', 5, 1.5, 1, null)", &step, *catalog->find("t"));
  StepResult result = engine.step(step, nullptr, database);
  ASSERT_EQ(result.deltas.size(), 1u);
  EXPECT_EQ(result.deltas[0].query, wanted);
  EXPECT_EQ(engine.evaluations(), 1u);

  Step ranges;
  database.execute("update t set b = 1000003 where id = 1", &ranges, *catalog->find("t"));
  result = engine.step(ranges, nullptr, database);
  EXPECT_EQ(result.deltas.size(), 4u);  // three ranges, and the edit of chat4321
  EXPECT_EQ(engine.evaluations(), 5u);
}

TEST(LiveEngine, ASchemaChangeEndsTheQueriesOverItsTableAndNoOthers) {
  LiveTestDatabase database("create table t (id integer primary key, a text); create table u (id integer primary key)");
  const auto catalog = database.catalog();
  LiveEngine engine;
  const auto start = [&](const char* ast) {
    auto query =
        std::make_shared<const TableQuery>(bind_query(parse_query(boost::json::parse(ast)).value(), *catalog).value());
    return engine.start(query, database).value().query;
  };
  const LiveQueryId on_t = start(R"({"table":"t"})");
  start(R"({"table":"u"})");
  const auto change = [&](const std::string& sql) {
    database.execute(sql);
    Step step;
    step.add_schema_change(sql);
    const auto now = database.catalog();
    return engine.step(step, now.get(), database).ended;
  };
  EXPECT_TRUE(change("create index t_a on t (a)").empty());
  EXPECT_EQ(change("alter table t add column b integer default 3"), std::vector<LiveQueryId>{on_t});
  EXPECT_EQ(engine.queries(), 1u);
}

TEST(Query, WhatIsNotServedIsNamed) {
  LiveTestDatabase database("create table t (id integer primary key, big bigint)");
  const auto catalog = database.catalog();
  const auto message = [&](const char* text) {
    boost::json::parse_options options;
    options.max_depth = 256;
    const auto ast = parse_query(boost::json::parse(text, {}, options));
    if (ast.has_error()) return ast.error().message;
    const auto query = bind_query(*ast, *catalog);
    return query.has_error() ? query.error().message : std::string();
  };
  EXPECT_EQ(message("{}"), "invalid ast");
  EXPECT_EQ(message(R"({"table":"nosuch"})"), "schema error: unknown table in query tree: nosuch");
  EXPECT_EQ(message(R"({"table":"t","select":["id"],"orderBy":[["nocol","asc"]]})"),
            "query build error: unknown column \"nocol\"");
  EXPECT_NE(message(R"({"table":"t"})").find("\"big\""), std::string::npos);
  EXPECT_EQ(message(R"({"table":"t","select":["id"]})"), "");
  EXPECT_NE(message(R"({"table":"t","aggregate":"count"})").find("aggregate in the query of \"t\""), std::string::npos);
  EXPECT_NE(message(R"({"table":"t","related":[{"correlation":{"parentField":["id"],"childField":["x"]},
                       "subquery":{"table":"child"}}]})")
                .find("related \"child\""),
            std::string::npos);
  std::string deep = R"({"type":"and","conditions":[]})";
  for (int i = 0; i <= query_depth_max; ++i) deep = R"({"type":"and","conditions":[)" + deep + "]}";
  EXPECT_NE(message((R"({"table":"t","where":)" + deep + "}").c_str()).find("nested deeper"), std::string::npos);
}

}  // namespace
}  // namespace leat::follower
