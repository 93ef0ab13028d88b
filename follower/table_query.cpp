#include "follower/table_query.h"

#include <algorithm>

#include "follower/values.h"
#include "sqlclient/wire/json_text.h"

namespace leat::follower {

using changelog::Catalog;
using changelog::TableColumn;
using changelog::TableSchema;

namespace {

Error build_error(std::string message) {
  return make_error(ErrorCode::kStatementInvalid, "query build error: " + std::move(message));
}

Error not_served(std::string what, const std::string& table) {
  return make_error(ErrorCode::kStatementUnsupported,
                    "query build error: not served here: " + std::move(what) + " in the query of \"" + table + "\"");
}

class Fnv {
 public:
  void byte(unsigned char value) { hash_ = (hash_ ^ value) * 0x100000001b3u; }
  void u32(std::size_t value) {
    for (int shift = 0; shift < 32; shift += 8) byte(static_cast<unsigned char>(value >> shift));
  }
  void bytes(std::string_view text) {
    for (const char c : text) byte(static_cast<unsigned char>(c));
  }
  void string(std::string_view text) {
    u32(text.size());
    bytes(text);
  }
  std::string hex() const {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text(16, '0');
    for (std::size_t i = 0; i < 16; ++i) text[15 - i] = kDigits[(hash_ >> (4 * i)) & 0xf];
    return text;
  }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - ('a' - 'A'));
  }
  return result;
}

Result<int> column_of(const TableSchema& table, const std::string& name) {
  const auto column = table.find_column(name);
  if (!column) return build_error("unknown column \"" + name + "\"");
  return *column;
}

Result<void> bind_columns(const QueryAst& ast, TableQuery& query) {
  const TableSchema& table = query.table;
  std::vector<bool> selected(table.columns.size(), !ast.select.has_value());
  if (ast.select) {
    for (const std::string& name : *ast.select) {
      LEAT_ASSIGN(const int column, column_of(table, name));
      selected[static_cast<std::size_t>(column)] = true;
    }
  }
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const TableColumn& column = table.columns[i];
    query.types.push_back(live_type(column.declared_type));
    const int index = static_cast<int>(i);
    if (selected[i]) query.selected.push_back(index);
    if (!selected[i] && column.key_position == 0) continue;
    if (query.types.back() == LiveType::kInt64) {
      return build_error("column \"" + column.name + "\" of \"" + table.name +
                         "\" is a 64-bit integer, which this plane cannot carry: leave it out with select");
    }
    query.shipped.push_back(index);
  }
  for (const int key : table.primary_key) {
    const auto at = std::find(query.shipped.begin(), query.shipped.end(), key);
    query.shipped_key.push_back(static_cast<int>(at - query.shipped.begin()));
  }
  return {};
}

Result<void> bind_order(const QueryAst& ast, TableQuery& query) {
  const auto has = [&query](int column) {
    return std::any_of(query.order.begin(), query.order.end(), [&](const OrderTerm& t) { return t.column == column; });
  };
  for (const OrderAst& term : ast.order_by) {
    LEAT_ASSIGN(const int column, column_of(query.table, term.column));
    if (!has(column)) query.order.push_back({column, term.descending});
  }
  for (const int key : query.table.primary_key) {
    if (!has(key)) query.order.push_back({key, false});
  }
  if (!ast.start) return {};
  Position start;
  start.exclusive = ast.start->exclusive;
  std::vector<std::pair<int, Value>> cells;
  for (const auto& [name, value] : ast.start->row) {
    LEAT_ASSIGN(const int column, column_of(query.table, name));
    cells.emplace_back(column, value);
  }
  for (const OrderTerm& term : query.order) {
    const auto cell = std::find_if(cells.begin(), cells.end(), [&](const auto& c) { return c.first == term.column; });
    if (cell == cells.end()) break;
    const auto affinity = query.table.columns[static_cast<std::size_t>(term.column)].affinity;
    start.values.push_back(apply_comparison_affinity(affinity, cell->second));
  }
  if (start.values.empty()) {
    return build_error("start.row has no value for \"" +
                       query.table.columns[static_cast<std::size_t>(query.order.front().column)].name +
                       "\", the first column of the order");
  }
  query.start = std::move(start);
  return {};
}

