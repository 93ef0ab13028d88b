#include "follower/live_engine.h"

#include <algorithm>
#include <cctype>

#include "follower/limits.h"
#include "follower/query_window.h"
#include "follower/values.h"

namespace leat::follower {

using changelog::Catalog;
using changelog::Operation;
using changelog::RowChange;
using changelog::TableSchema;

namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// Whether a statement may have thrown a table's rows away, even if one of the same shape is there now. Says yes too
// often rather than too seldom: a query that ends needlessly comes back.
bool may_replace_table(const std::string& sql, const std::string& table) {
  const std::string text = lower(sql);
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos || text.compare(begin, 6, "create") == 0) return false;
  const std::string name = lower(table);
  const auto is_part_of_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || (c & 0x80) != 0;
  };
  if (name.find_first_of("\"`]'") != std::string::npos) return true;
  for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const bool starts = at == 0 || !is_part_of_name(text[at - 1]);
    const bool ends = at + name.size() == text.size() || !is_part_of_name(text[at + name.size()]);
    if (starts && ends) return true;
  }
  return false;
}

}  // namespace

bool same_shape(const TableSchema& a, const TableSchema& b) {
  return a.name == b.name && a.primary_key == b.primary_key &&
         std::equal(a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end(),
                    [](const auto& x, const auto& y) {
                      return x.name == y.name && x.declared_type == y.declared_type && x.collation == y.collation &&
                             x.not_null == y.not_null;
                    });
}

NetChange& Step::entry(TableChanges& table, const Row& row, const TableSchema& schema) {
  const auto [found, is_new] = table.by_key.try_emplace(key_of(row, schema.primary_key), table.changes.size());
  if (is_new) table.changes.emplace_back();
  return table.changes[found->second];
}

void Step::add(const RowChange& change, const TableSchema& schema) {
  TableChanges& table = tables_[schema.name];
  if (change.operation != Operation::kInsert) {
    const bool is_new = !table.by_key.contains(key_of(change.old_row, schema.primary_key));
    NetChange& removed = entry(table, change.old_row, schema);
    if (is_new) removed.before = change.old_row;
    removed.after.reset();
  }
  if (change.operation != Operation::kDelete) entry(table, change.new_row, schema).after = change.new_row;
}

std::vector<std::string> Step::tables() const {
  std::vector<std::string> names;
  for (const auto& [name, changes] : tables_) names.push_back(name);
  return names;
}

std::vector<NetChange> Step::changes(const std::string& table) const {
  std::vector<NetChange> result;
  const auto found = tables_.find(table);
  if (found == tables_.end()) return result;
  for (const NetChange& change : found->second.changes) {
    if (change.before != change.after) result.push_back(change);
  }
  return result;
}

struct LiveEngine::LiveQuery {
  std::shared_ptr<const TableQuery> query;
  std::unique_ptr<QueryWindow> window;  // with a limit
  std::vector<DeltaOp> ops;             // of the step under way
  std::uint64_t asked_change = 0;       // a query is asked once about a change, whatever routes lead to it
};

LiveEngine::LiveEngine() = default;
LiveEngine::~LiveEngine() = default;

Result<std::vector<Row>> run_query(const TableQuery& query, Snapshot& snapshot) {
  std::vector<Row> all;
  for (SqlText& statement : select_statements(query, query.start)) {
    std::size_t rows_max = query_rows_max - all.size();
    if (query.limit) {
      const std::size_t wanted = static_cast<std::size_t>(*query.limit) - all.size();
      if (wanted == 0) break;
      statement.parameters.emplace_back(static_cast<std::int64_t>(wanted));
      rows_max = wanted;
    }
    LEAT_ASSIGN(std::vector<Row> rows, snapshot.rows(statement, rows_max));
    std::move(rows.begin(), rows.end(), std::back_inserter(all));
  }
  return all;
}

Result<LiveEngine::Started> LiveEngine::start(std::shared_ptr<const TableQuery> query, Snapshot& snapshot) {
  auto live = std::make_unique<LiveQuery>();
  live->query = query;
  Started started;
  if (query->limit) {
    live->window = std::make_unique<QueryWindow>(query);
    LEAT_TRY(live->window->fill(snapshot));
    started.rows = live->window->rows();
  } else {
    LEAT_ASSIGN(const std::vector<Row> rows, run_query(*query, snapshot));
    for (const Row& row : rows) started.rows.push_back(query->ship(row));
  }
  started.query = next_id_++;
  TableQueries& table = tables_[query->table.name];
  table.index.add(started.query, query->where);
  table.queries.insert(started.query);
  queries_.emplace(started.query, std::move(live));
  return started;
}

