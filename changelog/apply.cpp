#include "changelog/apply.h"

#include <bit>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "changelog/catalog.h"
#include "changelog/schema_change.h"
#include "changelog/state.h"

namespace leat::changelog {

namespace {

// Statements for different sets of changed columns that are kept for one table; past it, updates set every column.
constexpr std::size_t update_statements_max = 16;

// ON CONFLICT clauses of the schema have had their effect where the rows were captured.
constexpr std::string_view kInsert = "insert or abort into main.";
constexpr std::string_view kUpdate = "update or abort main.";

bool same_bits(const Value& a, const Value& b) {
  const auto* x = std::get_if<double>(&a);
  const auto* y = std::get_if<double>(&b);
  if (x != nullptr && y != nullptr) return std::bit_cast<std::uint64_t>(*x) == std::bit_cast<std::uint64_t>(*y);
  return a == b;
}

// The statements that change one table, compiled when first needed. The row to change is found by its rowid and key, or
// by its key alone where there is no rowid.
class TableApplier {
 public:
  TableApplier(sqlite::Connection& connection, const TableSchema& schema) : connection_(connection), schema_(schema) {}

  Result<void> apply(const RowChange& change) {
    const auto width = schema_.columns.size();
    const bool wants_old = change.operation != Operation::kInsert;
    const bool wants_new = change.operation != Operation::kDelete;
    if ((wants_old && change.old_row.size() != width) || (wants_new && change.new_row.size() != width) ||
        (has_rowid() && ((wants_old && !change.old_rowid) || (wants_new && !change.new_rowid)))) {
      return misfit("has another shape");
    }
    switch (change.operation) {
      case Operation::kInsert:
        return insert(change);
      case Operation::kDelete:
        return remove(change);
      case Operation::kUpdate:
        return update(change);
    }
    return misfit("has an unknown operation");
  }

 private:
  using Columns = std::vector<bool>;

  bool has_rowid() const { return !schema_.without_rowid; }
  // The rowid is a column of its own in SQL unless one of the table's columns is it.
  bool names_rowid() const { return has_rowid() && !schema_.rowid_alias; }

  Error misfit(std::string_view what) const {
    return make_error(ErrorCode::kCorrupt, "a change record of table \"" + schema_.name + "\" " + std::string(what) +
                                               ": the database does not hold the history that the log goes on with");
  }

  Result<sqlite::Statement*> compiled(std::unique_ptr<sqlite::Statement>& statement, const std::string& sql) {
    if (statement == nullptr) {
      LEAT_ASSIGN(statement, connection_.prepare(sql, sqlite::Access::kInternal));
    }
    return statement.get();
  }

  std::string condition() const {
    std::string sql = " where ";
    if (names_rowid()) sql += schema_.rowid_name + " = ?";
    for (std::size_t i = 0; i < schema_.primary_key.size(); ++i) {
      if (i > 0 || names_rowid()) sql += " and ";
      sql += quote_name(key_column(i).name) + " collate " + quote_name(schema_.key_collations[i]) + " is ?";
    }
    return sql;
  }

  const TableColumn& key_column(std::size_t i) const {
    return schema_.columns[static_cast<std::size_t>(schema_.primary_key[i])];
  }

  void bind_condition(sqlite::Statement& statement, int next, const RowChange& change) const {
    if (names_rowid()) statement.bind(next++, *change.old_rowid);
    for (const int column : schema_.primary_key) {
      statement.bind(next++, change.old_row[static_cast<std::size_t>(column)]);
    }
  }

  Result<void> run_for_one_row(sqlite::Statement& statement) {
    LEAT_TRY(statement.run());
    return connection_.changes() == 1 ? Result<void>() : misfit("changes a row that is not there");
  }

  Result<void> insert(const RowChange& change) {
    if (insert_ == nullptr) {
      std::string names = names_rowid() ? schema_.rowid_name : "";
      std::string values = names_rowid() ? "?" : "";
      for (const auto& column : schema_.columns) {
        names += (names.empty() ? "" : ", ") + quote_name(column.name);
        values += values.empty() ? "?" : ", ?";
      }
      LEAT_TRY(compiled(insert_,
                        std::string(kInsert) + quote_name(schema_.name) + " (" + names + ") values (" + values + ")"));
    }
    int next = 1;
    if (names_rowid()) insert_->bind(next++, *change.new_rowid);
    for (const auto& value : change.new_row) insert_->bind(next++, value);
    return insert_->run();
  }

  Result<void> remove(const RowChange& change) {
    LEAT_ASSIGN(auto* statement, compiled(delete_, "delete from main." + quote_name(schema_.name) + condition()));
    bind_condition(*statement, 1, change);
    return run_for_one_row(*statement);
  }

