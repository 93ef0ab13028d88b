// For the tests of the write-master: a folder with a database and a log, writes as a client would send them, and their
// answers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/file.h"
#include "core/random.h"
#include "core/sqlite.h"
#include "master/fingerprint.h"
#include "master/group_commit.h"
#include "master/store.h"
#include "master/write.h"

namespace leat::master {

constexpr std::int64_t test_now_ms = 1'800'000'000'000;

// An answer, once it has come.
class Answer final : public HttpReply::Sink {
 public:
  void send(HttpResponse response) override {
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(response_) << "answered twice";
    response_ = std::move(response);
    came_.notify_all();
  }
  const HttpResponse& get() {
    std::unique_lock lock(mutex_);
    if (!came_.wait_for(lock, std::chrono::seconds(30), [&] { return response_.has_value(); })) {
      ADD_FAILURE() << "no answer came";
      response_.emplace();
      response_->status = 0;
    }
    return *response_;
  }
  int status() { return get().status; }
  const std::string& body() { return get().body; }
  bool has(std::string_view text) { return body().find(text) != std::string::npos; }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::optional<HttpResponse> response_;
};
using AnswerPointer = std::shared_ptr<Answer>;

inline wire::Statement statement(std::string sql, Row values = {}) {
  wire::Statement made;
  made.sql = std::move(sql);
  made.positional = std::move(values);
  return made;
}

inline std::string key_at(std::int64_t made_ms, int number) {
  IdempotencyKey key;
  key.made_ms = made_ms;
  key.id[14] = static_cast<std::uint8_t>(number >> 8);
  key.id[15] = static_cast<std::uint8_t>(number);
  return key.to_text();
}
inline std::string key(int number) { return key_at(test_now_ms, number); }

inline Write make_write(Body body, AnswerStyle style, const AnswerPointer& answer, Guard guard = {}) {
  return Write{changelog::Origin::kSystem, "", std::move(guard), std::move(body), style, 100, HttpReply(answer)};
}
inline Write sql_write(std::vector<std::string> statements, const AnswerPointer& answer, Guard guard = {}) {
  StatementsBody body;
  for (std::string& sql : statements) body.statements.push_back(statement(std::move(sql)));
  return make_write(std::move(body), AnswerStyle::kControl, answer, std::move(guard));
}
// As /v1/sql/execute sends it.
inline Write keyed_write(const std::string& sql, const std::string& idempotency_key, const AnswerPointer& answer) {
  StatementsBody body;
  body.statements.push_back(statement(sql));
  const OutcomeGuard guard{IdempotencyKey::parse(idempotency_key).value(), fingerprint_of("execute", body.statements)};
  return make_write(std::move(body), AnswerStyle::kExecute, answer, guard);
}
inline Write migration_write(std::string id, std::vector<std::string> statements, const AnswerPointer& answer) {
  wire::MigrationRequest migration;
  migration.id = std::move(id);
  migration.checksum = migration_checksum(statements);
  migration.statements = std::move(statements);
  return make_write(MigrationsBody{{std::move(migration)}}, AnswerStyle::kControlMigration, answer);
}

class DataFolder {
 public:
  DataFolder() {
    std::string pattern = testing::TempDir() + "leat-master-XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
    std::filesystem::create_directories(log());  // the lock is a real file, whatever the log is on
  }
  ~DataFolder() { std::filesystem::remove_all(path_); }
  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;

  std::string database() const { return path_ + "/db"; }
  std::string log() const { return path_ + "/log"; }
  const std::string& path() const { return path_; }
  StoreOptions options() const { return {database(), log(), 64u << 10}; }

  // Puts the database's files aside, and back: its state of then, while the log has gone on.
  void save_database() { copy_database(path_ + "/db", path_ + "/saved"); }
  void restore_database() { copy_database(path_ + "/saved", path_ + "/db"); }

  // Every file's name and bytes below the folder, to see that nothing was changed.
  std::string fingerprint() const {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
      const auto name = entry.path().filename().string();
      if (!entry.is_regular_file() || name == "lock" || name.ends_with("-shm")) continue;
      if (name.ends_with("-wal") && entry.file_size() == 0) continue;  // says nothing
      std::ifstream in(entry.path(), std::ios::binary);
      std::ostringstream bytes;
      bytes << in.rdbuf();
      files.push_back(entry.path().string() + "=" + std::to_string(std::hash<std::string>{}(bytes.str())) + "\n");
    }
    std::sort(files.begin(), files.end());
    std::string all;
    for (const auto& file : files) all += file;
    return all;
  }