void describe(TableQuery& query) {
  const TableSchema& table = query.table;
  Fnv fp;
  fp.u32(1);
  fp.string(table.name);
  fp.u32(query.shipped.size());
  std::string& json = query.hello_tables;
  json = "[{\"name\":";
  wire::append_string(json, table.name);
  json += ",\"columns\":[";
  for (std::size_t i = 0; i < query.shipped.size(); ++i) {
    const std::string& name = table.columns[static_cast<std::size_t>(query.shipped[i])].name;
    fp.string(name);
    if (i > 0) json += ',';
    wire::append_string(json, name);
  }
  json += "],\"primaryKey\":[";
  fp.u32(table.primary_key.size());
  for (std::size_t i = 0; i < table.primary_key.size(); ++i) {
    fp.string(table.columns[static_cast<std::size_t>(table.primary_key[i])].name);
    if (i > 0) json += ',';
    json += std::to_string(query.shipped_key[i]);
  }
  json += "]}]";
  query.normalized_fp = fp.hex();

  std::string& text = query.canonical;
  text = "from " + quoted_name(table.name) + " select";
  for (const int column : query.selected)
    text += ' ' + quoted_name(table.columns[static_cast<std::size_t>(column)].name);
  text += " where ";
  append_canonical(query.where, table, text);
  text += " order";
  for (const OrderTerm& term : query.order) {
    text += ' ' + quoted_name(table.columns[static_cast<std::size_t>(term.column)].name);
    text += term.descending ? " desc" : " asc";
  }
  if (query.start) {
    text += query.start->exclusive ? " after" : " from";
    for (const Value& value : query.start->values) {
      text += ' ';
      append_canonical(value, text);
    }
  }
  if (query.limit) text += " limit " + std::to_string(*query.limit);
}

}  // namespace

LiveType live_type(std::string_view declared_type) {
  std::string type = upper(declared_type);
  type.erase(0, type.find_first_not_of(' '));
  if (const auto parenthesis = type.find('('); parenthesis != std::string::npos) {
    std::string base = type.substr(0, parenthesis);
    base.erase(base.find_last_not_of(' ') + 1);
    if (base == "VARCHAR" || base == "CHAR") return LiveType::kString;
    return LiveType::kNumber;
  }
  type.erase(type.find_last_not_of(' ') + 1);
  if (type == "BOOL" || type == "BOOLEAN") return LiveType::kBoolean;
  if (type == "JSON" || type == "JSONB") return LiveType::kJson;
  if (type == "BIGINT" || type == "INT8") return LiveType::kInt64;
  if (type == "TEXT" || type == "VARCHAR" || type == "CHAR" || type == "CLOB") return LiveType::kString;
  return LiveType::kNumber;
}

std::string_view to_text(LiveType type) {
  static constexpr std::string_view kTexts[] = {"string", "number", "boolean", "json", "int64"};
  return kTexts[static_cast<std::size_t>(type)];
}

std::weak_ordering TableQuery::compare_rows(const Row& left, const Row& right) const {
  for (const OrderTerm& term : order) {
    const auto column = static_cast<std::size_t>(term.column);
    const auto by = compare_values(left[column], right[column]);
    if (by != 0) return term.descending ? 0 <=> by : by;
  }
  return std::weak_ordering::equivalent;
}

std::weak_ordering TableQuery::compare_position(const Row& row, const Position& position) const {
  for (std::size_t i = 0; i < position.values.size(); ++i) {
    const auto by = compare_values(row[static_cast<std::size_t>(order[i].column)], position.values[i]);
    if (by != 0) return order[i].descending ? 0 <=> by : by;
  }
  return std::weak_ordering::equivalent;
}

bool TableQuery::is_after(const Row& row, const Position& position) const {
  const auto by = compare_position(row, position);
  return by > 0 || (by == 0 && !position.exclusive);
}

bool TableQuery::matches(const Row& row) const {
  if (!where.matches(row)) return false;
  return !start || is_after(row, *start);
}

Row TableQuery::ship(const Row& row) const {
  Row result;
  result.reserve(shipped.size());
  for (const int column : shipped) result.push_back(row[static_cast<std::size_t>(column)]);
  return result;
}

std::string query_key(std::string_view canonical, std::string_view visibility_key) {
  Fnv hash;
  hash.string(canonical);
  hash.string(visibility_key);
  return hash.hex();
}

