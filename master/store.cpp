#include "master/store.h"

#include <sqlite3.h>

#include <filesystem>

#include "changelog/apply.h"
#include "changelog/catalog.h"
#include "changelog/state.h"
#include "core/log.h"

namespace leat::master {

namespace {

constexpr std::size_t replay_transactions_max = 4'096;  // in one SQLite transaction

}  // namespace

Store::Store(StoreOptions options, FolderLock lock) : options_(std::move(options)), lock_(std::move(lock)) {}

Result<std::unique_ptr<Store>> Store::open(StoreOptions options, FileSystem& files, Random& random) {
  LEAT_TRY(files.create_directories(options.log_directory));
  LEAT_ASSIGN(auto lock, FolderLock::acquire(options.log_directory));
  std::unique_ptr<Store> store(new Store(std::move(options), std::move(lock)));
  LEAT_TRY(store->inspect_database(files, random));
  LEAT_TRY(store->open_log(files, random));
  LEAT_TRY(store->make_database());
  return store;
}

Result<void> Store::inspect_database(FileSystem& files, Random& random) {
  LEAT_ASSIGN(const auto log_id, changelog::segment_log_database_id(options_.log_directory, files));
  std::optional<changelog::DatabaseState> state;
  if (std::filesystem::exists(options_.database_path)) {
    LEAT_ASSIGN(connection_, sqlite::Connection::open(options_.database_path, sqlite::OpenMode::kReadWrite));
    // A refusal closes the file as it found it, its WAL included.
    sqlite3_db_config(connection_->handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    LEAT_ASSIGN(state, changelog::read_state(*connection_));
    if (!state) {
      LEAT_ASSIGN(const auto catalog, changelog::Catalog::load(*connection_));
      if (!catalog->tables().empty()) {
        return make_error(ErrorCode::kDatabaseMismatch,
                          options_.database_path +
                              " is a SQLite database that Leat did not make, and has no change log; name a new file "
                              "for `db`, and bring the rows over with migrations and writes");
      }
    }
  }
  is_new_ = !state.has_value();
  if (is_new_) {
    state = changelog::DatabaseState{log_id ? *log_id : random.uuid(), Cursor()};
  } else if (log_id && *log_id != state->database_id) {
    return make_error(ErrorCode::kDatabaseMismatch,
                      "the change log in " + options_.log_directory + " belongs to database " + log_id->to_text() +
                          ", but " + options_.database_path + " is database " + state->database_id.to_text() +
                          "; put the log that belongs to it in its place");
  } else if (!log_id && state->applied != Cursor()) {
    return make_error(ErrorCode::kCorrupt, options_.database_path + " has applied " + state->applied.to_text() +
                                               " but there is no change log in " + options_.log_directory +
                                               "; put the log that belongs to it in its place");
  }
  database_id_ = state->database_id;
  applied_ = state->applied;
  return {};
}

Result<void> Store::make_database() {
  if (connection_ == nullptr) {
    LEAT_ASSIGN(connection_, sqlite::Connection::open(options_.database_path, sqlite::OpenMode::kCreate));
  }
  sqlite3_db_config(connection_->handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
  LEAT_TRY(sqlite::configure_writer(*connection_));
  if (is_new_) LEAT_TRY(changelog::create_state(*connection_, {database_id_, applied_}));
  return {};
}

Result<void> Store::open_log(FileSystem& files, Random& random) {
  changelog::SegmentLogOptions log_options;
  log_options.directory = options_.log_directory;
  log_options.database_id = database_id_;
  log_options.segment_bytes = options_.segment_bytes;
  LEAT_ASSIGN(log_, changelog::open_segment_log(std::move(log_options), files, random));
  if (applied_ > log_->durable_cursor()) {
    return make_error(ErrorCode::kCorrupt, options_.database_path + " is ahead of its change log: it has applied " +
                                               applied_.to_text() + ", the log in " + options_.log_directory +
                                               " ends at " + log_->durable_cursor().to_text() +
                                               "; an older log was put in its place, or its end was lost");
  }
  if (applied_ < log_->durable_cursor()) {
    if (auto reader = log_->read_after(applied_); reader.has_error()) {
      return make_error(ErrorCode::kCorrupt, "the change log in " + options_.log_directory +
                                                 " cannot be replayed into " + options_.database_path +
                                                 ", which has applied " + applied_.to_text() + ": " +
                                                 reader.error().message);
    }
  }
  return {};
}

Result<void> Store::replay(const BlockSink& sink) {
  if (applied_ == log_->durable_cursor()) return {};
  leat::log().warn("replaying the change log into the database",
                   {{"after", applied_.to_text()}, {"until", log_->durable_cursor().to_text()}});
  LEAT_ASSIGN(auto reader, log_->read_after(applied_));
  changelog::Applier applier(*connection_);
  while (true) {
    std::vector<changelog::Transaction> run;
    std::vector<changelog::AppliedBlock> blocks;
    while (run.size() < replay_transactions_max) {
      LEAT_ASSIGN(const auto block, reader->next());
      if (!block) break;
      LEAT_ASSIGN(auto transactions, changelog::decode_block(*block));
      run.insert(run.end(), transactions.begin(), transactions.end());
      const auto& header = block->header();
      blocks.push_back({header.first, header.last, header.commit_time,
                        std::make_shared<const std::vector<changelog::Transaction>>(std::move(transactions))});
    }
    if (run.empty()) return {};
    LEAT_TRY(applier.apply(run));
    applied_ = run.back().cursor;
    if (sink) {
      for (const auto& block : blocks) sink(block);
    }
  }
}

}  // namespace leat::master
