#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <chrono>
#include <cstdlib>
#include <iostream>

#include "follower/live_test_support.h"
#include "follower/values.h"

namespace leat::follower {

namespace json = boost::json;

std::uint64_t test_seed() {
  const char* given = std::getenv("LEAT_TEST_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10)
                       : static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  std::cout << "LEAT_TEST_SEED=" << seed << "\n";
  return seed;
}

LiveTestDatabase::LiveTestDatabase(const std::string& schema) {
  connection_ = sqlite::Connection::open(":memory:", sqlite::OpenMode::kCreate).value();
  register_live_functions(*connection_).value();
  connection_->execute(schema).value();
}

Result<std::vector<Row>> LiveTestDatabase::rows(const SqlText& text, std::size_t rows_max) {
  LEAT_ASSIGN(auto statement, connection_->prepare(text.sql, sqlite::Access::kInternal));
  for (std::size_t i = 0; i < text.parameters.size(); ++i) {
    statement->bind(static_cast<int>(i) + 1, text.parameters[i]);
  }
  std::vector<Row> rows;
  while (true) {
    LEAT_ASSIGN(const bool has_row, statement->step());
    if (!has_row) return rows;
    if (rows.size() == rows_max) return make_error(ErrorCode::kResultLimit, "too many rows");
    Row& row = rows.emplace_back();
    for (int i = 0; i < statement->column_count(); ++i) row.push_back(statement->column(i));
  }
}

void LiveTestDatabase::execute(const std::string& sql) {
  const auto result = connection_->execute(sql);
  if (result.has_error()) throw std::runtime_error(result.error().message + ": " + sql);
}

void LiveTestDatabase::execute(const std::string& sql, Step* step, const changelog::TableSchema& table) {
  const auto image = [&] {
    std::map<std::string, Row> all;
    for (Row& row : rows({"select * from " + quoted_name(table.name), {}}, 1'000'000).value()) {
      all.emplace(key_of(row, table.primary_key), std::move(row));
    }
    return all;
  };
  const auto before = image();
  execute(sql);
  const auto after = image();
  for (const auto& [key, row] : before) {
    const auto now = after.find(key);
    if (now == after.end()) {
      step->add({table.name, changelog::Operation::kDelete, {}, {}, row, {}}, table);
    } else if (now->second != row) {
      step->add({table.name, changelog::Operation::kUpdate, {}, {}, row, now->second}, table);
    }
  }
  for (const auto& [key, row] : after) {
    if (!before.contains(key)) step->add({table.name, changelog::Operation::kInsert, {}, {}, {}, row}, table);
  }
}

std::shared_ptr<const changelog::Catalog> LiveTestDatabase::catalog() {
  return changelog::Catalog::load(*connection_).value();
}

std::string RandomQueries::key() { return "'k" + std::to_string(number(80)) + "'"; }

std::string RandomQueries::sql_value() {
  static const std::vector<std::string> kValues = {
      "null",  "0",     "1",     "2",       "-3",    "1.5",   "2.0", "9007199254740993",    "1e300", "'1'", "'1.0'",
      "' 2 '", "'abc'", "'ABC'", "'a%b_c'", "'a\\'", "x'61'", "''",  "'\xc3\xa9x'",         "'10'",  "10",  "0.1",
      "3",     "4",     "5",     "6",       "7",     "'d'",   "'e'", "-9223372036854775807"};
  return kValues[number(kValues.size())];
}

std::string RandomQueries::insert() {
  return "insert or replace into t values (" + key() + "," + sql_value() + "," + sql_value() + "," + sql_value() + "," +
         std::to_string(number(2)) + "," + sql_value() + "," + sql_value() + ")";
}

std::string RandomQueries::write() {
  switch (number(6)) {
    case 0:
      return "delete from t where id = " + key();
    case 1:
      return "update t set b = " + sql_value() + ", a = " + sql_value() + " where id = " + key();
    case 2:
      return "update or replace t set id = " + key() + " where id = " + key();
    case 3:
      return "update t set f = 1 - f where b > 3";
    default:
      return insert();
  }
}

std::string RandomQueries::column() {
  static const std::vector<std::string> kColumns = {"id", "a", "b", "n", "f", "j", "c"};
  return kColumns[number(kColumns.size())];
}

json::value RandomQueries::literal() {
  static const std::vector<json::value> kLiterals = {
      nullptr,          true, false, 0,     1,     2,     -3,        1.5,   10,      0.1,      1e300,
      9007199254740993, "1",  "1.0", " 2 ", "abc", "ABC", "a%b\\_c", "a%",  "%B%",   "_bc",    "",
      "\xc3\xa9x",      "_x", "10",  3,     4,     5,     "k11",     "k4%", "a\\\\", "A\\%b_C"};
  return kLiterals[number(kLiterals.size())];
}

json::value RandomQueries::condition(int depth) {
  if (depth > 0 && number(3) == 0) {
    json::array list;
    for (std::uint64_t i = number(4); i > 0; --i) list.push_back(condition(depth - 1));
    return {{"type", number(2) == 0 ? "and" : "or"}, {"conditions", list}};
  }
  static const std::vector<std::string> kOps = {"=",      "!=",   "<",        "<=",    ">",         ">=", "IS",
                                                "IS NOT", "LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE", "IN", "NOT IN"};
  const std::string& op = kOps[number(kOps.size())];
  json::value left{{"type", "column"}, {"name", column()}};
  if (op == "IN" || op == "NOT IN") {
    json::array list;
    for (std::uint64_t i = number(4); i > 0; --i) list.push_back(literal());
    return {{"type", "simple"}, {"op", op}, {"left", left}, {"right", {{"type", "literal"}, {"value", list}}}};
  }
  json::value right{{"type", "literal"}, {"value", literal()}};
  if (number(6) == 0) right = {{"type", "column"}, {"name", column()}};
  if (number(8) == 0) std::swap(left, right);
  return {{"type", "simple"}, {"op", op}, {"left", left}, {"right", right}};
}

json::value RandomQueries::query(bool with_window) {
  json::object ast;
  ast["table"] = "t";
  if (number(5) != 0) ast["where"] = condition(2);
  if (!with_window) return ast;
  if (number(3) == 0) ast["select"] = json::array{json::value(column()), json::value(column())};
  const std::string first = column();
  if (number(4) != 0) {
    json::array order{json::array{json::value(first), number(2) == 0 ? "asc" : "desc"}};
    if (number(2) == 0) order.push_back(json::array{json::value(column()), number(2) == 0 ? "asc" : "desc"});
    ast["orderBy"] = order;
    if (number(4) == 0) {
      json::object row{{first, literal()}};
      if (number(2) == 0) row["id"] = "k40";
      ast["start"] = {{"row", row}, {"exclusive", number(2) == 0}};
    }
  }
  if (number(3) != 0) ast["limit"] = number(12);
  if (number(8) == 0) ast["one"] = true;
  return ast;
}

}  // namespace leat::follower
