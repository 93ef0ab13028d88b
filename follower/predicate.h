// A query's condition, bound to one table's columns: evaluated over rows, and written as SQL that answers the same for
// every row (HAZARDS 24). Comparisons are three-valued, with COLLATE BINARY and SQLite's column affinity on literals.
// LIKE is case-sensitive; ILIKE folds ASCII letters and nothing else; `\` escapes. Immutable; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "changelog/catalog.h"
#include "core/error.h"
#include "core/sqlite.h"
#include "core/value.h"
#include "follower/query_ast.h"

namespace leat::follower {

enum class Truth : std::uint8_t { kFalse, kTrue, kUnknown };

// SQL and the values of its `?` marks, in order.
struct SqlText {
  std::string sql;
  std::vector<Value> parameters;
};

struct BoundOperand {
  int column = -1;  // index in the table's columns; -1: `literal`
  Value literal;
};

struct Predicate {
  enum class Kind : std::uint8_t { kCompare, kAnd, kOr };
  Kind kind = Kind::kAnd;  // an empty "and" is true, an empty "or" false
  CompareOp op = CompareOp::kEqual;
  BoundOperand left, right;
  std::vector<Value> list;  // IN, NOT IN: sorted, each once, NULL first
  std::vector<Predicate> children;
  bool numeric_left = false, numeric_right = false;  // column with column: the side that takes numeric affinity

  Truth evaluate(const Row& row) const;
  bool matches(const Row& row) const { return evaluate(row) == Truth::kTrue; }
};

// Errors: kStatementInvalid, `query build error: unknown column "x"`; a correlated subquery is refused by name.
Result<Predicate> bind_condition(const ConditionAst& condition, const changelog::TableSchema& table);

void append_sql(const Predicate& predicate, const changelog::TableSchema& table, SqlText& out);
// "name", with COLLATE BINARY where the column has another collation.
std::string column_sql(const changelog::TableColumn& column);
std::string quoted_name(std::string_view name);
// A stable spelling: equal conditions have equal texts.
void append_canonical(const Predicate& predicate, const changelog::TableSchema& table, std::string& out);
void append_canonical(const Value& value, std::string& out);

bool like_matches(std::string_view pattern, std::string_view text, bool fold_ascii_case);
// Adds leat_like(pattern, value) and leat_ilike(pattern, value), which the SQL above calls.
Result<void> register_live_functions(sqlite::Connection& connection);

}  // namespace leat::follower
