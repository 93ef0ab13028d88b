#include "changelog/replay_fixture.h"

namespace leat::changelog {

namespace {

std::unique_ptr<sqlite::Connection> open_memory() {
  auto connection = sqlite::Connection::open(":memory:", sqlite::OpenMode::kCreate).value();
  create_state(*connection, DatabaseState{DatabaseId(DatabaseId::Bytes{1}), Cursor(Epoch{1}, 0)}).value();
  connection->execute("pragma foreign_keys=on").value();
  return connection;
}

}  // namespace

Replay::Replay(Capture::Options options) : source_(open_memory()), target_(open_memory()) {
  capture_ = std::make_unique<Capture>(*source_, std::move(options));
  applier_ = std::make_unique<Applier>(*target_);
}

Result<void> Replay::write(const std::string& sql) {
  if (!source_->in_transaction()) source_->execute("begin").value();
  source_->execute("savepoint w").value();
  const auto position = capture_->position();
  const auto attempt = [&]() -> Result<void> {
    LEAT_ASSIGN(auto statement, source_->prepare(sql, sqlite::Access::kWrite));
    if (statement->traits().is_ddl) {
      statement.reset();
      return capture_->run_schema_change(sql);
    }
    capture_->begin_statement();
    LEAT_TRY(statement->run());
    return capture_->status();
  };
  auto done = attempt();
  if (!source_->in_transaction()) {
    capture_->rewind({});
    return done;
  }
  source_->execute(done.has_error() ? "rollback to w; release w" : "release w").value();
  if (done.has_error()) capture_->rewind(position);
  return done;
}

void Replay::must(const std::string& sql) {
  auto done = write(sql);
  EXPECT_TRUE(done.has_value()) << sql << ": " << done.error().message;
}

std::vector<ChangeRecord> Replay::commit() {
  if (!source_->in_transaction()) return {};
  Transaction transaction;
  transaction.records = capture_->take().value();
  source_->execute("commit").value();
  cursor_ = cursor_.next();
  transaction.cursor = cursor_;
  std::vector<Transaction> transactions{transaction};
  auto applied = applier_->apply(transactions);
  EXPECT_TRUE(applied.has_value()) << applied.error().message;
  return transaction.records;
}

std::string Replay::dump(sqlite::Connection& connection) {
  std::string text;
  auto catalog = Catalog::load(connection).value();
  const auto append = [&](const std::string& sql) {
    auto statement = connection.prepare(sql, sqlite::Access::kInternal).value();
    while (statement->step().value()) {
      for (int i = 0; i < statement->column_count(); ++i) text += std::string(statement->column_bytes(i)) + "|";
      text += "\n";
    }
  };
  append("select type, name, sql from sqlite_schema order by type, name");
  for (const auto& table : catalog->tables()) {
    if (is_local_table(table.name)) continue;
    std::string columns = table.without_rowid || table.rowid_name.empty() ? "''" : table.rowid_name;
    std::string order = columns;
    {
      auto all = connection.prepare("select * from " + quote_name(table.name), sqlite::Access::kInternal).value();
      for (const auto& column : all->columns()) {
        const auto name = quote_name(column.name);
        columns += ", typeof(" + name + "), quote(" + name + ")";
        if (table.without_rowid) order += ", " + name + " collate binary";
      }
    }
    text += table.name + "\n";
    append("select " + columns + " from " + quote_name(table.name) + " order by " + order);
  }
  return text;
}

void Replay::expect_equal() { ASSERT_EQ(dump(*source_), dump(*target_)); }

}  // namespace leat::changelog
