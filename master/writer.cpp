#include "master/writer.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "core/log.h"
#include "master/ledgers.h"
#include "master/limits.h"

namespace leat::master {

namespace {

constexpr auto recover_interval = std::chrono::milliseconds(250);
constexpr auto idle_interval = std::chrono::milliseconds(500);

// The reply of a write that the master itself asked for.
class InternalReply final : public HttpReply::Sink {
 public:
  void send(HttpResponse response) override {
    if (response.status == 200) return;
    problem_ = std::move(response.body);
    leat::log().warn("an internal write was not made", {{"answer", problem_}});
  }
  const std::string& problem() const { return problem_; }  // once it is answered

 private:
  std::string problem_;
};

Write internal_write(Body body, std::shared_ptr<InternalReply> reply) {
  return Write{changelog::Origin::kLedger, "", {}, std::move(body), AnswerStyle::kControl, 0,
               HttpReply(std::move(reply))};
}

}  // namespace

Writer::Writer(WriterOptions options, FileSystem& files, Clock& clock, BlockSink sink)
    : options_(std::move(options)),
      files_(files),
      clock_(clock),
      follower_floor_(std::numeric_limits<std::uint64_t>::max()) {
  sink_ = [this, out = std::move(sink)](const changelog::AppliedBlock& block) {
    committed_.store(block.last.value(), std::memory_order_release);
    if (out) out(block);
  };
}

Result<std::unique_ptr<Writer>> Writer::start(WriterOptions options, FileSystem& files, Clock& clock, Random& random,
                                              BlockSink sink) {
  std::unique_ptr<Writer> writer(new Writer(std::move(options), files, clock, std::move(sink)));
  LEAT_ASSIGN(writer->store_, Store::open(writer->options_.store, files, random));
  // What is replayed here was committed before this process began; its readers start from the database, not from a
  // feed.
  LEAT_TRY(writer->store_->replay({}));
  writer->committed_ = writer->store_->applied().value();
  changelog::Checkpointer::Hooks hooks;
  hooks.moved_everything = [self = writer.get()](Cursor floor) { self->checkpointed_ = floor.value(); };
  LEAT_ASSIGN(writer->checkpointer_,
              changelog::Checkpointer::start(writer->store_->options().database_path, std::move(hooks)));
  changelog::report_wal_pages(writer->store_->connection(), *writer->checkpointer_);
  writer->wal_restarter_.emplace(writer->store_->connection(), *writer->checkpointer_, clock);
  writer->group_commit_ =
      std::make_unique<GroupCommit>(*writer->store_, writer->options_.group, files, clock, writer->sink_);
  std::vector<Write> schema;
  const auto made = std::make_shared<InternalReply>();
  schema.push_back(internal_write(SystemSchemaBody{}, made));
  writer->group_commit_->commit(schema);
  if (!made->problem().empty()) {
    return make_error(ErrorCode::kLogUnavailable, "the system tables could not be made: " + made->problem());
  }
  writer->count_producers();
  writer->serving_ = true;
  writer->thread_ = std::thread([self = writer.get()] { self->run(); });
  return writer;
}

Writer::~Writer() {
  stop();
  group_commit_.reset();
  store_.reset();
}

void Writer::submit(Write write) {
  Error refusal;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) {
      refusal = make_error(ErrorCode::kUnavailable, "the master is stopping", RetryScope::kRequest);
    } else if (queue_.size() >= queue_writes_max || queued_bytes_ + write.request_bytes > queue_bytes_max) {
      refusal = make_error(ErrorCode::kQueueFull, "the writer's queue is full", RetryScope::kRequest);
    } else {
      queued_bytes_ += write.request_bytes;
      queue_.push_back(std::move(write));
      if (queue_.size() == 1) wake_.notify_one();
      return;
    }
  }
  write.reply.send(write_error(refusal, write.style));
}

void Writer::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

std::size_t Writer::queued() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

std::vector<Write> Writer::take_group() {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, is_serving() ? idle_interval : recover_interval, [&] { return stopping_ || !queue_.empty(); });
  std::vector<Write> group;
  const std::size_t count = std::min(queue_.size(), group_writes_max);
  group.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    queued_bytes_ -= queue_.front().request_bytes;
    group.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return group;
}

void Writer::run() {
  while (true) {
    std::vector<Write> group = take_group();
    if (group.empty()) {
      const std::lock_guard lock(mutex_);
      if (stopping_ && queue_.empty()) break;
    } else {
      counts_.groups.fetch_add(1, std::memory_order_relaxed);
      counts_.writes.fetch_add(group.size(), std::memory_order_relaxed);
      const bool healthy = group_commit_->commit(group);
      serving_.store(healthy, std::memory_order_release);
    }
    if (is_serving()) {
      keep_house();
    } else {
      try_to_recover();
    }
  }
  serving_ = false;
}

void Writer::try_to_recover() {
  auto recovered = group_commit_->recover();
  if (recovered.has_error()) {
    leat::log().error("the change log cannot be recovered yet; writes are refused until it is",
                      {{"error", recovered.error().message}});
    // Writes that arrive meanwhile are answered by the next turn; this one waits for the disk.
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, recover_interval, [&] { return stopping_; });
    return;
  }
  leat::log().warn("the change log is recovered", {{"cursor", store_->applied().to_text()}});
  committed_.store(store_->applied().value(), std::memory_order_release);
  serving_ = true;
}

void Writer::keep_house() {
  const std::int64_t now_us = clock_.monotonic_us();
  wal_restarter_->restart_if_long();
  if (swept_us_ == 0) swept_us_ = now_us;
  if (now_us - swept_us_ < sweep_interval_ms * 1000) return;
  swept_us_ = now_us;
  submit_sweep();
  count_producers();
  if (options_.log_retention_bytes == 0) return;
  const Cursor floor(std::min(checkpointed_.load(), follower_floor_.load()));
  if (auto retained = store_->log().retain(floor, options_.log_retention_bytes); retained.has_error()) {
    leat::log().warn("old segments could not be recycled", {{"error", retained.error().message}});
  }
}

void Writer::submit_sweep() { submit(internal_write(SweepBody{}, std::make_shared<InternalReply>())); }

void Writer::count_producers() {
  Ledgers ledgers(store_->connection());
  if (const auto count = ledgers.producer_count(); !count.has_error()) counts_.producers = *count;
}

}  // namespace leat::master
