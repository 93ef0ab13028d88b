#include "core/sqlite_script.h"

#include <gtest/gtest.h>

namespace leat::sqlite {
namespace {

using Statements = std::vector<std::string>;

TEST(SplitScript, KeepsQuotesCommentsAndTriggerBodiesWhole) {
  EXPECT_EQ(split_script("create table a (x text default ';');\n-- a ; comment\ninsert into a values ('it''s; fine')"),
            (Statements{"create table a (x text default ';')", "insert into a values ('it''s; fine')"}));
  EXPECT_EQ(split_script("create trigger t after insert on a begin select 1; select 2; end;\nselect 3;"),
            (Statements{"create trigger t after insert on a begin select 1; select 2; end", "select 3"}));
}

TEST(SplitScript, LeavesOutPartsWithoutSql) {
  EXPECT_EQ(split_script(" ;; /* nothing */ ; -- nothing\n"), Statements{});
  EXPECT_EQ(split_script("select 1;;"), Statements{"select 1"});
}

}  // namespace
}  // namespace leat::sqlite
