// Finds the queries that a row can touch without asking each: by equality and membership through a hash, by ranges
// through an interval tree, both on one column of one table. A query whose condition has no usable part is asked
// always. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/value.h"
#include "follower/predicate.h"

namespace leat::follower {

using LiveQueryId = std::uint64_t;

struct Bound {
  Value value;
  bool inclusive = true;
};

// A set of values of one column: one value, or an interval (nullopt: open end). NULL is never inside an interval.
struct Route {
  int column = 0;
  std::optional<Value> equals;
  std::optional<Bound> lower, upper;
};

// Routes such that every row the predicate matches is on at least one; nullopt when there are none to be had. Empty: no
// row matches.
std::optional<std::vector<Route>> routes_of(const Predicate& predicate);

// Intervals of values, found by a value inside: O(log n) and the matches.
class IntervalTree {
 public:
  IntervalTree();
  ~IntervalTree();
  void insert(const Route& route, LiveQueryId query);
  void remove(const Route& route, LiveQueryId query);
  void find(const Value& value, std::vector<LiveQueryId>& out) const;
  bool empty() const { return root_ == nullptr; }

 private:
  struct Node;
  std::unique_ptr<Node> root_;
};

// The queries of one table.
class PredicateIndex {
 public:
  void add(LiveQueryId query, const Predicate& predicate);
  void remove(LiveQueryId query);
  // Appends the queries that may match the row; one may come more than once.
  void find(const Row& row, std::vector<LiveQueryId>& out) const;
  bool empty() const { return queries_.empty(); }

 private:
  struct ColumnIndex {
    std::unordered_map<std::string, std::unordered_set<LiveQueryId>> by_value;
    IntervalTree intervals;
  };
  std::map<int, ColumnIndex> columns_;
  std::unordered_set<LiveQueryId> residual_;
  std::unordered_map<LiveQueryId, std::optional<std::vector<Route>>> queries_;
};

}  // namespace leat::follower
