#include "follower/query_ast.h"

#include <array>
#include <boost/json.hpp>
#include <cmath>

#include "follower/limits.h"

namespace leat::follower {

namespace json = boost::json;

namespace {

constexpr std::array<std::string_view, 14> kOpTexts = {
    "=", "!=", "<", "<=", ">", ">=", "IS", "IS NOT", "LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE", "IN", "NOT IN"};

Error invalid(std::string message) { return make_error(ErrorCode::kStatementInvalid, std::move(message)); }

class Parser {
 public:
  Result<QueryAst> query(const json::value& tree, int depth) {
    LEAT_TRY(descend(depth));
    const json::object* object = tree.if_object();
    if (object == nullptr) return invalid("invalid ast");
    QueryAst ast;
    const json::value* table = object->if_contains("table");
    if (table == nullptr || !table->is_string()) return invalid("invalid ast");
    ast.table = text(*table);
    if (const json::value* alias = present(*object, "alias")) {
      if (!alias->is_string()) return invalid("invalid ast: alias is not a string");
      ast.alias = text(*alias);
    }
    if (const json::value* select = present(*object, "select")) {
      LEAT_ASSIGN(ast.select, names(*select, "select"));
    }
    if (const json::value* where = present(*object, "where")) {
      LEAT_ASSIGN(ast.where, condition(*where, depth + 1));
    }
    if (const json::value* list = present(*object, "related")) {
      if (!list->is_array()) return invalid("invalid ast: related is not an array");
      for (const json::value& item : list->get_array()) {
        LEAT_ASSIGN(RelatedAst child, related(item, depth + 1));
        ast.related.push_back(std::move(child));
      }
    }
    if (const json::value* start = present(*object, "start")) {
      LEAT_ASSIGN(ast.start, start_at(*start));
    }
    if (const json::value* limit = present(*object, "limit")) {
      LEAT_ASSIGN(const Value count, literal(*limit));
      const auto* rows = std::get_if<std::int64_t>(&count);
      if (rows == nullptr || *rows < 0 || limit->is_bool()) {
        return invalid("invalid ast: limit is not a whole number from 0 up");
      }
      if (*rows > query_limit_max) {
        return make_error(ErrorCode::kLimit, "query build error: limit is beyond " + std::to_string(query_limit_max));
      }
      ast.limit = *rows;
    }
    if (const json::value* one = present(*object, "one")) {
      if (!one->is_bool()) return invalid("invalid ast: one is not a boolean");
      ast.one = one->get_bool();
    }
    if (const json::value* aggregate = present(*object, "aggregate")) {
      if (!aggregate->is_string() || aggregate->get_string() != "count") {
        return invalid("invalid ast: the only aggregate is \"count\"");
      }
      ast.counts = true;
    }
    if (const json::value* group_by = present(*object, "groupBy")) {
      LEAT_ASSIGN(ast.group_by, names(*group_by, "groupBy"));
    }
    if (const json::value* having = present(*object, "having")) {
      LEAT_ASSIGN(ast.having, condition(*having, depth + 1));
    }
    if (const json::value* order_by = present(*object, "orderBy")) {
      LEAT_ASSIGN(ast.order_by, order(*order_by));
    }
    return ast;
  }

 private:
  static std::string text(const json::value& value) { return std::string(value.get_string()); }

  static const json::value* present(const json::object& object, std::string_view name) {
    const json::value* value = object.if_contains(name);
    return value == nullptr || value->is_null() ? nullptr : value;
  }

  Result<void> descend(int depth) {
    if (depth > query_depth_max) {
      return make_error(ErrorCode::kLimit, "query build error: nested deeper than " + std::to_string(query_depth_max));
    }
    if (++nodes_ > query_nodes_max) {
      return make_error(ErrorCode::kLimit,
                        "query build error: more than " + std::to_string(query_nodes_max) + " nodes");
    }
    return {};
  }

  static Result<std::vector<std::string>> names(const json::value& value, std::string_view where) {
    const json::array* array = value.if_array();
    if (array == nullptr) return invalid("invalid ast: " + std::string(where) + " is not an array of names");
    std::vector<std::string> list;
    for (const json::value& item : *array) {
      if (!item.is_string()) return invalid("invalid ast: " + std::string(where) + " is not an array of names");
      list.push_back(text(item));
    }
    return list;
  }

