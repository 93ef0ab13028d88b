#include "sqlclient/wire/statement.h"

#include <gtest/gtest.h>

namespace leat::wire {
namespace {

class WireStatement : public testing::Test {
 protected:
  std::unique_ptr<sqlite::Statement> compile(std::string_view sql) {
    return connection_->prepare(sql, sqlite::Access::kInternal).value();
  }
  // The rows as JSON, or the error's code.
  std::string rows(std::string_view sql, Plane plane = Plane::kPublic, AnswerLimits limits = {}) {
    auto compiled = compile(sql);
    std::string out;
    const auto done = append_rows(out, *compiled, plane, limits);
    return done.has_error() ? std::string(to_text(done.error().code)) : out;
  }
  std::string bind_error(std::string_view sql, const Statement& statement) {
    auto compiled = compile(sql);
    const auto bound = bind(*compiled, statement);
    return bound.has_error() ? bound.error().message : "";
  }

  std::unique_ptr<sqlite::Connection> connection_ =
      sqlite::Connection::open(":memory:", sqlite::OpenMode::kCreate).value();
};

Statement named(std::vector<std::pair<std::string, Value>> values) {
  Statement statement;
  statement.has_names = true;
  statement.named = std::move(values);
  return statement;
}

TEST_F(WireStatement, PublicValuesAreTagged) {
  EXPECT_EQ(rows("select null, 1, 1.5, 'a' || char(0) || 'b', 9e999, -9e999, 5.0"),
            R"([[null,{"$rindle":"i64","value":"1"},1.5,"a\u0000b",{"$rindle":"float","value":"Infinity"},)"
            R"({"$rindle":"float","value":"-Infinity"},5]])");
  EXPECT_EQ(rows("select -9223372036854775808"), R"([[{"$rindle":"i64","value":"-9223372036854775808"}]])");
}

TEST_F(WireStatement, ControlValuesArePlain) {
  EXPECT_EQ(rows("select null, 9223372036854775807, 1.5, 'x', 9e999", Plane::kControl),
            R"([[null,9223372036854775807,1.5,"x",null]])");
}

TEST_F(WireStatement, BlobsGoOnlyToThoseWhoAsked) {
  AnswerLimits limits;
  EXPECT_EQ(rows("select x'00ff'"), "VALUE_UNSUPPORTED");
  limits.blobs = true;
  EXPECT_EQ(rows("select x'00ff', x''", Plane::kPublic, limits),
            R"([[{"$rindle":"blob","value":"AP8="},{"$rindle":"blob","value":""}]])");
  EXPECT_EQ(rows("select x'00ff'", Plane::kControl, limits), "VALUE_UNSUPPORTED");
}

TEST_F(WireStatement, ARefusedBlobIsOnlySentToTheHeaderWhereThereIsOne) {
  for (const Plane plane : {Plane::kPublic, Plane::kControl}) {
    auto compiled = compile("select x'00ff'");
    std::string out;
    const auto done = append_rows(out, *compiled, plane, {});
    ASSERT_TRUE(done.has_error());
    EXPECT_EQ(done.error().message.find("Leat-Values") != std::string::npos, plane == Plane::kPublic);
  }
}

TEST_F(WireStatement, Hazard08TextThatIsNotUtf8IsRefusedByName) {
  auto compiled = compile("select 'ok', cast(x'ff' as text)");
  std::string out;
  const auto done = append_rows(out, *compiled, Plane::kPublic, {});
  ASSERT_TRUE(done.has_error());
  EXPECT_EQ(done.error().code, ErrorCode::kValueUnsupported);
  EXPECT_NE(done.error().message.find("column 1"), std::string::npos);
}

TEST_F(WireStatement, RowsAndBytesOfAnAnswerAreBounded) {
  const std::string count =
      "with recursive n(i) as (select 1 union all select i + 1 from n where i < 3) select i from n";
  AnswerLimits limits;
  limits.rows_max = 3;
  EXPECT_NE(rows(count, Plane::kControl, limits), "RESULT_LIMIT");
  limits.rows_max = 2;
  EXPECT_EQ(rows(count, Plane::kControl, limits), "RESULT_LIMIT");
  limits = {};
  limits.bytes_max = 20;
  EXPECT_EQ(rows("select 'short'", Plane::kControl, limits), R"([["short"]])");
  EXPECT_EQ(rows("select printf('%.40c', 'x')", Plane::kControl, limits), "RESULT_LIMIT");
}

TEST_F(WireStatement, RowsThatNobodyWantsAreSteppedThroughOnly) {
  auto compiled = compile("select x'00' union all select x'01'");
  std::string out;
  EXPECT_FALSE(append_rows(out, *compiled, Plane::kPublic, {}, false).has_error());
  EXPECT_EQ(out, "[]");
}

TEST_F(WireStatement, PositionalValuesMustBeAsManyAsThePlaceholders) {
  Statement statement;
  statement.positional = {std::int64_t{1}};
  EXPECT_EQ(bind_error("select ?", statement), "");
  EXPECT_EQ(bind_error("select ?, ?", statement), "statement expects 2 positional values, got 1");
  EXPECT_EQ(bind_error("select 1", statement), "statement expects 0 positional values, got 1");
}

TEST_F(WireStatement, NamesComeWithOrWithoutTheirPrefix) {
  EXPECT_EQ(bind_error("select :a, @b, $c", named({{"a", Null{}}, {"@b", Null{}}, {"$c", Null{}}})), "");
  EXPECT_EQ(bind_error("select :a", named({})), "missing named bind value for :a");
  EXPECT_EQ(bind_error("select :a", named({{"a", Null{}}, {"b", Null{}}})),
            "named bind \"b\" is not used by the statement");
  EXPECT_EQ(bind_error("select ?", named({{"a", Null{}}})), "positional placeholder cannot be bound with named args");
  EXPECT_EQ(bind_error("select ?3, :a", named({{"a", Null{}}})),
            "positional placeholder cannot be bound with named args");
  EXPECT_EQ(bind_error("select :a", named({{"", Null{}}, {"a", Null{}}})),
            "named bind \"\" is not used by the statement");
}

TEST_F(WireStatement, ThousandsOfNamesAreBound) {
  std::string sql = "select 1 in (";
  std::vector<std::pair<std::string, Value>> values;
  for (int i = 0; i < 4'000; ++i) {
    const std::string name = "n" + std::to_string(i);
    sql += (i > 0 ? ",:" : ":") + name;
    values.emplace_back(name, std::int64_t{i});
  }
  EXPECT_EQ(bind_error(sql + ")", named(std::move(values))), "");
}

TEST_F(WireStatement, AResultSaysWhatItsColumnsAre) {
  (void)connection_->execute("create table t (id integer primary key, n VarChar(9), plain)");
  auto compiled = compile("select id, n, plain, 1 as one from t");
  std::string out;
  ASSERT_FALSE(append_public_read(out, *compiled, {}, true).has_error());
  EXPECT_EQ(out, R"json({"columns":[{"decltype":"INTEGER","name":"id"},{"decltype":"VARCHAR(9)","name":"n"},)json"
                 R"json({"decltype":null,"name":"plain"},{"decltype":null,"name":"one"}],"last_insert_rowid":null,)json"
                 R"json("rows":[],"rows_affected":0,"rows_read":null,"rows_written":null})json");
  out.clear();
  auto again = compile("select 1 as one");
  ASSERT_FALSE(append_control_read(out, *again, {}).has_error());
  EXPECT_EQ(out, R"({"cols":["one"],"rows":[[1]]})");
}

}  // namespace
}  // namespace leat::wire
