#include "changelog/segment_reader.h"

namespace leat::changelog {

namespace {

Error not_found(Cursor after) {
  return make_error(ErrorCode::kNotFound, "what comes after " + after.to_text() + " is not in the change log");
}

}  // namespace

Result<std::unique_ptr<LogReader>> SegmentReader::open(std::shared_ptr<const SegmentList> segments, Cursor after) {
  auto segment = segments->holding_after(after);
  if (!segment) return not_found(after);
  std::unique_ptr<SegmentReader> reader(new SegmentReader(std::move(segments), std::move(segment)));
  LEAT_TRY(reader->skip_to(after));
  return std::unique_ptr<LogReader>(std::move(reader));
}

Result<void> SegmentReader::skip_to(Cursor after_cursor) {
  const Segment& segment = source_.segment();
  const std::uint64_t limit = segment.durable_end.load(std::memory_order_acquire);
  while (position_.last < after_cursor) {
    LEAT_ASSIGN(const auto frame, source_.next_frame(position_, limit));
    if (!frame) {
      if (position_.offset >= limit) return not_found(after_cursor);
      return segment.corrupt_at(position_.offset, "a damaged block");
    }
    // Then it belongs to a tail that another epoch has replaced.
    if (frame->block.first > after_cursor) return not_found(after_cursor);
    if (frame->block.last > after_cursor) return {};
    position_ = after(position_, *frame);
  }
  return {};
}

Result<std::optional<EncodedBlock>> SegmentReader::next() {
  for (;;) {
    const Segment& segment = source_.segment();
    const bool sealed = segment.sealed.load(std::memory_order_acquire);
    const std::uint64_t limit = segment.durable_end.load(std::memory_order_acquire);
    LEAT_ASSIGN(const auto frame, source_.next_frame(position_, limit));
    if (frame) {
      LEAT_ASSIGN(auto block, source_.block_of(position_, *frame, limit));
      if (!follows(position_.last, frame->block.first)) {
        return segment.corrupt_at(position_.offset, "a hole in the cursors after " + position_.last.to_text());
      }
      position_ = after(position_, *frame);
      return std::optional<EncodedBlock>(std::move(block));
    }
    if (!sealed && position_.offset < limit) return segment.corrupt_at(position_.offset, "a damaged block");
    if (!sealed) return std::optional<EncodedBlock>();
    LEAT_TRY(enter_successor());
  }
}

Result<void> SegmentReader::enter_successor() {
  const Segment& segment = source_.segment();
  auto successor = segments_->successor(segment);
  if (!successor) return not_found(position_.last);
  if (successor->header.previous_chain != position_.chain || successor->header.previous_cursor != position_.last) {
    return segment.corrupt_at(position_.offset, "a damaged block; the next segment goes on after " +
                                                    successor->header.previous_cursor.to_text());
  }
  source_ = FrameSource(std::move(successor));
  position_ = start_of(source_.segment().header);
  return {};
}

}  // namespace leat::changelog