  static Result<Value> literal(const json::value& value) {
    switch (value.kind()) {
      case json::kind::null:
        return Value{Null{}};
      case json::kind::bool_:
        return Value{std::int64_t{value.get_bool() ? 1 : 0}};
      case json::kind::int64:
        return Value{std::int64_t{value.get_int64()}};
      case json::kind::uint64:
        if (value.get_uint64() <= INT64_MAX) return Value{static_cast<std::int64_t>(value.get_uint64())};
        return Value{static_cast<double>(value.get_uint64())};
      case json::kind::double_: {
        const double real = value.get_double();
        if (std::trunc(real) == real && std::fabs(real) <= 9007199254740992.0) {
          return Value{static_cast<std::int64_t>(real)};
        }
        return Value{real};
      }
      case json::kind::string:
        return Value{Text{text(value)}};
      default:
        return invalid("invalid ast: a literal is neither null, boolean, number nor string");
    }
  }

  Result<Operand> operand(const json::value& value, bool list_allowed) {
    const json::object* object = value.if_object();
    const json::value* type = object == nullptr ? nullptr : object->if_contains("type");
    if (type == nullptr || !type->is_string()) return invalid("invalid ast: an operand has no type");
    Operand result;
    if (type->get_string() == "column") {
      const json::value* name = object->if_contains("name");
      if (name == nullptr || !name->is_string()) return invalid("invalid ast: a column has no name");
      result.kind = Operand::Kind::kColumn;
      result.column = text(*name);
      return result;
    }
    if (type->get_string() != "literal") return invalid("invalid ast: unknown operand type");
    const json::value* content = object->if_contains("value");
    if (content == nullptr) return invalid("invalid ast: a literal has no value");
    if (!list_allowed) {
      LEAT_ASSIGN(result.literal, literal(*content));
      return result;
    }
    if (!content->is_array()) return invalid("invalid ast: IN needs an array");
    result.kind = Operand::Kind::kList;
    for (const json::value& item : content->get_array()) {
      LEAT_ASSIGN(Value entry, literal(item));
      result.list.push_back(std::move(entry));
    }
    in_values_ += result.list.size();
    if (in_values_ > query_in_values_max) {
      return make_error(ErrorCode::kLimit,
                        "query build error: more than " + std::to_string(query_in_values_max) + " values in IN lists");
    }
    return result;
  }

  Result<ConditionAst> condition(const json::value& value, int depth) {
    LEAT_TRY(descend(depth));
    const json::object* object = value.if_object();
    const json::value* type = object == nullptr ? nullptr : object->if_contains("type");
    if (type == nullptr || !type->is_string()) return invalid("invalid ast: a condition has no type");
    const std::string_view kind = type->get_string();
    if (kind == "simple") return comparison(*object);
    if (kind == "and" || kind == "or") {
      ConditionAst result;
      result.kind = kind == "and" ? ConditionAst::Kind::kAnd : ConditionAst::Kind::kOr;
      const json::value* list = object->if_contains("conditions");
      if (list == nullptr || !list->is_array())
        return invalid("invalid ast: " + std::string(kind) + " has no conditions");
      for (const json::value& item : list->get_array()) {
        LEAT_ASSIGN(ConditionAst child, condition(item, depth + 1));
        result.conditions.push_back(std::move(child));
      }
      return result;
    }
    if (kind != "correlatedSubquery")
      return invalid("invalid ast: unknown condition type \"" + std::string(kind) + "\"");
    ConditionAst result;
    result.kind = ConditionAst::Kind::kExists;
    const json::value* op = object->if_contains("op");
    if (op == nullptr || !op->is_string() || (op->get_string() != "EXISTS" && op->get_string() != "NOT EXISTS")) {
      return invalid("invalid ast: a correlated subquery is EXISTS or NOT EXISTS");
    }
    result.negated = op->get_string() == "NOT EXISTS";
    result.flip = is_true(*object, "flip");
    result.scalar = is_true(*object, "scalar");
    const json::value* child = object->if_contains("related");
    if (child == nullptr) return invalid("invalid ast: a correlated subquery has no related");
    LEAT_ASSIGN(RelatedAst subquery, related(*child, depth + 1));
    result.related = std::make_shared<const RelatedAst>(std::move(subquery));
    return result;
  }