Result<TableQuery> bind_query(const QueryAst& ast, const Catalog& catalog) {
  const TableSchema* table = catalog.find(ast.table);
  if (table == nullptr || changelog::is_system_table(ast.table) || ast.table.starts_with("sqlite_")) {
    return make_error(ErrorCode::kNotFound, "schema error: unknown table in query tree: " + ast.table);
  }
  LEAT_TRY(table->check_replicable());
  return bind_table_query(ast, *table);
}

Result<TableQuery> bind_table_query(const QueryAst& ast, const TableSchema& table) {
  if (!ast.related.empty()) {
    return not_served("related \"" + ast.related.front().subquery.table + "\"", ast.table);
  }
  if (ast.counts) return not_served("aggregate", ast.table);
  if (!ast.group_by.empty()) return not_served("groupBy", ast.table);
  if (ast.having) return not_served("having", ast.table);
  TableQuery query;
  query.table = table;
  LEAT_TRY(bind_columns(ast, query));
  if (ast.where) {
    LEAT_ASSIGN(query.where, bind_condition(*ast.where, table));
  }
  LEAT_TRY(bind_order(ast, query));
  query.limit = ast.one ? std::min<std::int64_t>(1, ast.limit.value_or(1)) : ast.limit;
  describe(query);
  return query;
}

namespace {

// What holds for one term of the order beyond `value`, as the ranges that together make it, in order. None: nothing is.
std::vector<SqlText> ranges_beyond(const std::string& column, bool not_null, bool descending, const Value& value) {
  std::vector<SqlText> ranges;
  if (is_null(value)) {
    if (!descending && !not_null) ranges.push_back({column + " is not null", {}});
    return ranges;
  }
  ranges.push_back({column + (descending ? " < ?" : " > ?"), {value}});
  if (descending && !not_null) ranges.push_back({column + " is null", {}});
  return ranges;
}

}  // namespace

std::vector<SqlText> select_statements(const TableQuery& query, const std::optional<Position>& from) {
  SqlText base;
  base.sql = "select ";
  for (std::size_t i = 0; i < query.table.columns.size(); ++i) {
    if (i > 0) base.sql += ", ";
    base.sql += quoted_name(query.table.columns[i].name);
  }
  base.sql += " from main." + quoted_name(query.table.name) + " where ";
  append_sql(query.where, query.table, base);
  std::string order = " order by ";
  for (std::size_t i = 0; i < query.order.size(); ++i) {
    if (i > 0) order += ", ";
    order += column_sql(query.table.columns[static_cast<std::size_t>(query.order[i].column)]);
    if (query.order[i].descending) order += " desc";
  }
  if (query.limit) order += " limit ?";
  std::vector<SqlText> statements;
  const auto add = [&](const SqlText& prefix, const SqlText& range) {
    SqlText statement = base;
    for (const SqlText* part : {&prefix, &range}) {
      if (part->sql.empty()) continue;
      statement.sql += " and " + part->sql;
      statement.parameters.insert(statement.parameters.end(), part->parameters.begin(), part->parameters.end());
    }
    statement.sql += order;
    statements.push_back(std::move(statement));
  };
  if (!from) {
    add({}, {});
    return statements;
  }
  const std::size_t depth = from->values.size();
  const auto column_at = [&query](std::size_t i) -> const TableColumn& {
    return query.table.columns[static_cast<std::size_t>(query.order[i].column)];
  };
  std::vector<SqlText> prefixes(depth + 1);
  for (std::size_t i = 0; i < depth; ++i) {
    SqlText& prefix = prefixes[i + 1];
    prefix = prefixes[i];
    if (!prefix.sql.empty()) prefix.sql += " and ";
    prefix.sql += column_sql(column_at(i));
    if (is_null(from->values[i])) {
      prefix.sql += " is null";
    } else {
      prefix.sql += " = ?";
      prefix.parameters.push_back(from->values[i]);
    }
  }
  if (!from->exclusive) add(prefixes[depth], {});
  for (std::size_t i = depth; i-- > 0;) {
    const auto ranges =
        ranges_beyond(column_sql(column_at(i)), column_at(i).not_null, query.order[i].descending, from->values[i]);
    for (const SqlText& range : ranges) add(prefixes[i], range);
  }
  return statements;
}

}  // namespace leat::follower