 private:
  static void copy_database(const std::string& from, const std::string& to) {
    for (const char* suffix : {"", "-wal", "-shm"}) {
      std::filesystem::remove(to + suffix);
      if (std::filesystem::exists(from + suffix)) std::filesystem::copy_file(from + suffix, to + suffix);
    }
  }
  std::string path_;
};

// The committing half of the master on the test's own thread: groups are exactly what the test makes them.
class GroupTest : public testing::Test {
 protected:
  void SetUp() override { open(); }

  void open() {
    auto store = Store::open(folder_.options(), *files_, random_);
    ASSERT_FALSE(store.has_error()) << store.error().message;
    store_ = std::move(*store);
    replayed_ = 0;
    const BlockSink count = [this](const changelog::AppliedBlock&) { ++replayed_; };
    const auto replayed = store_->replay(count);
    ASSERT_FALSE(replayed.has_error()) << replayed.error().message;
    group_ = std::make_unique<GroupCommit>(*store_, options_, *files_, clock_, [this](const auto& block) {
      blocks_.push_back(block);
      if (on_block_) on_block_(block);
    });
    const auto made = std::make_shared<Answer>();
    std::vector<Write> writes;
    writes.push_back(make_write(SystemSchemaBody{}, AnswerStyle::kControl, made));
    group_->commit(writes);
    ASSERT_EQ(made->status(), 200) << made->body();
  }
  void close() {
    group_.reset();
    store_.reset();
  }
  void reopen() {
    close();
    open();
  }

  AnswerPointer commit_one(Write write, const AnswerPointer& answer) {
    std::vector<Write> writes;
    writes.push_back(std::move(write));
    group_->commit(writes);
    return answer;
  }
  AnswerPointer run(std::vector<std::string> statements, Guard guard = {}) {
    const auto answer = std::make_shared<Answer>();
    return commit_one(sql_write(std::move(statements), answer, std::move(guard)), answer);
  }
  AnswerPointer run(const char* sql) { return run(std::vector<std::string>{sql}); }
  AnswerPointer execute(const std::string& sql, const std::string& idempotency_key) {
    const auto answer = std::make_shared<Answer>();
    return commit_one(keyed_write(sql, idempotency_key, answer), answer);
  }
  AnswerPointer migrate(std::vector<std::string> statements) {
    const auto answer = std::make_shared<Answer>();
    return commit_one(migration_write("m" + std::to_string(++migrations_), std::move(statements), answer), answer);
  }
  void must_migrate(std::vector<std::string> statements) {
    const auto answer = migrate(std::move(statements));
    ASSERT_EQ(answer->status(), 200) << answer->body();
  }
  // Commits writes as one group and answers their answers.
  std::vector<AnswerPointer> commit_group(const std::vector<std::vector<std::string>>& group) {
    std::vector<AnswerPointer> answers;
    std::vector<Write> writes;
    for (const auto& statements : group) {
      answers.push_back(std::make_shared<Answer>());
      writes.push_back(sql_write(statements, answers.back()));
    }
    group_->commit(writes);
    return answers;
  }

  // The rows of a query, columns with ',', rows with ';'.
  std::string rows(const std::string& sql) { return rows_of(store_->connection(), sql); }
  static std::string rows_of(sqlite::Connection& connection, const std::string& sql) {
    auto query = connection.prepare(sql, sqlite::Access::kInternal);
    if (query.has_error()) return query.error().message;
    std::string text;
    while ((*query)->step().value()) {
      if (!text.empty()) text += ';';
      for (int column = 0; column < (*query)->column_count(); ++column) {
        if (column > 0) text += ',';
        text += (*query)->column_is_null(column) ? "null" : std::string((*query)->column_bytes(column));
      }
    }
    return text;
  }
  // Everything in the log, in order.
  std::vector<changelog::Transaction> logged() {
    std::vector<changelog::Transaction> all;
    auto reader = store_->log().read_after(Cursor()).value();
    while (auto block = reader->next().value()) {
      for (auto& each : changelog::decode_block(*block).value()) all.push_back(std::move(each));
    }
    return all;
  }

  DataFolder folder_;
  FileSystem* files_ = &system_files();
  ManualClock clock_{UnixMs{test_now_ms}};
  SeededRandom random_{1};
  GroupCommit::Options options_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<GroupCommit> group_;
  std::vector<changelog::AppliedBlock> blocks_;
  std::function<void(const changelog::AppliedBlock&)> on_block_;
  int replayed_ = 0;
  int migrations_ = 0;
};

}  // namespace leat::master