void LiveEngine::stop(LiveQueryId id) {
  const auto found = queries_.find(id);
  if (found == queries_.end()) return;
  const auto table = tables_.find(found->second->query->table.name);
  table->second.index.remove(id);
  table->second.queries.erase(id);
  if (table->second.queries.empty()) tables_.erase(table);
  queries_.erase(found);
}

void LiveEngine::stop_all() {
  queries_.clear();
  tables_.clear();
}

Result<std::vector<Row>> LiveEngine::current_rows(LiveQueryId id, Snapshot& snapshot) {
  const LiveQuery& live = *queries_.at(id);
  if (live.window) return live.window->rows();
  LEAT_ASSIGN(std::vector<Row> rows, run_query(*live.query, snapshot));
  for (Row& row : rows) row = live.query->ship(row);
  return rows;
}

const TableSchema* LiveEngine::schema_of(const std::string& table) const {
  const auto found = tables_.find(table);
  if (found == tables_.end()) return nullptr;
  return &queries_.at(*found->second.queries.begin())->query->table;
}

bool LiveEngine::is_ended_by(const LiveQuery& live, const Step& step, const Catalog& catalog) const {
  const TableSchema& bound = live.query->table;
  const TableSchema* now = catalog.find(bound.name);
  if (now == nullptr || !same_shape(bound, *now)) return true;
  return std::any_of(step.schema_changes().begin(), step.schema_changes().end(),
                     [&](const std::string& sql) { return may_replace_table(sql, bound.name); });
}

StepResult LiveEngine::step(const Step& step, const Catalog* catalog, Snapshot& snapshot) {
  StepResult result;
  if (!step.schema_changes().empty() && catalog != nullptr) {
    for (const auto& [id, live] : queries_) {
      if (is_ended_by(*live, step, *catalog)) result.ended.push_back(id);
    }
    for (const LiveQueryId id : result.ended) stop(id);
  }
  std::vector<LiveQueryId> touched;
  std::vector<LiveQueryId> routed;
  std::uint64_t change_number = 0;
  for (const std::string& name : step.tables()) {
    const auto table = tables_.find(name);
    if (table == tables_.end()) continue;
    for (const NetChange& change : step.changes(name)) {
      ++change_number;
      routed.clear();
      if (change.before) table->second.index.find(*change.before, routed);
      if (change.after) table->second.index.find(*change.after, routed);
      for (const LiveQueryId id : routed) {
        LiveQuery& live = *queries_.at(id);
        if (live.asked_change == change_number) continue;
        const bool is_first = live.asked_change == 0;
        live.asked_change = change_number;
        ++evaluations_;
        if (is_first) touched.push_back(id);
        const TableQuery& query = *live.query;
        const bool was_in = change.before && query.matches(*change.before);
        const bool is_in = change.after && query.matches(*change.after);
        if (live.window) {
          live.window->apply(was_in ? change.before : std::nullopt, is_in ? change.after : std::nullopt);
        } else if (was_in && is_in) {
          Row before = query.ship(*change.before);
          Row after = query.ship(*change.after);
          if (before != after) live.ops.push_back({DeltaOp::Kind::kEdit, std::move(before), std::move(after)});
        } else if (was_in) {
          live.ops.push_back({DeltaOp::Kind::kRemove, query.ship(*change.before), {}});
        } else if (is_in) {
          live.ops.push_back({DeltaOp::Kind::kAdd, {}, query.ship(*change.after)});
        }
      }
    }
  }
  for (const LiveQueryId id : touched) {
    LiveQuery& live = *queries_.at(id);
    live.asked_change = 0;
    if (live.window) {
      auto ops = live.window->finish_step(snapshot);
      if (ops.has_error()) {
        result.ended.push_back(id);
        stop(id);
        continue;
      }
      live.ops = std::move(ops).value();
    }
    if (!live.ops.empty()) result.deltas.push_back({id, std::exchange(live.ops, {})});
  }
  return result;
}

}  // namespace leat::follower
