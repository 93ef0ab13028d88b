// For tests of the live plane: a database in memory that tells its row changes, and random queries and writes.
#pragma once

#include <boost/json/value.hpp>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "changelog/catalog.h"
#include "core/sqlite.h"
#include "follower/live_engine.h"

namespace leat::follower {

// From LEAT_TEST_SEED, or the clock; printed.
std::uint64_t test_seed();

class LiveTestDatabase final : public Snapshot {
 public:
  explicit LiveTestDatabase(const std::string& schema);
  Result<std::vector<Row>> rows(const SqlText& statement, std::size_t rows_max) override;
  void execute(const std::string& sql);
  // Runs a write and adds what it did to the table, row by row, to the step.
  void execute(const std::string& sql, Step* step, const changelog::TableSchema& table);
  std::shared_ptr<const changelog::Catalog> catalog();

 private:
  std::unique_ptr<sqlite::Connection> connection_;
};

class RandomQueries {
 public:
  static constexpr const char* kSchema =
      "create table t (id text primary key not null, a text, b integer, n real, f boolean, j, c text collate nocase);"
      "create index t_b on t (b, id)";
  explicit RandomQueries(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t number(std::uint64_t below) { return engine_() % below; }
  std::string insert();
  std::string write();
  boost::json::value query(bool with_window);

 private:
  std::string key();
  std::string sql_value();
  boost::json::value literal();
  boost::json::value condition(int depth);
  std::string column();
  std::mt19937_64 engine_;
};

}  // namespace leat::follower
