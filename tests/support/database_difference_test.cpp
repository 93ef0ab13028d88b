#include "tests/support/database_difference.h"

#include <gtest/gtest.h>

#include "core/sqlite.h"
#include "tests/support/temporary_folder.h"

namespace leat::testing {
namespace {

constexpr const char* kSchema = "create table t (name text primary key, v); create table _leat_meta (x);";

class DatabaseDifference : public ::testing::Test {
 protected:
  std::vector<std::string> after(const std::string& left_sql, const std::string& right_sql) {
    make("left", kSchema + left_sql);
    make("right", kSchema + right_sql);
    auto found = differences(folder_ / "left", folder_ / "right");
    EXPECT_TRUE(found.has_value()) << (found.has_error() ? found.error().message : "");
    return found.has_value() ? *found : std::vector<std::string>{"failed"};
  }

 private:
  void make(const std::string& name, const std::string& sql) {
    auto connection = sqlite::Connection::open(folder_ / name, sqlite::OpenMode::kCreate);
    ASSERT_TRUE(connection.has_value());
    auto done = (*connection)->execute(sql);
    ASSERT_TRUE(done.has_value()) << done.error().message;
  }

  TemporaryFolder folder_;
};

TEST_F(DatabaseDifference, IsNothingForEqualRowsHoweverTheyWereWritten) {
  EXPECT_TRUE(after("insert into t values ('a', 1), ('b', x'00');",
                    "insert into t values ('a', 2); insert into t values ('b', x'00'); update t set v = 1 where name = "
                    "'a'; insert into _leat_meta values (1);")
                  .empty());
}

TEST_F(DatabaseDifference, SeesAnotherTypeOfTheSameValue) {
  EXPECT_EQ(after("insert into t values ('a', 1);", "insert into t values ('a', 1.0);").size(), 1u);
}

TEST_F(DatabaseDifference, SeesAnotherHiddenRowid) {
  EXPECT_EQ(
      after("insert into t (rowid, name) values (1, 'a');", "insert into t (rowid, name) values (2, 'a');").size(), 1u);
}

TEST_F(DatabaseDifference, SeesAMissingRow) { EXPECT_EQ(after("insert into t values ('a', 1);", "").size(), 1u); }

TEST_F(DatabaseDifference, SeesAnotherSchema) { EXPECT_EQ(after("create table u (x);", "").size(), 1u); }

}  // namespace
}  // namespace leat::testing
