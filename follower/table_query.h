// A query over one table, checked against the catalog: what the live engine runs. Immutable; any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "changelog/catalog.h"
#include "core/error.h"
#include "follower/predicate.h"
#include "follower/query_ast.h"

namespace leat::follower {

// The types of the live plane, by declared type (WIRE, `/schema`).
enum class LiveType : std::uint8_t { kString, kNumber, kBoolean, kJson, kInt64 };
LiveType live_type(std::string_view declared_type);
std::string_view to_text(LiveType type);

struct OrderTerm {
  int column = 0;
  bool descending = false;
};

// A position in the query's order: values for a prefix of its terms.
struct Position {
  std::vector<Value> values;
  bool exclusive = true;
};

struct TableQuery {
  changelog::TableSchema table;
  std::vector<LiveType> types;   // of table.columns
  std::vector<int> shipped;      // columns of the footprint in table order: selected ones and the key
  std::vector<int> shipped_key;  // the key as indexes into `shipped`
  std::vector<int> selected;     // columns of the view, in table order
  Predicate where;
  std::vector<OrderTerm> order;  // completed by the primary key: total
  std::optional<Position> start;
  std::optional<std::int64_t> limit;
  std::string canonical;      // equal for queries that answer alike
  std::string normalized_fp;  // of the hello's tables
  std::string hello_tables;   // JSON: [{"name","columns","primaryKey"}]

  std::weak_ordering compare_rows(const Row& left, const Row& right) const;
  // Where a row stands in relation to a position: equal where the position's prefix is.
  std::weak_ordering compare_position(const Row& row, const Position& position) const;
  bool is_after(const Row& row, const Position& position) const;
  // The condition and the start.
  bool matches(const Row& row) const;
  Row ship(const Row& row) const;
};

// 16 hex digits of a canonical text and who may see the answer.
std::string query_key(std::string_view canonical, std::string_view visibility_key);

// Errors: kNotFound `schema error: unknown table in query tree: x` (it may still come); kStatementInvalid `query build
// error: ...`; kStatementUnsupported for what this server does not serve, naming what and where.
Result<TableQuery> bind_query(const QueryAst& ast, const changelog::Catalog& catalog);
// The same over one table, system tables included.
Result<TableQuery> bind_table_query(const QueryAst& ast, const changelog::TableSchema& table);

// The statements that, run one after the other, give the query's rows (all columns) in order: those after `from` where
// given, `limit` appended as the last parameter where wanted. Each is a range of one index, so that neither ties nor
// table size cost anything where an index has the order.
std::vector<SqlText> select_statements(const TableQuery& query, const std::optional<Position>& from);

}  // namespace leat::follower
