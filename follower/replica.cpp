#include "follower/replica.h"

#include <utility>

#include "changelog/catalog.h"
#include "changelog/state.h"
#include "core/log.h"

namespace leat::follower {

namespace {

constexpr std::size_t replay_blocks_max = 256;  // in one SQLite transaction

}  // namespace

Replica::Replica(ReplicaOptions options, FileSystem& files, Random& random, FolderLock lock, BlockSink sink)
    : options_(std::move(options)), files_(files), random_(random), lock_(std::move(lock)), sink_(std::move(sink)) {}

Replica::~Replica() {
  if (auto synced = sync(); synced.has_error()) {
    leat::log().warn("the segments could not be synced at the end", {{"error", synced.error().message}});
  }
  applier_.reset();
  connection_.reset();
}

Result<std::unique_ptr<Replica>> Replica::open(ReplicaOptions options, FileSystem& files, Clock& clock, Random& random,
                                               BlockSink sink) {
  LEAT_TRY(files.create_directories(options.log_directory));
  LEAT_ASSIGN(auto lock, FolderLock::acquire(options.log_directory));
  std::unique_ptr<Replica> replica(new Replica(std::move(options), files, random, std::move(lock), std::move(sink)));
  LEAT_TRY(replica->open_database());
  if (!replica->database_id_.is_nil()) LEAT_TRY(replica->open_log());
  changelog::Checkpointer::Hooks hooks;
  // What the database file is about to hold for good has to be in the segments first (HAZARDS 6).
  hooks.before = [self = replica.get()] { return self->sync(); };
  LEAT_ASSIGN(replica->checkpointer_,
              changelog::Checkpointer::start(replica->options_.database_path, std::move(hooks)));
  changelog::report_wal_pages(*replica->connection_, *replica->checkpointer_);
  replica->wal_restarter_.emplace(*replica->connection_, *replica->checkpointer_, clock,
                                  [self = replica.get()] { return self->sync(); });
  return replica;
}

Result<void> Replica::open_database() {
  LEAT_ASSIGN(const auto log_id, changelog::segment_log_database_id(options_.log_directory, files_));
  LEAT_ASSIGN(connection_, sqlite::Connection::open(options_.database_path, sqlite::OpenMode::kCreate));
  LEAT_ASSIGN(auto state, changelog::read_state(*connection_));
  if (!state) {
    LEAT_ASSIGN(const auto catalog, changelog::Catalog::load(*connection_));
    if (!catalog->tables().empty()) {
      return make_error(
          ErrorCode::kDatabaseMismatch,
          options_.database_path +
              " is a SQLite database that Leat did not make; name a new file for `db`, the follower fills it");
    }
    state = changelog::DatabaseState{log_id.value_or(DatabaseId()), Cursor()};
    LEAT_TRY(sqlite::configure_writer(*connection_));
    LEAT_TRY(changelog::create_state(*connection_, *state));
  } else {
    if (log_id && *log_id != state->database_id && !state->database_id.is_nil()) {
      return make_error(ErrorCode::kDatabaseMismatch,
                        "the segments in " + options_.log_directory + " belong to database " + log_id->to_text() +
                            ", but " + options_.database_path + " is database " + state->database_id.to_text() +
                            "; remove the one that is not wanted");
    }
    LEAT_TRY(sqlite::configure_writer(*connection_));
  }
  database_id_ = state->database_id;
  applied_ = state->applied.value();
  applier_ = std::make_unique<changelog::Applier>(*connection_);
  return {};
}

Result<void> Replica::open_log() {
  changelog::SegmentLogOptions log_options;
  log_options.directory = options_.log_directory;
  log_options.database_id = database_id_;
  log_options.segment_bytes = options_.segment_bytes;
  {
    const std::lock_guard lock(log_mutex_);
    LEAT_ASSIGN(log_, changelog::open_segment_log(std::move(log_options), files_, random_));
    log_failed_ = false;
    commit_time_ms_ = log_->last_commit_time().value;
    LEAT_TRY(repair_log());
  }
  return replay();
}

Result<void> Replica::repair_log() {
  if (log_failed_) {
    LEAT_TRY(log_->recover());
    log_failed_ = false;
  }
  if (applied() <= log_->written_cursor()) return {};
  leat::log().warn("the database is ahead of this follower's own segments; they start again at its cursor",
                   {{"applied", applied().to_text()}, {"segmentsEnd", log_->written_cursor().to_text()}});
  return log_->restart_at(applied());
}

Result<void> Replica::replay() {
  if (applied() == log_->durable_cursor()) return {};
  auto reader = log_->read_after(applied());
  if (reader.has_error()) {
    if (reader.error().code != ErrorCode::kNotFound) return std::move(reader).error();
    return log_->restart_at(applied());
  }
  while (true) {
    std::vector<changelog::EncodedBlock> run;
    while (run.size() < replay_blocks_max) {
      LEAT_ASSIGN(auto block, (*reader)->next());
      if (!block) break;
      run.push_back(std::move(*block));
    }
    if (run.empty()) return {};
    LEAT_TRY(apply_run(run));
  }
}

Result<void> Replica::adopt(const DatabaseId& database_id) {
  if (database_id_ == database_id && log_ != nullptr) return {};
  if (!database_id_.is_nil() && database_id_ != database_id) {
    return make_error(ErrorCode::kDatabaseMismatch, "this follower holds database " + database_id_.to_text() +
                                                        ", the master is database " + database_id.to_text());
  }
  LEAT_ASSIGN(const auto log_id, changelog::segment_log_database_id(options_.log_directory, files_));
  if (log_id && *log_id != database_id) {
    return make_error(ErrorCode::kDatabaseMismatch, "the segments in " + options_.log_directory +
                                                        " belong to database " + log_id->to_text() +
                                                        ", the master is database " + database_id.to_text());
  }
  LEAT_TRY(changelog::write_database_id(*connection_, database_id));
  database_id_ = database_id;
  return open_log();
}

Result<void> Replica::apply(std::string_view blocks) {
  if (log_ == nullptr) return make_error(ErrorCode::kCorrupt, "the master sent blocks before it said which database");
  std::vector<changelog::EncodedBlock> run;
  while (!blocks.empty()) {
    LEAT_ASSIGN(const std::size_t size, changelog::block_size(blocks));
    if (size == 0 || size > blocks.size()) return make_error(ErrorCode::kCorrupt, "the master sent part of a block");
    LEAT_ASSIGN(auto block, changelog::EncodedBlock::parse(std::string(blocks.substr(0, size))));
    blocks.remove_prefix(size);
    const Cursor before = run.empty() ? applied() : run.back().header().last;
    const auto& header = block.header();
    if (header.last <= before) continue;
    const bool follows = header.first == before.next() || header.first.epoch() > before.epoch();
    if (!follows) {
      return make_error(ErrorCode::kCorrupt, "the master sent a block that begins at " + header.first.to_text() +
                                                 ", this follower stands at " + before.to_text());
    }
    run.push_back(std::move(block));
  }
  return run.empty() ? Result<void>() : apply_run(run);
}

Result<void> Replica::apply_run(const std::vector<changelog::EncodedBlock>& blocks) {
  std::vector<changelog::Transaction> transactions;
  std::vector<changelog::AppliedBlock> applied_blocks;
  for (const auto& block : blocks) {
    LEAT_ASSIGN(auto decoded, changelog::decode_block(block));
    transactions.insert(transactions.end(), decoded.begin(), decoded.end());
    const auto& header = block.header();
    applied_blocks.push_back({header.first, header.last, header.commit_time,
                              std::make_shared<const std::vector<changelog::Transaction>>(std::move(decoded))});
  }
  {
    const std::lock_guard lock(log_mutex_);
    LEAT_TRY(write_to_log(blocks));
    LEAT_TRY(applier_->apply(transactions));
    applied_.store(blocks.back().header().last.value(), std::memory_order_release);
    commit_time_ms_.store(blocks.back().header().commit_time.value, std::memory_order_release);
  }
  for (const auto& block : applied_blocks) sink_(block);
  if (wal_restarter_) wal_restarter_->restart_if_long();
  return {};
}

Result<void> Replica::write_to_log(const std::vector<changelog::EncodedBlock>& blocks) {
  LEAT_TRY(repair_log());
  // Blocks that were written but could not be applied, of a master whose end of history was lost.
  const Cursor written = log_->written_cursor();
  if (written > applied() && blocks.front().header().first.epoch() > written.epoch()) {
    LEAT_TRY(log_->restart_at(applied()));
  }
  for (const auto& block : blocks) {
    if (block.header().last <= log_->written_cursor()) continue;  // written before, when applying it failed
    if (auto written_now = log_->append_unsynced(block); written_now.has_error()) {
      log_failed_ = true;
      return written_now;
    }
  }
  return {};
}

Result<void> Replica::sync() {
  const std::lock_guard lock(log_mutex_);
  if (log_ == nullptr) return {};
  LEAT_TRY(repair_log());
  auto synced = log_->sync();
  log_failed_ = synced.has_error();
  return synced;
}

Cursor Replica::durable() const {
  const std::lock_guard lock(log_mutex_);
  return log_ == nullptr ? Cursor() : log_->durable_cursor();
}

}  // namespace leat::follower
