#include "follower/query_window.h"

#include "follower/live_engine.h"
#include "follower/values.h"

namespace leat::follower {

QueryWindow::QueryWindow(std::shared_ptr<const TableQuery> query)
    : query_(std::move(query)), rows_(Order{query_.get()}) {}

Result<void> QueryWindow::fill(Snapshot& snapshot) {
  LEAT_ASSIGN(std::vector<Row> rows, run_query(*query_, snapshot));
  may_have_more_ = rows.size() == limit();
  if (!rows.empty()) last_known_ = rows.back();
  rows_.insert(std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
  return {};
}

void QueryWindow::insert(Row row) {
  Touched& touched = touched_[key_of(row, query_->table.primary_key)];
  touched.after = row;
  rows_.insert(std::move(row));
}

void QueryWindow::erase(std::set<Row, Order>::iterator row) {
  const auto [touched, is_new] = touched_.try_emplace(key_of(*row, query_->table.primary_key));
  if (is_new) touched->second.before = *row;
  touched->second.after.reset();
  rows_.erase(row);
}

void QueryWindow::apply(const std::optional<Row>& before, const std::optional<Row>& after) {
  if (limit() == 0) return;
  if (before) {
    if (const auto row = rows_.find(*before); row != rows_.end()) erase(row);
  }
  if (!after) return;
  const bool is_known = !may_have_more_ || (last_known_ && query_->compare_rows(*after, *last_known_) <= 0);
  if (is_known) insert(*after);
}

Result<std::vector<DeltaOp>> QueryWindow::finish_step(Snapshot& snapshot) {
  while (rows_.size() > limit()) {
    erase(std::prev(rows_.end()));
    may_have_more_ = true;
  }
  if (rows_.size() < limit() && may_have_more_) {
    const std::size_t wanted = limit() - rows_.size();
    Position from;
    for (const OrderTerm& term : query_->order) {
      from.values.push_back((*last_known_)[static_cast<std::size_t>(term.column)]);
    }
    std::size_t got = 0;
    for (SqlText& statement : select_statements(*query_, from)) {
      if (got == wanted) break;
      statement.parameters.emplace_back(static_cast<std::int64_t>(wanted - got));
      LEAT_ASSIGN(std::vector<Row> rows, snapshot.rows(statement, wanted - got));
      got += rows.size();
      for (Row& row : rows) insert(std::move(row));
    }
    may_have_more_ = got == wanted;
  }
  if (!rows_.empty()) last_known_ = *rows_.rbegin();
  std::vector<DeltaOp> ops;
  for (auto& [key, touched] : touched_) {
    if (touched.before && touched.after) {
      Row before = query_->ship(*touched.before);
      Row after = query_->ship(*touched.after);
      if (before != after) ops.push_back({DeltaOp::Kind::kEdit, std::move(before), std::move(after)});
    } else if (touched.before) {
      ops.push_back({DeltaOp::Kind::kRemove, query_->ship(*touched.before), {}});
    } else if (touched.after) {
      ops.push_back({DeltaOp::Kind::kAdd, {}, query_->ship(*touched.after)});
    }
  }
  touched_.clear();
  return ops;
}

std::vector<Row> QueryWindow::rows() const {
  std::vector<Row> rows;
  for (const Row& row : rows_) rows.push_back(query_->ship(row));
  return rows;
}

}  // namespace leat::follower
