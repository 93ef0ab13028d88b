#include "follower/predicate_index.h"

#include <algorithm>
#include <compare>

#include "follower/values.h"

namespace leat::follower {

namespace {

constexpr std::size_t routes_max = 20'000;  // of one query; beyond it asking always is cheaper

std::optional<std::vector<Route>> routes_of_comparison(const Predicate& predicate) {
  using Routes = std::vector<Route>;
  if (predicate.op == CompareOp::kIn) {
    Routes routes;
    if (predicate.left.column < 0) return std::nullopt;
    for (const Value& value : predicate.list) {
      if (!is_null(value)) routes.push_back({predicate.left.column, value, {}, {}});
    }
    return routes;
  }
  const bool column_left = predicate.left.column >= 0 && predicate.right.column < 0;
  const bool column_right = predicate.right.column >= 0 && predicate.left.column < 0;
  if (!column_left && !column_right) return std::nullopt;
  const int column = column_left ? predicate.left.column : predicate.right.column;
  const Value& literal = column_left ? predicate.right.literal : predicate.left.literal;
  CompareOp op = predicate.op;
  if (column_right) {
    switch (op) {
      case CompareOp::kLess:
        op = CompareOp::kGreater;
        break;
      case CompareOp::kLessEqual:
        op = CompareOp::kGreaterEqual;
        break;
      case CompareOp::kGreater:
        op = CompareOp::kLess;
        break;
      case CompareOp::kGreaterEqual:
        op = CompareOp::kLessEqual;
        break;
      default:
        break;
    }
  }
  if (op == CompareOp::kIs) return Routes{{column, literal, {}, {}}};
  switch (op) {
    case CompareOp::kEqual:
      return is_null(literal) ? Routes{} : Routes{{column, literal, {}, {}}};
    case CompareOp::kLess:
    case CompareOp::kLessEqual:
      return is_null(literal) ? Routes{} : Routes{{column, {}, {}, Bound{literal, op == CompareOp::kLessEqual}}};
    case CompareOp::kGreater:
    case CompareOp::kGreaterEqual:
      return is_null(literal) ? Routes{} : Routes{{column, {}, Bound{literal, op == CompareOp::kGreaterEqual}, {}}};
    default:
      return std::nullopt;
  }
}

bool all_equalities(const std::vector<Route>& routes) {
  return std::all_of(routes.begin(), routes.end(), [](const Route& route) { return route.equals.has_value(); });
}

// Equalities before ranges, closed ranges before half-open ones, few before many.
std::tuple<int, std::size_t> cost(const std::vector<Route>& routes) {
  if (all_equalities(routes)) return {0, routes.size()};
  const bool closed =
      std::all_of(routes.begin(), routes.end(), [](const Route& r) { return r.equals || (r.lower && r.upper); });
  return {closed ? 1 : 2, routes.size()};
}

std::partial_ordering compare_lower(const std::optional<Bound>& a, const std::optional<Bound>& b) {
  if (!a || !b) return a.has_value() <=> b.has_value();
  const auto by = compare_values(a->value, b->value);
  return by != 0 ? by : b->inclusive <=> a->inclusive;
}

std::partial_ordering compare_upper(const std::optional<Bound>& a, const std::optional<Bound>& b) {
  if (!a || !b) return b.has_value() <=> a.has_value();
  const auto by = compare_values(a->value, b->value);
  return by != 0 ? by : a->inclusive <=> b->inclusive;
}

bool above_lower(const Value& value, const std::optional<Bound>& lower) {
  if (!lower) return true;
  const auto by = compare_values(value, lower->value);
  return by > 0 || (by == 0 && lower->inclusive);
}

bool below_upper(const Value& value, const std::optional<Bound>& upper) {
  if (!upper) return true;
  const auto by = compare_values(value, upper->value);
  return by < 0 || (by == 0 && upper->inclusive);
}

}  // namespace

std::optional<std::vector<Route>> routes_of(const Predicate& predicate) {
  switch (predicate.kind) {
    case Predicate::Kind::kCompare:
      return routes_of_comparison(predicate);
    case Predicate::Kind::kOr: {
      std::vector<Route> all;
      for (const Predicate& child : predicate.children) {
        auto routes = routes_of(child);
        if (!routes || all.size() + routes->size() > routes_max) return std::nullopt;
        std::move(routes->begin(), routes->end(), std::back_inserter(all));
      }
      return all;
    }
    case Predicate::Kind::kAnd:
      break;
  }
  std::optional<std::vector<Route>> best;
  std::map<int, Route> intervals;
  for (const Predicate& child : predicate.children) {
    auto routes = routes_of(child);
    if (!routes) continue;
    if (routes->size() == 1 && !routes->front().equals) {
      const Route& route = routes->front();
      Route& interval = intervals.try_emplace(route.column, Route{route.column, {}, {}, {}}).first->second;
      if (route.lower && (!interval.lower || compare_lower(route.lower, interval.lower) > 0))
        interval.lower = route.lower;
      if (route.upper && (!interval.upper || compare_upper(route.upper, interval.upper) < 0))
        interval.upper = route.upper;
    }
    if (!best || cost(*routes) < cost(*best)) best = std::move(routes);
  }
  for (const auto& [column, interval] : intervals) {
    std::vector<Route> routes{interval};
    if (!best || cost(routes) < cost(*best)) best = std::move(routes);
  }
  return best;
}

// A treap ordered by lower bound; each node knows the greatest upper bound below it.
struct IntervalTree::Node {
  Route route;
  LiveQueryId query = 0;
  std::uint64_t priority = 0;
  std::optional<Bound> greatest_upper;
  std::unique_ptr<Node> left, right;

