#include "follower/predicate.h"

#include <sqlite3.h>

#include <algorithm>
#include <charconv>

#include "follower/values.h"

namespace leat::follower {

using changelog::Affinity;
using changelog::TableColumn;
using changelog::TableSchema;

namespace {

Truth truth(bool value) { return value ? Truth::kTrue : Truth::kFalse; }

Truth negate(Truth value) {
  if (value == Truth::kUnknown) return value;
  return truth(value == Truth::kFalse);
}

bool is_numeric(Affinity affinity) {
  return affinity == Affinity::kInteger || affinity == Affinity::kReal || affinity == Affinity::kNumeric;
}

bool is_like(CompareOp op) {
  return op == CompareOp::kLike || op == CompareOp::kNotLike || op == CompareOp::kIlike || op == CompareOp::kNotIlike;
}

std::size_t character_bytes(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
  return end - at;
}

char fold(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

Truth compare(CompareOp op, const Value& left, const Value& right) {
  const bool has_null = is_null(left) || is_null(right);
  switch (op) {
    case CompareOp::kIs:
      return truth(compare_values(left, right) == 0);
    case CompareOp::kIsNot:
      return truth(compare_values(left, right) != 0);
    default:
      break;
  }
  if (has_null) return Truth::kUnknown;
  switch (op) {
    case CompareOp::kEqual:
      return truth(compare_values(left, right) == 0);
    case CompareOp::kNotEqual:
      return truth(compare_values(left, right) != 0);
    case CompareOp::kLess:
      return truth(compare_values(left, right) < 0);
    case CompareOp::kLessEqual:
      return truth(compare_values(left, right) <= 0);
    case CompareOp::kGreater:
      return truth(compare_values(left, right) > 0);
    case CompareOp::kGreaterEqual:
      return truth(compare_values(left, right) >= 0);
    case CompareOp::kLike:
    case CompareOp::kIlike:
      return truth(like_matches(text_of(right), text_of(left), op == CompareOp::kIlike));
    default:
      return truth(!like_matches(text_of(right), text_of(left), op == CompareOp::kNotIlike));
  }
}

Truth membership(const std::vector<Value>& sorted, const Value& value) {
  if (sorted.empty()) return Truth::kFalse;
  if (is_null(value)) return Truth::kUnknown;
  const auto less = [](const Value& a, const Value& b) { return compare_values(a, b) < 0; };
  if (std::binary_search(sorted.begin(), sorted.end(), value, less)) return Truth::kTrue;
  return is_null(sorted.front()) ? Truth::kUnknown : Truth::kFalse;
}

Result<BoundOperand> bind_operand(const Operand& operand, const TableSchema& table) {
  BoundOperand bound;
  if (operand.kind == Operand::Kind::kColumn) {
    const auto column = table.find_column(operand.column);
    if (!column) {
      return make_error(ErrorCode::kStatementInvalid, "query build error: unknown column \"" + operand.column + "\"");
    }
    bound.column = *column;
  } else {
    bound.literal = operand.literal;
  }
  return bound;
}

Result<Predicate> bind_comparison(const ConditionAst& condition, const TableSchema& table) {
  Predicate bound;
  bound.kind = Predicate::Kind::kCompare;
  bound.op = condition.op;
  LEAT_ASSIGN(bound.left, bind_operand(condition.left, table));
  const auto affinity_of = [&table](int column) { return table.columns[static_cast<std::size_t>(column)].affinity; };
  if (condition.op == CompareOp::kIn || condition.op == CompareOp::kNotIn) {
    for (const Value& value : condition.right.list) {
      bound.list.push_back(bound.left.column < 0 ? value
                                                 : apply_comparison_affinity(affinity_of(bound.left.column), value));
    }
    const auto less = [](const Value& a, const Value& b) { return compare_values(a, b) < 0; };
    const auto equal = [](const Value& a, const Value& b) { return compare_values(a, b) == 0; };
    std::sort(bound.list.begin(), bound.list.end(), less);
    bound.list.erase(std::unique(bound.list.begin(), bound.list.end(), equal), bound.list.end());
    return bound;
  }
  LEAT_ASSIGN(bound.right, bind_operand(condition.right, table));
  if (is_like(condition.op)) return bound;
  const int left = bound.left.column;
  const int right = bound.right.column;
  if (left >= 0 && right >= 0) {
    const bool left_numeric = is_numeric(affinity_of(left));
    const bool right_numeric = is_numeric(affinity_of(right));
    bound.numeric_left = right_numeric && !left_numeric;
    bound.numeric_right = left_numeric && !right_numeric;
  } else if (left >= 0) {
    bound.right.literal = apply_comparison_affinity(affinity_of(left), std::move(bound.right.literal));
  } else if (right >= 0) {
    bound.left.literal = apply_comparison_affinity(affinity_of(right), std::move(bound.left.literal));
  }
  return bound;
}

void append_operand(const BoundOperand& operand, const TableSchema& table, SqlText& out) {
  if (operand.column >= 0) {
    out.sql += column_sql(table.columns[static_cast<std::size_t>(operand.column)]);
  } else {
    out.sql += '?';
    out.parameters.push_back(operand.literal);
  }
}

template <bool kFold>
void like_function(sqlite3_context* context, int, sqlite3_value** values) {
  const auto bytes_of = [](sqlite3_value* value) {
    const auto* data = static_cast<const char*>(sqlite3_value_type(value) == SQLITE_BLOB ? sqlite3_value_blob(value)
                                                                                         : sqlite3_value_text(value));
    const auto size = static_cast<std::size_t>(sqlite3_value_bytes(value));
    return data == nullptr ? std::string_view() : std::string_view(data, size);
  };
  if (sqlite3_value_type(values[0]) == SQLITE_NULL || sqlite3_value_type(values[1]) == SQLITE_NULL) {
    sqlite3_result_null(context);
    return;
  }
  sqlite3_result_int(context, like_matches(bytes_of(values[0]), bytes_of(values[1]), kFold) ? 1 : 0);
}

}  // namespace

Truth Predicate::evaluate(const Row& row) const {
  switch (kind) {
    case Kind::kAnd:
    case Kind::kOr: {
      const Truth decides = kind == Kind::kAnd ? Truth::kFalse : Truth::kTrue;
      Truth result = negate(decides);
      for (const Predicate& child : children) {
        const Truth value = child.evaluate(row);
        if (value == decides) return decides;
        if (value == Truth::kUnknown) result = Truth::kUnknown;
      }
      return result;
    }
    case Kind::kCompare:
      break;
  }
  const auto value_of = [&row](const BoundOperand& operand) -> const Value& {
    return operand.column < 0 ? operand.literal : row[static_cast<std::size_t>(operand.column)];
  };
  const Value& left_value = value_of(left);
  if (op == CompareOp::kIn) return membership(list, left_value);
  if (op == CompareOp::kNotIn) return negate(membership(list, left_value));
  const Value& right_value = value_of(right);
  if (numeric_left) return compare(op, apply_comparison_affinity(Affinity::kNumeric, left_value), right_value);
  if (numeric_right) return compare(op, left_value, apply_comparison_affinity(Affinity::kNumeric, right_value));
  return compare(op, left_value, right_value);
}

Result<Predicate> bind_condition(const ConditionAst& condition, const TableSchema& table) {
  switch (condition.kind) {
    case ConditionAst::Kind::kSimple:
      return bind_comparison(condition, table);
    case ConditionAst::Kind::kExists:
      return make_error(ErrorCode::kStatementUnsupported,
                        "query build error: not served here: correlatedSubquery over \"" +
                            condition.related->subquery.table + "\" in the where of \"" + table.name + "\"");
    case ConditionAst::Kind::kAnd:
    case ConditionAst::Kind::kOr:
      break;
  }
  Predicate bound;
  bound.kind = condition.kind == ConditionAst::Kind::kAnd ? Predicate::Kind::kAnd : Predicate::Kind::kOr;
  for (const ConditionAst& child : condition.conditions) {
    LEAT_ASSIGN(Predicate part, bind_condition(child, table));
    if (part.kind == bound.kind) {
      std::move(part.children.begin(), part.children.end(), std::back_inserter(bound.children));
    } else {
      bound.children.push_back(std::move(part));
    }
  }
  return bound;
}

std::string quoted_name(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string column_sql(const TableColumn& column) {
  std::string sql = quoted_name(column.name);
  if (!column.collation.empty() && sqlite3_stricmp(column.collation.c_str(), "BINARY") != 0) sql += " collate binary";
  return sql;
}

void append_sql(const Predicate& predicate, const TableSchema& table, SqlText& out) {
  if (predicate.kind != Predicate::Kind::kCompare) {
    const bool is_and = predicate.kind == Predicate::Kind::kAnd;
    if (predicate.children.empty()) {
      out.sql += is_and ? "1" : "0";
      return;
    }
    out.sql += '(';
    for (std::size_t i = 0; i < predicate.children.size(); ++i) {
      if (i > 0) out.sql += is_and ? " and " : " or ";
      append_sql(predicate.children[i], table, out);
    }
    out.sql += ')';
    return;
  }
  if (is_like(predicate.op)) {
    const bool negated = predicate.op == CompareOp::kNotLike || predicate.op == CompareOp::kNotIlike;
    const bool folds = predicate.op == CompareOp::kIlike || predicate.op == CompareOp::kNotIlike;
    out.sql += negated ? "(not " : "(";
    out.sql += folds ? "leat_ilike(" : "leat_like(";
    append_operand(predicate.right, table, out);
    out.sql += ", ";
    append_operand(predicate.left, table, out);
    out.sql += "))";
    return;
  }
  out.sql += '(';
  append_operand(predicate.left, table, out);
  out.sql += ' ';
  out.sql += to_text(predicate.op);
  out.sql += ' ';
  if (predicate.op == CompareOp::kIn || predicate.op == CompareOp::kNotIn) {
    out.sql += '(';
    for (std::size_t i = 0; i < predicate.list.size(); ++i) {
      out.sql += i == 0 ? "?" : ",?";
      out.parameters.push_back(predicate.list[i]);
    }
    out.sql += ')';
  } else {
    append_operand(predicate.right, table, out);
  }
  out.sql += ')';
}

void append_canonical(const Value& value, std::string& out) {
  if (const auto* real = std::get_if<double>(&value)) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, *real).ptr;
    out += 'r';
    out.append(buffer, end);
  } else if (const auto* text = std::get_if<Text>(&value)) {
    out += 't' + std::to_string(text->bytes.size()) + ':' + text->bytes;
  } else if (is_null(value)) {
    out += "null";
  } else {
    out += text_of(value);
  }
}

void append_canonical(const Predicate& predicate, const TableSchema& table, std::string& out) {
  const auto append = [&](const BoundOperand& operand) {
    if (operand.column >= 0) {
      out += quoted_name(table.columns[static_cast<std::size_t>(operand.column)].name);
    } else {
      append_canonical(operand.literal, out);
    }
  };
  if (predicate.kind != Predicate::Kind::kCompare) {
    std::vector<std::string> parts;
    for (const Predicate& child : predicate.children) append_canonical(child, table, parts.emplace_back());
    std::sort(parts.begin(), parts.end());
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    out += predicate.kind == Predicate::Kind::kAnd ? "and(" : "or(";
    for (const std::string& part : parts) out += part + ';';
    out += ')';
    return;
  }
  append(predicate.left);
  out += ' ';
  out += to_text(predicate.op);
  out += ' ';
  if (predicate.op == CompareOp::kIn || predicate.op == CompareOp::kNotIn) {
    out += '(';
    for (const Value& value : predicate.list) {
      append_canonical(value, out);
      out += ',';
    }
    out += ')';
  } else {
    append(predicate.right);
  }
}

// Greedy with one point to go back to: the last `%`. Linear in practice, never exponential.
bool like_matches(std::string_view pattern, std::string_view text, bool fold_ascii_case) {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t after_percent = kNone;
  std::size_t retry_text = 0;
  while (true) {
    if (p < pattern.size() && pattern[p] == '%') {
      after_percent = ++p;
      retry_text = t;
      continue;
    }
    if (t == text.size() && p == pattern.size()) return true;
    bool matched = false;
    if (p < pattern.size() && t < text.size()) {
      if (pattern[p] == '_') {
        t += character_bytes(text, t);
        ++p;
        matched = true;
      } else {
        const std::size_t at = pattern[p] == '\\' && p + 1 < pattern.size() ? p + 1 : p;
        const bool same = fold_ascii_case ? fold(pattern[at]) == fold(text[t]) : pattern[at] == text[t];
        if (same) {
          p = at + 1;
          ++t;
          matched = true;
        }
      }
    }
    if (matched) continue;
    if (after_percent == kNone || retry_text >= text.size()) return false;
    retry_text += character_bytes(text, retry_text);
    p = after_percent;
    t = retry_text;
  }
}

Result<void> register_live_functions(sqlite::Connection& connection) {
  constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
  if (sqlite3_create_function_v2(connection.handle(), "leat_like", 2, kFlags, nullptr, &like_function<false>, nullptr,
                                 nullptr, nullptr) != SQLITE_OK ||
      sqlite3_create_function_v2(connection.handle(), "leat_ilike", 2, kFlags, nullptr, &like_function<true>, nullptr,
                                 nullptr, nullptr) != SQLITE_OK) {
    return connection.last_error();
  }
  return {};
}

}  // namespace leat::follower
