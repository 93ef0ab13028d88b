#include "master/group_commit.h"

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>

#include "changelog/block.h"
#include "changelog/catalog.h"
#include "changelog/state.h"
#include "core/log.h"
#include "master/limits.h"
#include "sqlclient/wire/errors.h"

namespace leat::master {

namespace {

constexpr std::int64_t reserve_check_interval_us = 20'000;

// Trouble of the machine rather than of the statement: the caller may repeat the request when it is over.
Error explain(Error error) {
  const int code = error.sqlite_code.value_or(0) & 0xff;
  if (code == SQLITE_FULL || code == SQLITE_IOERR || code == SQLITE_NOMEM) {
    error.code = ErrorCode::kUnavailable;
    error.retry_scope = RetryScope::kRequest;
    if (code == SQLITE_FULL) error.message += "; nothing was written: free some space on the database's disk";
  }
  return error;
}

}  // namespace

// What a run of writes has come to so far.
struct GroupCommit::Pending {
  Cursor head;  // of the last write that changed something
  std::vector<changelog::Transaction> transactions;
  std::vector<HttpResponse> answers;    // one for each write executed
  std::vector<bool> depends_on_commit;  // answers that are only true once the writes up to there are committed
  std::size_t bytes = 0;
};

GroupCommit::GroupCommit(Store& store, Options options, FileSystem& files, Clock& clock, BlockSink sink)
    : store_(store), options_(std::move(options)), files_(files), clock_(clock), sink_(std::move(sink)) {
  store_.connection().set_table_guard([excluded = options_.excluded_tables](std::string_view table) -> Result<void> {
    if (changelog::is_system_table(table)) {
      return make_error(ErrorCode::kStatementUnsupported,
                        "table \"" + std::string(table) + "\" is Leat's own and is only read");
    }
    if (std::any_of(excluded.begin(), excluded.end(), [&](const std::string& name) {
          return sqlite3_stricmp(name.c_str(), std::string(table).c_str()) == 0;
        })) {
      return make_error(
          ErrorCode::kStatementUnsupported,
          "table \"" + std::string(table) + "\" is excluded by the configuration, so it cannot be written");
    }
    return {};
  });
  make_executor();
}

void GroupCommit::make_executor() {
  changelog::Capture::Options capture_options;
  capture_options.transaction_bytes_max = options_.transaction_bytes_max;
  capture_options.excluded_tables = options_.excluded_tables;
  capture_.emplace(store_.connection(), std::move(capture_options));
  executor_.emplace(store_.connection(), *capture_, clock_);
}

bool GroupCommit::commit(std::span<Write> writes) {
  while (!writes.empty()) {
    std::size_t count = 0;
    while (count < writes.size() && !writes[count].is_exclusive()) ++count;
    const std::size_t answered = count == 0 ? commit_exclusive(writes.front()) : commit_run(writes.first(count));
    writes = writes.subspan(answered);
  }
  return !must_recover_;
}

std::size_t GroupCommit::commit_exclusive(Write& write) {
  // The setting only changes outside a transaction.
  if (auto off = store_.connection().execute("pragma foreign_keys = off"); off.has_error()) {
    write.reply.send(write_error(off.error(), write.style));
    return 1;
  }
  const std::size_t answered = commit_run(std::span<Write>(&write, 1));
  if (auto on = store_.connection().execute("pragma foreign_keys = on"); on.has_error()) must_recover_ = true;
  return answered;
}

std::size_t GroupCommit::commit_run(std::span<Write> writes) {
  commit_failure_.reset();
  Pending pending;
  pending.head = store_.applied();
  auto ready = check_recovered();
  if (!ready.has_error()) ready = check_disk_reserve();
  if (!ready.has_error()) ready = run_cached("begin immediate");
  if (ready.has_error()) {
    const Error error = explain(std::move(ready).error());
    for (Write& write : writes) write.reply.send(write_error(error, write.style));
    commit_failure_ = error;
    return writes.size();
  }

  for (std::size_t i = 0; i < writes.size() && pending.bytes < group_bytes_max; ++i) {
    auto executed = execute_one(pending, writes[i]);
    if (!store_.connection().in_transaction()) {
      // This write destroyed the transaction of all (HAZARDS 14). The ones before it are run again and committed
      // without it; each is so executed twice at most, however many culprits a group holds.
      capture_->rewind({});
      const Error error = executed.has_error()
                              ? std::move(executed).error()
                              : make_error(ErrorCode::kInternal, "the statement ended the transaction it ran in");
      std::span<Write> survivors = writes.first(i);
      std::optional<Error> failure;
      while (!survivors.empty()) {
        survivors = survivors.subspan(commit_run(survivors));
        if (commit_failure_) failure = commit_failure_;
      }
      // What the culprit ran into may be a row of a survivor that did not come to stay.
      writes[i].reply.send(write_error(failure ? *failure : explain(error), writes[i].style));
      commit_failure_ = std::move(failure);
      return i + 1;
    }
    if (executed.has_error()) {
      pending.answers.push_back(write_error(explain(std::move(executed).error()), writes[i].style));
      pending.depends_on_commit.push_back(!pending.transactions.empty());
    }
  }
  const std::size_t count = pending.answers.size();
  finish(writes.first(count), pending);
  return count;
}

Result<void> GroupCommit::execute_one(Pending& pending, Write& write) {
  LEAT_TRY(run_cached("savepoint write"));
  const Cursor cursor = pending.head == Cursor() ? Cursor(Epoch{1}, 1) : pending.head.next();
  auto executed = executor_->execute(write, cursor, pending.head);
  if (executed.has_error()) {
    if (store_.connection().in_transaction()) {
      capture_->rewind({});
      auto undone = run_cached("rollback to write");
      if (!undone.has_error()) undone = run_cached("release write");
      if (undone.has_error()) rollback();  // the group goes the way of HAZARDS 14 rather than keep half of a write
    }
    return std::move(executed).error();
  }
  if (auto released = run_cached("release write"); released.has_error()) {
    rollback();
    return released;
  }
  if (!executed->records.empty()) {
    pending.transactions.push_back({cursor, write.origin, write.request_id, std::move(executed->records)});
    pending.bytes += executed->bytes;
    pending.head = cursor;
  }
  pending.answers.push_back(wire::json_response(std::move(executed->answer)));
  pending.depends_on_commit.push_back(true);
  return {};
}

void GroupCommit::finish(std::span<Write> writes, Pending& pending) {
  if (pending.transactions.empty()) {
    rollback();
  } else if (auto committed = log_and_commit(pending); committed.has_error()) {
    const Error& error = committed.error();
    commit_failure_ = error;
    log().error("a group was not committed", {{"writes", writes.size()}, {"error", error.message}});
    for (std::size_t i = 0; i < writes.size(); ++i) {
      if (pending.depends_on_commit[i]) pending.answers[i] = write_error(error, writes[i].style);
    }
  }
  for (std::size_t i = 0; i < writes.size(); ++i) writes[i].reply.send(std::move(pending.answers[i]));
}

Result<void> GroupCommit::log_and_commit(Pending& pending) {
  const Cursor last = pending.head;
  const UnixMs now = clock_.now();
  // Everything that can fail is done before the block is appended, so that COMMIT cannot (HAZARDS 15).
  const auto prepare = [&]() -> Result<changelog::EncodedBlock> {
    LEAT_TRY(changelog::write_applied_cursor(store_.connection(), last));
    LEAT_TRY(store_.connection().flush_cache());
    return changelog::encode_block(pending.transactions, now);
  };
  auto block = prepare();
  if (block.has_error()) {
    rollback();
    return explain(std::move(block).error());
  }

  auto outcome = store_.log().append(*block);
  if (outcome.durability != changelog::Durability::kDurable) {
    rollback();
    if (outcome.durability == changelog::Durability::kAbsent) {
      return make_error(ErrorCode::kLogUnavailable,
                        "the change log could not be written, and nothing was: " + outcome.error.message,
                        RetryScope::kRequest);
    }
    must_recover_ = true;
    return make_error(ErrorCode::kOutcomeUnknown,
                      "the change log could not be synced; whether this write is in it is not known until it has been "
                      "recovered: " +
                          outcome.error.message,
                      RetryScope::kRequest);
  }

  if (auto committed = run_cached("commit"); committed.has_error()) {
    rollback();
    must_recover_ = true;
    return make_error(ErrorCode::kOutcomeUnknown,
                      "this write is in the change log, and will be in the database once it can be written: " +
                          committed.error().message,
                      RetryScope::kRequest);
  }
  store_.set_applied(last);
  const Cursor first = pending.transactions.front().cursor;
  if (sink_) {
    sink_({first, last, now,
           std::make_shared<const std::vector<changelog::Transaction>>(std::move(pending.transactions))});
  }
  return {};
}

Result<void> GroupCommit::recover() {
  rollback();
  executor_.reset();
  capture_.reset();
  auto recovered = store_.log().recover();
  if (!recovered.has_error()) recovered = store_.replay(sink_);
  make_executor();
  if (recovered.has_error()) return recovered;
  LEAT_TRY(store_.connection().execute("pragma foreign_keys = on"));
  must_recover_ = false;
  return {};
}

Result<void> GroupCommit::check_recovered() const {
  if (!must_recover_) return {};
  return make_error(ErrorCode::kUnavailable, "the master is recovering its change log", RetryScope::kRequest);
}

Result<void> GroupCommit::check_disk_reserve() {
  if (options_.disk_reserve_bytes == 0) return {};
  const std::int64_t now_us = clock_.monotonic_us();
  if (reserve_checked_us_ != 0 && now_us - reserve_checked_us_ < reserve_check_interval_us) return {};
  const auto folder = std::filesystem::absolute(store_.options().database_path).parent_path();
  reserve_checked_us_ = 0;
  if (auto space = check_free_space(files_, folder.string(), options_.disk_reserve_bytes); space.has_error()) {
    Error error = std::move(space).error();
    error.message += "; nothing was written: free some space";
    error.retry_scope = RetryScope::kRequest;
    return error;
  }
  reserve_checked_us_ = now_us;
  return {};
}

Result<void> GroupCommit::run_cached(std::string_view sql) {
  LEAT_ASSIGN(auto statement, store_.connection().prepare_cached(sql, sqlite::Access::kInternal));
  return statement->run();
}

void GroupCommit::rollback() {
  if (!store_.connection().in_transaction()) return;
  if (auto done = run_cached("rollback"); done.has_error()) must_recover_ = true;
  capture_->rewind({});
}

}  // namespace leat::master