  bool before(const Route& other, LiveQueryId other_query) const {
    const auto by_lower = compare_lower(route.lower, other.lower);
    if (by_lower != 0) return by_lower < 0;
    const auto by_upper = compare_upper(route.upper, other.upper);
    if (by_upper != 0) return by_upper < 0;
    return query < other_query;
  }
  void refresh() {
    greatest_upper = route.upper;
    for (const Node* child : {left.get(), right.get()}) {
      if (child != nullptr && compare_upper(child->greatest_upper, greatest_upper) > 0) {
        greatest_upper = child->greatest_upper;
      }
    }
  }
  // Splits into nodes before (route, query) and the rest.
  static void split(std::unique_ptr<Node> node, const Route& route, LiveQueryId query, std::unique_ptr<Node>& less,
                    std::unique_ptr<Node>& rest) {
    if (!node) {
      less.reset();
      rest.reset();
      return;
    }
    if (node->before(route, query)) {
      std::unique_ptr<Node> right = std::move(node->right);
      split(std::move(right), route, query, node->right, rest);
      node->refresh();
      less = std::move(node);
    } else {
      std::unique_ptr<Node> left = std::move(node->left);
      split(std::move(left), route, query, less, node->left);
      node->refresh();
      rest = std::move(node);
    }
  }
  static std::unique_ptr<Node> merge(std::unique_ptr<Node> a, std::unique_ptr<Node> b) {
    if (!a) return b;
    if (!b) return a;
    if (a->priority > b->priority) {
      a->right = merge(std::move(a->right), std::move(b));
      a->refresh();
      return a;
    }
    b->left = merge(std::move(a), std::move(b->left));
    b->refresh();
    return b;
  }
  static void find(const Node* node, const Value& value, std::vector<LiveQueryId>& out) {
    if (node == nullptr || !below_upper(value, node->greatest_upper)) return;
    find(node->left.get(), value, out);
    if (!above_lower(value, node->route.lower)) return;
    if (below_upper(value, node->route.upper)) out.push_back(node->query);
    find(node->right.get(), value, out);
  }
};

IntervalTree::IntervalTree() = default;
IntervalTree::~IntervalTree() = default;

void IntervalTree::insert(const Route& route, LiveQueryId query) {
  auto node = std::make_unique<Node>();
  node->route = route;
  node->query = query;
  std::uint64_t mixed = query + 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  node->priority = mixed ^ (mixed >> 31);
  node->refresh();
  std::unique_ptr<Node> less, rest;
  Node::split(std::move(root_), route, query, less, rest);
  root_ = Node::merge(Node::merge(std::move(less), std::move(node)), std::move(rest));
}

void IntervalTree::remove(const Route& route, LiveQueryId query) {
  std::unique_ptr<Node> less, rest, one, greater;
  Node::split(std::move(root_), route, query, less, rest);
  Node::split(std::move(rest), route, query + 1, one, greater);
  root_ = Node::merge(std::move(less), std::move(greater));
}

void IntervalTree::find(const Value& value, std::vector<LiveQueryId>& out) const {
  if (!is_null(value)) Node::find(root_.get(), value, out);
}

void PredicateIndex::add(LiveQueryId query, const Predicate& predicate) {
  auto routes = routes_of(predicate);
  if (!routes) {
    residual_.insert(query);
  } else {
    for (const Route& route : *routes) {
      ColumnIndex& column = columns_[route.column];
      if (route.equals) {
        std::string key;
        append_key(key, *route.equals);
        column.by_value[std::move(key)].insert(query);
      } else {
        column.intervals.insert(route, query);
      }
    }
  }
  queries_.emplace(query, std::move(routes));
}

void PredicateIndex::remove(LiveQueryId query) {
  const auto found = queries_.find(query);
  if (found == queries_.end()) return;
  residual_.erase(query);
  if (found->second) {
    for (const Route& route : *found->second) {
      const auto column = columns_.find(route.column);
      if (column == columns_.end()) continue;
      if (route.equals) {
        std::string key;
        append_key(key, *route.equals);
        const auto bucket = column->second.by_value.find(key);
        if (bucket != column->second.by_value.end()) {
          bucket->second.erase(query);
          if (bucket->second.empty()) column->second.by_value.erase(bucket);
        }
      } else {
        column->second.intervals.remove(route, query);
      }
      if (column->second.by_value.empty() && column->second.intervals.empty()) columns_.erase(column);
    }
  }
  queries_.erase(found);
}

void PredicateIndex::find(const Row& row, std::vector<LiveQueryId>& out) const {
  out.insert(out.end(), residual_.begin(), residual_.end());
  std::string key;
  for (const auto& [index, column] : columns_) {
    const Value& value = row[static_cast<std::size_t>(index)];
    if (!column.by_value.empty()) {
      key.clear();
      append_key(key, value);
      if (const auto bucket = column.by_value.find(key); bucket != column.by_value.end()) {
        out.insert(out.end(), bucket->second.begin(), bucket->second.end());
      }
    }
    column.intervals.find(value, out);
  }
}

}  // namespace leat::follower
