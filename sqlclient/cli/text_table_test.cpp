#include "sqlclient/cli/text_table.h"

#include <gtest/gtest.h>

namespace leat::cli {
namespace {

TEST(TextTable, AlignsTextLeftAndNumbersRight) {
  EXPECT_EQ(text_table({"id", "title"}, {{std::int64_t{7}, Text{"first"}}, {std::int64_t{1234}, Null{}}}),
            "id    title\n"
            "----  -----\n"
            "   7  first\n"
            "1234  NULL\n");
}

TEST(TextTable, CountsCharactersAndNotBytes) {
  EXPECT_EQ(text_table({"a", "b"}, {{Text{"\xc3\xa9"}, Text{"x"}}, {Text{"ee"}, Text{"y"}}}),
            "a   b\n"
            "--  -\n"
            "\xc3\xa9   x\n"
            "ee  y\n");
}

TEST(TextTable, WithoutRowsShowsItsColumns) { EXPECT_EQ(text_table({"id"}, {}), "id\n--\n"); }

}  // namespace
}  // namespace leat::cli
