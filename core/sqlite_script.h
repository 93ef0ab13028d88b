// Splits an SQL script into its statements, by SQLite's own tokenizer (sqlite3_complete): quotes, comments and trigger
// bodies are respected.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace leat::sqlite {

// Statements without the white space around them and without their last semicolon; parts that hold no SQL are left out.
// Text after the last semicolon is a statement, too.
std::vector<std::string> split_script(std::string_view script);

}  // namespace leat::sqlite
