#include "changelog/segment_log.h"

#include <algorithm>
#include <array>

#include "changelog/limits.h"
#include "changelog/segment_reader.h"

namespace leat::changelog {

namespace {

Error recovery_needed() {
  return make_error(ErrorCode::kUnavailable, "the change log takes nothing before it has been recovered",
                    RetryScope::kRequest);
}

}  // namespace

SegmentLog::SegmentLog(SegmentLogOptions options, FileSystem& files, Random& random)
    : options_([&] {
        options.segment_bytes = std::max(options.segment_bytes, segment_bytes_min + segment_frames_offset);
        return std::move(options);
      }()),
      files_(files),
      random_(random),
      spares_(options_.directory, options_.segment_bytes, files) {}

Result<void> SegmentLog::open() {
  LEAT_TRY(files_.create_directories(options_.directory));
  // Everything that could refuse the log is looked at before anything is changed, the spare files included.
  std::vector<std::string> outdated;
  LEAT_ASSIGN(const Segments segments, load_segments(outdated));
  if (!segments.empty()) LEAT_TRY(scan_tail(segments));
  LEAT_TRY(spares_.start());
  return recover();
}

AppendOutcome SegmentLog::append(const EncodedBlock& block) {
  if (const auto ready = check_ready(); !ready) return {Durability::kAbsent, ready.error()};
  const std::uint64_t first_before = first_.load(std::memory_order_relaxed);
  const bool others_unsynced = synced_to_ != end_.offset;
  const Position before = end_;
  const std::shared_ptr<Segment> segment_before = active_;
  bool touched = false;
  Result<void> outcome = write_frame(block, touched);
  const bool written = outcome.has_value();
  if (written) {
    outcome = active_->file->sync_data();
    if (outcome) {
      synced_to_ = end_.offset;
      publish_durable();
      return {};
    }
  }
  if (!touched && !written) return {Durability::kAbsent, outcome.error()};
  const Position cut_to = active_ == segment_before ? before : start_of(active_->header);
  stand_at(cut_to);
  first_.store(first_before, std::memory_order_release);
  // After a failed sync of several blocks one that was meant to stay may be lost.
  const bool neighbours_safe = !(written && others_unsynced && active_ == segment_before);
  if (neighbours_safe && erase_frame(end_.offset) && active_->file->sync_data()) {
    synced_to_ = end_.offset;
    publish_durable();
    return {Durability::kAbsent, outcome.error()};
  }
  state_ = State::kMustRecover;
  return {Durability::kUnknown, outcome.error()};
}

Result<void> SegmentLog::check_ready() {
  if (state_ == State::kReady) return {};
  if (state_ == State::kMustRecover) return recovery_needed();
  auto recovered = recover();
  if (!recovered) state_ = State::kRollUnconfirmed;
  return recovered;
}

Result<void> SegmentLog::append_unsynced(const EncodedBlock& block) {
  LEAT_TRY(check_ready());
  bool touched = false;
  auto outcome = write_frame(block, touched);
  if (!outcome && touched && !erase_frame(end_.offset)) state_ = State::kMustRecover;
  return outcome;
}

Result<void> SegmentLog::sync() {
  LEAT_TRY(check_ready());
  if (synced_to_ == end_.offset) return {};
  if (auto synced = active_->file->sync_data(); !synced) {
    state_ = State::kMustRecover;
    return synced;
  }
  synced_to_ = end_.offset;
  publish_durable();
  return {};
}

Result<void> SegmentLog::write_frame(const EncodedBlock& block, bool& touched) {
  const BlockHeader& header = block.header();
  if (!follows(end_.last, header.first)) {
    return make_error(ErrorCode::kInternal, "block " + header.first.to_text() + " does not follow " +
                                                end_.last.to_text() + " in the change log");
  }
  Frame frame;
  frame.block_bytes = static_cast<std::uint32_t>(block.bytes().size());
  frame.block = header;
  if (end_.offset + frame.bytes() > active_->bytes) {
    LEAT_TRY(sync());
    SegmentHeader next;
    next.database_id = options_.database_id;
    next.generation = active_->header.generation + 1;
    next.previous_cursor = end_.last;
    next.previous_commit_time = end_.commit_time;
    next.previous_chain = end_.chain;
    LEAT_TRY(begin_segment(next, segment_frames_offset + frame.bytes()));
  }
  frame.previous_chain = end_.chain;
  frame.synced_to = synced_to_;
  scratch_.resize(frame_header_bytes);
  encode_frame(active_->header, end_.offset, frame, scratch_.data());
  scratch_ += block.bytes();
  touched = true;
  LEAT_TRY(active_->file->write_at(end_.offset, std::as_bytes(std::span(scratch_))));
  const bool is_first = first_.load(std::memory_order_relaxed) == 0;
  stand_at(after(end_, frame));
  if (is_first) first_.store(header.first.value(), std::memory_order_release);
  return {};
}

Result<void> SegmentLog::begin_segment(const SegmentHeader& header, std::uint64_t bytes_min) {
  LEAT_ASSIGN(SpareSegment spare, spares_.take(bytes_min));
  auto segment = std::make_shared<Segment>();
  segment->header = header;
  std::array<std::uint8_t, 8> salt{};
  random_.fill(salt);
  std::copy(salt.begin(), salt.end(), reinterpret_cast<std::uint8_t*>(&segment->header.salt));
  segment->path = options_.directory + "/" + segment_name(header.generation);
  const std::string header_bytes = encode_segment_header(segment->header);
  const auto prepare = [&]() -> Result<void> {
    LEAT_ASSIGN(segment->bytes, spare.file->size());
    LEAT_TRY(spare.file->write_at(0, std::as_bytes(std::span(header_bytes))));
    return spare.file->sync_data();
  };
  if (auto prepared = prepare(); !prepared) {
    (void)files_.remove(spare.path);  // else the next start adopts it as a spare again
    return prepared;
  }
  // From the rename on the segment is part of the log, whatever this call's outcome: if the outcome is not known, the
  // previous segment must not grow.
  state_ = State::kRollUnconfirmed;
  LEAT_TRY(files_.rename(spare.path, segment->path));
  LEAT_TRY(files_.sync_directory(options_.directory));
  state_ = State::kReady;
  segment->file = std::move(spare.file);
  segments_->push_back(segment);
  if (active_) active_->sealed.store(true, std::memory_order_release);
  active_ = segment;
  retained_bytes_.fetch_add(segment->bytes, std::memory_order_relaxed);
  synced_to_ = segment_frames_offset;
  stand_at(start_of(segment->header));
  return {};
}

Result<void> SegmentLog::erase_frame(std::uint64_t offset) {
  const std::array<std::byte, frame_prefix_bytes> zeros{};
  const std::uint64_t room = active_->bytes > offset ? active_->bytes - offset : 0;
  return active_->file->write_at(offset, Bytes(zeros).first(std::min<std::uint64_t>(zeros.size(), room)));
}

void SegmentLog::stand_at(const Position& end) {
  end_ = end;
  written_.store(end.last.value(), std::memory_order_release);
}

void SegmentLog::publish_durable() {
  active_->durable_end.store(end_.offset, std::memory_order_release);
  commit_time_.store(end_.commit_time.value, std::memory_order_release);
  durable_.store(end_.last.value(), std::memory_order_release);
}

Result<std::unique_ptr<LogReader>> SegmentLog::read_after(Cursor after_cursor) {
  return SegmentReader::open(segments_, after_cursor);
}

Result<void> SegmentLog::retain(Cursor floor, std::uint64_t bytes_max) {
  LEAT_TRY(check_ready());
  bool removed = false;
  for (;;) {
    const Segments segments = segments_->all();
    if (segments.size() < 2 || retained_bytes() <= bytes_max || segments[1]->header.previous_cursor > floor) break;
    // The list gives no new reader a segment that it no longer holds: a count of two (`segments` and `segment`) means
    // that there is none.
    const std::shared_ptr<Segment> segment = segments_->pop_front();
    retained_bytes_.fetch_sub(segment->bytes, std::memory_order_relaxed);
    removed = true;
    if (segment.use_count() == 2) {
      LEAT_TRY(spares_.recycle(segment->path, segment->bytes));
    } else {
      LEAT_TRY(files_.remove(segment->path));
    }
  }
  if (!removed) return {};
  LEAT_TRY(update_first_cursor());
  return files_.sync_directory(options_.directory);
}

Result<void> SegmentLog::restart_at(Cursor cursor) {
  LEAT_TRY(check_ready());
  const Segments outdated = segments_->all();
  SegmentHeader header;
  header.starts_history = true;
  header.database_id = options_.database_id;
  header.generation = active_->header.generation + 1;
  header.previous_cursor = cursor;
  LEAT_TRY(begin_segment(header, 0));
  segments_->replace({active_});
  retained_bytes_.store(active_->bytes, std::memory_order_release);
  first_.store(0, std::memory_order_release);
  publish_durable();
  for (const auto& segment : outdated) LEAT_TRY(files_.remove(segment->path));
  return files_.sync_directory(options_.directory);
}

}  // namespace leat::changelog
