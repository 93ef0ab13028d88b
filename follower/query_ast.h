// The JSON query tree of a live query as types (WIRE, "The query tree"). The whole tree is read; what this server does
// not serve is refused by name. No I/O; any thread.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/error.h"
#include "core/value.h"

namespace leat::follower {

enum class CompareOp : std::uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIs,
  kIsNot,
  kLike,
  kNotLike,
  kIlike,
  kNotIlike,
  kIn,
  kNotIn,
};
std::string_view to_text(CompareOp op);

// One side of a comparison. JSON true and false are 1 and 0; a number without a fraction is an integer, as everywhere
// on the planes with plain JSON cells.
struct Operand {
  enum class Kind : std::uint8_t { kColumn, kLiteral, kList };
  Kind kind = Kind::kLiteral;
  std::string column;
  Value literal;
  std::vector<Value> list;  // the right side of IN and NOT IN
};

struct RelatedAst;

struct ConditionAst {
  enum class Kind : std::uint8_t { kSimple, kAnd, kOr, kExists };
  Kind kind = Kind::kAnd;
  CompareOp op = CompareOp::kEqual;      // kSimple
  Operand left, right;                   // kSimple
  std::vector<ConditionAst> conditions;  // kAnd, kOr
  bool negated = false;                  // kExists
  bool flip = false;
  bool scalar = false;
  std::shared_ptr<const RelatedAst> related;  // kExists
};

struct OrderAst {
  std::string column;
  bool descending = false;
};

struct StartAst {
  std::vector<std::pair<std::string, Value>> row;
  bool exclusive = false;
};

struct QueryAst {
  std::string table;
  std::optional<std::string> alias;
  std::optional<std::vector<std::string>> select;
  std::optional<ConditionAst> where;
  std::vector<RelatedAst> related;
  std::optional<StartAst> start;
  std::optional<std::int64_t> limit;
  bool one = false;
  bool counts = false;  // aggregate: "count"
  std::vector<std::string> group_by;
  std::optional<ConditionAst> having;
  std::vector<OrderAst> order_by;
};

struct RelatedAst {
  std::vector<std::string> parent_fields;
  std::vector<std::string> child_fields;
  QueryAst subquery;
  bool system = false;
};

// Errors: kStatementInvalid, the message as the wire has it ("invalid ast", or what is wrong and where); kLimit for a
// tree beyond the bounds of limits.h.
Result<QueryAst> parse_query(const boost::json::value& tree);

}  // namespace leat::follower