  // Sets only what changed, so that only the indexes over it are written.
  Result<void> update(const RowChange& change) {
    Columns changed(schema_.columns.size());
    for (std::size_t i = 0; i < changed.size(); ++i) changed[i] = !same_bits(change.old_row[i], change.new_row[i]);
    const bool moves = names_rowid() && change.old_rowid != change.new_rowid;
    changed.push_back(moves);
    auto found = updates_.find(changed);
    if (found == updates_.end()) {
      if (updates_.size() >= update_statements_max) {
        changed.assign(changed.size(), true);
        changed.back() = names_rowid();
      }
      found = updates_.try_emplace(changed).first;
    }
    const auto& set = found->first;
    if (found->second == nullptr) {
      std::string assignments;
      const auto assign = [&](const std::string& name) {
        assignments += (assignments.empty() ? "" : ", ") + name + " = ?";
      };
      for (std::size_t i = 0; i < schema_.columns.size(); ++i) {
        if (set[i]) assign(quote_name(schema_.columns[i].name));
      }
      if (set.back()) assign(schema_.rowid_name);
      // A record that changes nothing still has to meet its row.
      if (assignments.empty()) {
        const auto name = quote_name(key_column(0).name);
        assignments = name + " = " + name;
      }
      LEAT_TRY(compiled(found->second,
                        std::string(kUpdate) + quote_name(schema_.name) + " set " + assignments + condition()));
    }
    auto& statement = *found->second;
    int next = 1;
    for (std::size_t i = 0; i < schema_.columns.size(); ++i) {
      if (set[i]) statement.bind(next++, change.new_row[i]);
    }
    if (set.back()) statement.bind(next++, *change.new_rowid);
    bind_condition(statement, next, change);
    return run_for_one_row(statement);
  }

  sqlite::Connection& connection_;
  const TableSchema& schema_;
  std::unique_ptr<sqlite::Statement> insert_;
  std::unique_ptr<sqlite::Statement> delete_;
  std::unordered_map<Columns, std::unique_ptr<sqlite::Statement>> updates_;
};

}  // namespace

struct Applier::Impl {
  explicit Impl(sqlite::Connection& its_connection) : connection(its_connection), quiet(its_connection) {}

  sqlite::Connection& connection;
  WithoutSideEffects quiet;
  std::shared_ptr<const Catalog> catalog;
  std::uint64_t generation = 0;
  std::unordered_map<std::string, TableApplier> tables;

  void use(std::shared_ptr<const Catalog> loaded) {
    tables.clear();
    catalog = std::move(loaded);
    generation = connection.schema_generation();
  }

  Result<void> refresh() {
    if (catalog && generation == connection.schema_generation()) return {};
    LEAT_ASSIGN(auto loaded, Catalog::load(connection));
    use(std::move(loaded));
    return {};
  }

  Result<void> apply_record(const RowChange& change) {
    auto found = tables.find(change.table);
    if (found == tables.end()) {
      const auto* schema = catalog->find(change.table);
      if (schema == nullptr) {
        return make_error(ErrorCode::kCorrupt,
                          "a change record names table \"" + change.table + "\", which the database does not have");
      }
      LEAT_TRY(schema->check_replicable());
      found = tables.try_emplace(change.table, connection, *schema).first;
    }
    return found->second.apply(change);
  }

  Result<void> apply_record(const SchemaChange& change) {
    // Statements that are still compiled would lock the tables that the change drops.
    tables.clear();
    LEAT_ASSIGN(auto after, run_schema_change(connection, change.sql, *catalog));
    use(std::move(after));
    return {};
  }

  Result<void> apply_record(const SequenceChange& change) {
    LEAT_ASSIGN(auto update, connection.prepare_cached("update sqlite_sequence set seq = ?1 where name = ?2",
                                                       sqlite::Access::kInternal));
    update->bind(1, change.value);
    update->bind(2, std::string_view(change.table));
    LEAT_TRY(update->run());
    if (connection.changes() > 0) return {};
    LEAT_ASSIGN(auto insert, connection.prepare_cached("insert into sqlite_sequence (seq, name) values (?1, ?2)",
                                                       sqlite::Access::kInternal));
    insert->bind(1, change.value);
    insert->bind(2, std::string_view(change.table));
    return insert->run();
  }

  Result<void> apply_all(const std::vector<Transaction>& transactions) {
    LEAT_TRY(refresh());
    LEAT_ASSIGN(const auto state, read_state(connection));
    if (!state) return make_error(ErrorCode::kDatabaseMismatch, "the database has no _leat_meta: it is not Leat's");
    Cursor applied = state->applied;
    for (const auto& transaction : transactions) {
      if (transaction.cursor <= applied) continue;
      // The first cursor of a greater epoch is anything; within one there are no gaps.
      if (transaction.cursor != applied.next() && transaction.cursor.epoch() == applied.epoch()) {
        return make_error(ErrorCode::kCorrupt, "the log goes from cursor " + applied.to_text() + " to " +
                                                   transaction.cursor.to_text() + ": transactions are missing");
      }
      for (const auto& record : transaction.records) {
        LEAT_TRY(std::visit([this](const auto& each) { return apply_record(each); }, record));
      }
      applied = transaction.cursor;
    }
    if (applied == state->applied) return {};
    return write_applied_cursor(connection, applied);
  }
};

Applier::Applier(sqlite::Connection& connection) : impl_(std::make_unique<Impl>(connection)) {}
Applier::~Applier() = default;

Result<void> Applier::apply(const std::vector<Transaction>& transactions) {
  auto& connection = impl_->connection;
  LEAT_TRY(connection.execute("begin immediate"));
  auto applied = impl_->apply_all(transactions);
  if (applied.has_value()) applied = connection.execute("commit");
  if (applied.has_error() && connection.in_transaction()) LEAT_TRY(connection.execute("rollback"));
  return applied;
}

}  // namespace leat::changelog
