// Random schemas and writes on one database, their records applied to another: both must end up the same, row for row.
// LEAT_SEED replays a failure, LEAT_STEPS makes the run longer.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>

#include "changelog/catalog.h"
#include "changelog/replay_fixture.h"

namespace leat::changelog {
namespace {

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class RandomWrites {
 public:
  explicit RandomWrites(std::uint64_t seed) : random_(seed) {}

  void run(std::size_t steps) {
    for (int i = 0; i < 4; ++i) create_table();
    for (std::size_t step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      one_step();
      if (chance(4)) commit();
    }
    commit();
  }
  std::size_t succeeded() const { return succeeded_; }
  std::size_t records() const { return records_; }

 private:
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
  bool chance(std::size_t one_in) { return below(one_in) == 0; }
  std::string pick(std::initializer_list<const char*> all) { return *(all.begin() + below(all.size())); }
  std::string name(const char* prefix) { return prefix + std::to_string(next_name_++); }

  std::string value() {
    return pick({"1",
                 "2",
                 "3",
                 "4",
                 "5",
                 "null",
                 "-0.0",
                 "5.0",
                 "1.5",
                 "'a'",
                 "'A'",
                 "'b'",
                 "'5'",
                 "x'00ff'",
                 "x''",
                 "''",
                 "9e999",
                 "0.0",
                 "'x' || 1",
                 "cast(x'ff00' as text)",
                 "abs(random() % 6)",
                 "9223372036854775807",
                 "-9223372036854775808",
                 "1e300",
                 "zeroblob(3)",
                 "random() % 5"});
  }

  void write(const std::string& sql) {
    statements_ += sql + ";\n";
    if (replay_.write(sql).has_value()) ++succeeded_;
  }

  void create_table() {
    const bool strict = chance(5);
    const auto type = [&] {
      return strict ? pick({"int", "real", "text", "blob", "any"})
                    : pick({"integer", "real", "text", "blob", "numeric", "", "varchar(10) collate nocase"});
    };
    const auto table = name("t");
    std::string options;
    std::string sql = "create table " + table + " (";
    switch (below(5)) {
      case 0:
        sql += "id integer primary key";
        break;
      case 1:
        sql += "id integer primary key autoincrement";
        break;
      case 2:
        sql += "id text collate nocase primary key";
        if (chance(2)) options = "without rowid";
        break;
      case 3:
        sql += "id integer primary key desc";
        break;
      default:
        sql += "id int, k2 text collate nocase";
        if (chance(2)) options = "without rowid";
    }
    const bool composite = sql.find("k2") != std::string::npos;
    sql += ", a " + type() + (chance(4) ? " unique on conflict replace" : chance(4) ? " unique" : "");
    sql += ", b " + type() + (chance(5) ? " not null default 7" : "");
    if (chance(3)) sql += ", g " + std::string(strict ? "text" : "") + " as (coalesce(a, '') || 'x') stored";
    if (chance(3) && !parent_.empty()) {
      sql += ", r int references " + parent_ + " on delete " + pick({"cascade", "set null"}) + " on update cascade";
    }
    if (composite) sql += ", primary key (k2 collate " + pick({"binary", "nocase"}) + pick({" desc", ""}) + ", id)";
    if (strict) options += options.empty() ? "strict" : ", strict";
    write(sql + ") " + options);
    if (sql.find("id integer primary key,") != std::string::npos) parent_ = table;
  }

  const TableSchema* any_table() {
    catalog_ = replay_.capture().catalog().value();
    std::vector<const TableSchema*> tables;
    for (const auto& table : catalog_->tables()) {
      if (!is_local_table(table.name)) tables.push_back(&table);
    }
    return tables.empty() ? nullptr : tables[below(tables.size())];
  }

  std::string insert(const TableSchema& table, const std::string& verb) {
    std::string columns;
    std::string values;
    for (const auto& column : table.columns) {
      if (column.key_position == 0 ? chance(6) : table.autoincrement && chance(2)) continue;
      columns += (columns.empty() ? "" : ", ") + column.name;
      values += (values.empty() ? "" : ", ") + value();
    }
    if (columns.empty()) return verb + " into " + table.name + " default values";
    if (!table.without_rowid && !table.rowid_alias && chance(8)) {
      columns += ", rowid";
      values += ", " + std::to_string(below(40));
    }
    std::string sql = verb + " into " + table.name + " (" + columns + ") values (" + values + ")";
    return sql;
  }

  std::string where(const TableSchema& table) {
    if (chance(12)) return "";
    const auto& column = table.columns[below(table.columns.size())].name;
    return " where " + column + " " + pick({"=", ">", "<", "is"}) + " " + value();
  }

  std::string assignments(const TableSchema& table) {
    std::string sql;
    for (const auto& column : table.columns) {
      if (!sql.empty() && !chance(4)) continue;
      if (sql.empty() && chance(2) && &column != &table.columns.back()) continue;
      sql += (sql.empty() ? "" : ", ") + column.name + " = " + (chance(4) ? column.name + " + 1" : value());
    }
    if (!table.without_rowid && !table.rowid_alias && chance(10)) sql += ", rowid = rowid + 1";
    return sql;
  }

  void one_step() {
    const auto* table = any_table();
    if (table == nullptr) return create_table();
    switch (below(24)) {
      case 0:
        return schema_change(*table);
      case 1:
      case 2:
        return write("delete from " + table->name + where(*table));
      case 3:
      case 4:
      case 5:
      case 6:
        return write("update " + pick({"", "", "or ignore ", "or replace ", "or fail "}) + table->name + " set " +
                     assignments(*table) + where(*table));
      case 7:
      case 8:
        return write(insert(*table, "insert") + " on conflict do update set " + assignments(*table));
      case 9: {
        const auto* other = any_table();
        return write("insert " + pick({"", "or ignore ", "or replace "}) + "into " + other->name + " select * from " +
                     other->name + " where 0 union all select * from " + table_like(*other));
      }
      case 10:
        return rolled_back_savepoint();
      default:
        return write(insert(*table, pick({"insert", "insert", "insert or ignore", "replace", "insert or fail"})));
    }
  }

  std::string table_like(const TableSchema& table) {
    for (const auto& other : catalog_->tables()) {
      if (other.name != table.name && other.columns.size() == table.columns.size()) return other.name;
    }
    return table.name;
  }

  // Several writes, then back to before them.
  void rolled_back_savepoint() {
    auto& source = replay_.source();
    if (!source.in_transaction()) source.execute("begin").value();
    source.execute("savepoint outer_one").value();
    const auto position = replay_.capture().position();
    for (int i = 0; i < 3; ++i) {
      const auto* table = any_table();
      if (table == nullptr) break;
      if (chance(6)) {
        schema_change(*table);
      } else {
        write(insert(*table, "replace"));
      }
    }
    // A write may have destroyed the transaction: a full AUTOINCREMENT table does.
    if (source.execute("rollback to outer_one; release outer_one").has_error()) return;
    replay_.capture().rewind(position);
  }

  void schema_change(const TableSchema& table) {
    switch (below(9)) {
      case 0:
        return create_table();
      case 1:
        return chance(3) ? write("drop table " + table.name) : create_table();
      case 2:
        return write("alter table " + table.name + " rename to " + name("t"));
      case 3:
        return write("alter table " + table.name + " add column " + name("c") + pick({" text", " real", " int"}) +
                     pick({"", " default 3", " not null default '5'", " default 2.5"}));
      case 4:
        return write("alter table " + table.name + " drop column " + table.columns.back().name);
      case 5:
        return write("alter table " + table.name + " rename column b to " + name("b"));
      case 6:
        return write("create " + pick({"", "unique "}) + "index " + name("i") + " on " + table.name + " (" +
                     table.columns[below(table.columns.size())].name + ")");
      case 7: {
        const auto* other = any_table();
        const auto moment = pick({"before ", "after "}) + pick({"insert", "update", "delete"});
        const auto action = chance(2)
                                ? insert(*other, "insert or ignore")
                                : "update or ignore " + other->name + " set " + assignments(*other) + where(*other);
        return write("create trigger " + name("r") + " " + moment + " on " + table.name + " begin " + action + "; end");
      }
      default:
        return write("analyze");
    }
  }

  void commit() {
    records_ += replay_.commit().size();
    replay_.expect_equal();
    if (testing::Test::HasFailure()) std::cout << statements_;
    statements_.clear();
  }

  std::mt19937_64 random_;
  Replay replay_;
  std::shared_ptr<const Catalog> catalog_;
  std::string parent_;
  std::string statements_;  // since the last commit
  std::size_t next_name_ = 0;
  std::size_t succeeded_ = 0;
  std::size_t records_ = 0;
};

TEST(Hazard11, RandomWritesAppliedInCaptureOrderGiveTheSameRows) {
  const auto steps = setting("LEAT_STEPS", 4'000);
  std::uint64_t seed = setting("LEAT_SEED", std::random_device{}());
  std::size_t succeeded = 0;
  std::size_t records = 0;
  for (std::size_t done = 0; done < steps && !HasFailure(); done += 200, ++seed) {
    SCOPED_TRACE("LEAT_SEED=" + std::to_string(seed));
    RandomWrites writes(seed);
    writes.run(200);
    succeeded += writes.succeeded();
    records += writes.records();
    if (HasFailure()) std::cout << "failed with LEAT_SEED=" << seed << "\n";
  }
  std::cout << steps << " steps, seeds up to " << seed << ": " << succeeded << " statements succeeded, " << records
            << " records applied\n";
  EXPECT_GT(succeeded, steps / 4);
}

}  // namespace
}  // namespace leat::changelog
