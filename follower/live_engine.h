// The live-query engine. The contract: the deltas of a query, applied in order, always equal the query run fresh
// (DESIGN 5). It is fed steps: the net changes of a run of blocks and a snapshot of the database right after them. No
// I/O but through the snapshot; no threads, no clock. Queries without a limit keep no rows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "changelog/block.h"
#include "changelog/catalog.h"
#include "core/error.h"
#include "core/value.h"
#include "follower/predicate_index.h"
#include "follower/table_query.h"

namespace leat::follower {

// The database as it stands right after a step.
class Snapshot {
 public:
  virtual ~Snapshot() = default;
  // At most `rows_max` rows; more is kResultLimit.
  virtual Result<std::vector<Row>> rows(const SqlText& statement, std::size_t rows_max) = 0;
};

// What a step did to one primary key. Both empty, or both the same, never occurs.
struct NetChange {
  std::optional<Row> before;
  std::optional<Row> after;
};

// The net changes of a run of blocks.
class Step {
 public:
  void add(const changelog::RowChange& change, const changelog::TableSchema& table);
  void add_schema_change(std::string sql) { schema_changes_.push_back(std::move(sql)); }

  const std::vector<std::string>& schema_changes() const { return schema_changes_; }
  std::vector<std::string> tables() const;
  // In the order in which the keys were first touched.
  std::vector<NetChange> changes(const std::string& table) const;

 private:
  struct TableChanges {
    std::unordered_map<std::string, std::size_t> by_key;
    std::vector<NetChange> changes;
  };
  NetChange& entry(TableChanges& table, const Row& row, const changelog::TableSchema& schema);
  std::map<std::string, TableChanges> tables_;
  std::vector<std::string> schema_changes_;
};

// Rows as shipped: the query's footprint columns.
struct DeltaOp {
  enum class Kind : std::uint8_t { kAdd, kRemove, kEdit };
  Kind kind = Kind::kAdd;
  Row before;  // kRemove, kEdit
  Row after;   // kAdd, kEdit
};

struct QueryDelta {
  LiveQueryId query = 0;
  std::vector<DeltaOp> ops;  // never empty
};

struct StepResult {
  std::vector<QueryDelta> deltas;  // each query at most once
  std::vector<LiveQueryId> ended;  // by a schema change or a failed read; already removed
};

class LiveEngine {
 public:
  LiveEngine();
  ~LiveEngine();

  // Starts a query at a snapshot that stands where the last step ended. The answer's rows are what it holds now, in
  // order, as shipped. Errors: kResultLimit, SQLite's.
  struct Started {
    LiveQueryId query = 0;
    std::vector<Row> rows;
  };
  Result<Started> start(std::shared_ptr<const TableQuery> query, Snapshot& snapshot);
  void stop(LiveQueryId query);
  // The rows of a running query again, for one more subscriber, at a snapshot that stands where the last step ended.
  Result<std::vector<Row>> current_rows(LiveQueryId query, Snapshot& snapshot);

  // `catalog` is the schema after the step, and only needed when it has schema changes.
  StepResult step(const Step& step, const changelog::Catalog* catalog, Snapshot& snapshot);
  void stop_all();

  std::size_t queries() const { return queries_.size(); }
  // How often a query was asked about a row since the start: what routing saves.
  std::uint64_t evaluations() const { return evaluations_; }
  // The schema that a running query over this table was bound to, if any.
  const changelog::TableSchema* schema_of(const std::string& table) const;

 private:
  struct LiveQuery;
  bool is_ended_by(const LiveQuery& query, const Step& step, const changelog::Catalog& catalog) const;

  LiveQueryId next_id_ = 1;
  std::unordered_map<LiveQueryId, std::unique_ptr<LiveQuery>> queries_;
  struct TableQueries {
    PredicateIndex index;
    std::set<LiveQueryId> queries;
  };
  std::map<std::string, TableQueries> tables_;
  std::uint64_t evaluations_ = 0;
};

// Whether a query bound to one of them runs on the other just the same.
bool same_shape(const changelog::TableSchema& a, const changelog::TableSchema& b);

// All rows of a query, in order. Errors: kResultLimit beyond query_rows_max.
Result<std::vector<Row>> run_query(const TableQuery& query, Snapshot& snapshot);

}  // namespace leat::follower
