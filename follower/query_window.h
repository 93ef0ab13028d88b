// The rows of a query with a limit, kept in order. Beyond its last row it only knows whether there may be more.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "follower/table_query.h"

namespace leat::follower {

class Snapshot;
struct NetChange;
struct DeltaOp;

class QueryWindow {
 public:
  explicit QueryWindow(std::shared_ptr<const TableQuery> query);

  Result<void> fill(Snapshot& snapshot);
  // One change whose rows the query may hold; `before` and `after` only where they match the query.
  void apply(const std::optional<Row>& before, const std::optional<Row>& after);
  // Ends a step: cuts to the limit, or refills by index from behind the last known row, and tells what changed.
  Result<std::vector<DeltaOp>> finish_step(Snapshot& snapshot);
  std::vector<Row> rows() const;

 private:
  struct Order {
    const TableQuery* query;
    bool operator()(const Row& left, const Row& right) const { return query->compare_rows(left, right) < 0; }
  };
  struct Touched {
    std::optional<Row> before, after;
  };
  void insert(Row row);
  void erase(std::set<Row, Order>::iterator row);
  std::size_t limit() const { return static_cast<std::size_t>(*query_->limit); }

  std::shared_ptr<const TableQuery> query_;
  std::set<Row, Order> rows_;
  bool may_have_more_ = false;
  std::optional<Row> last_known_;  // every matching row up to here is in rows_
  std::map<std::string, Touched> touched_;
};

}  // namespace leat::follower