  static bool is_true(const json::object& object, std::string_view name) {
    const json::value* value = object.if_contains(name);
    return value != nullptr && value->is_bool() && value->get_bool();
  }

  Result<ConditionAst> comparison(const json::object& object) {
    ConditionAst result;
    result.kind = ConditionAst::Kind::kSimple;
    const json::value* op = object.if_contains("op");
    if (op == nullptr || !op->is_string()) return invalid("invalid ast: a condition has no op");
    std::size_t at = 0;
    while (at < kOpTexts.size() && kOpTexts[at] != std::string_view(op->get_string())) ++at;
    if (at == kOpTexts.size()) return invalid("invalid ast: unknown operator \"" + text(*op) + "\"");
    result.op = static_cast<CompareOp>(at);
    const json::value* left = object.if_contains("left");
    const json::value* right = object.if_contains("right");
    if (left == nullptr || right == nullptr) return invalid("invalid ast: a condition needs left and right");
    const bool is_membership = result.op == CompareOp::kIn || result.op == CompareOp::kNotIn;
    LEAT_ASSIGN(result.left, operand(*left, false));
    LEAT_ASSIGN(result.right, operand(*right, is_membership));
    if (is_membership && result.right.kind != Operand::Kind::kList) return invalid("invalid ast: IN needs an array");
    return result;
  }

  Result<RelatedAst> related(const json::value& value, int depth) {
    const json::object* object = value.if_object();
    const json::value* correlation = object == nullptr ? nullptr : object->if_contains("correlation");
    const json::value* subquery = object == nullptr ? nullptr : object->if_contains("subquery");
    if (correlation == nullptr || !correlation->is_object() || subquery == nullptr) {
      return invalid("invalid ast: related needs correlation and subquery");
    }
    const json::value* parent = correlation->get_object().if_contains("parentField");
    const json::value* child = correlation->get_object().if_contains("childField");
    if (parent == nullptr || child == nullptr)
      return invalid("invalid ast: correlation needs parentField and childField");
    RelatedAst result;
    LEAT_ASSIGN(result.parent_fields, names(*parent, "parentField"));
    LEAT_ASSIGN(result.child_fields, names(*child, "childField"));
    if (result.parent_fields.empty() || result.parent_fields.size() != result.child_fields.size()) {
      return invalid("invalid ast: parentField and childField must be as long as each other");
    }
    LEAT_ASSIGN(result.subquery, query(*subquery, depth));
    result.system = object->if_contains("system") != nullptr;
    return result;
  }

  static Result<StartAst> start_at(const json::value& value) {
    const json::object* object = value.if_object();
    const json::value* row = object == nullptr ? nullptr : object->if_contains("row");
    if (row == nullptr || !row->is_object()) return invalid("invalid ast: start has no row");
    StartAst result;
    for (const auto& [name, cell] : row->get_object()) {
      LEAT_ASSIGN(Value entry, literal(cell));
      result.row.emplace_back(std::string(name), std::move(entry));
    }
    result.exclusive = is_true(*object, "exclusive");
    return result;
  }

  static Result<std::vector<OrderAst>> order(const json::value& value) {
    const json::array* array = value.if_array();
    if (array == nullptr) return invalid("invalid ast: orderBy is not an array");
    std::vector<OrderAst> result;
    for (const json::value& item : *array) {
      const json::array* pair = item.if_array();
      if (pair == nullptr || pair->size() != 2 || !(*pair)[0].is_string() || !(*pair)[1].is_string() ||
          ((*pair)[1].get_string() != "asc" && (*pair)[1].get_string() != "desc")) {
        return invalid("invalid ast: orderBy holds [column, \"asc\" or \"desc\"]");
      }
      result.push_back({text((*pair)[0]), (*pair)[1].get_string() == "desc"});
    }
    return result;
  }

  std::size_t nodes_ = 0;
  std::size_t in_values_ = 0;
};

}  // namespace

std::string_view to_text(CompareOp op) { return kOpTexts[static_cast<std::size_t>(op)]; }

Result<QueryAst> parse_query(const json::value& tree) { return Parser().query(tree, 0); }

}  // namespace leat::follower
