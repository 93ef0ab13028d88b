#include "changelog/segment_scan.h"

#include <algorithm>

#include "changelog/block_layout.h"

namespace leat::changelog {

namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

// Calls `visit(offset, frame)` for each frame of this segment that is valid by itself and begins after `from`,
// wherever it begins.
template <class Visit>
Result<void> for_each_frame_beyond(const Segment& segment, std::uint64_t from, Visit visit) {
  std::array<char, 4> magic{};
  store(magic.data(), block_layout::kMagic);
  std::string chunk;
  for (std::uint64_t at = from + 1; at + frame_prefix_bytes <= segment.bytes;) {
    chunk.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kChunkBytes, segment.bytes - at)));
    LEAT_ASSIGN(const std::size_t got, segment.file->read_at(at, std::as_writable_bytes(std::span(chunk))));
    if (got < frame_prefix_bytes) break;
    const std::string_view view = std::string_view(chunk).substr(0, got);
    for (std::size_t found = view.find({magic.data(), magic.size()}, frame_header_bytes);
         found != std::string_view::npos && found - frame_header_bytes + frame_prefix_bytes <= got;
         found = view.find({magic.data(), magic.size()}, found + 1)) {
      const std::size_t begin = found - frame_header_bytes;
      const auto frame = parse_frame(segment.header, segment.bytes, at + begin, view.substr(begin));
      if (frame) LEAT_TRY(visit(at + begin, *frame));
    }
    at += got - frame_prefix_bytes + 1;
  }
  return {};
}

}  // namespace

Result<SegmentTail> scan_segment(const std::shared_ptr<const Segment>& segment) {
  FrameSource source(segment);
  SegmentTail tail;
  tail.end = start_of(segment->header);
  tail.rewrite_from = tail.end.offset;
  for (;;) {
    LEAT_ASSIGN(const auto frame, source.next_frame(tail.end, segment->bytes));
    if (!frame) break;
    const auto block = source.block_of(tail.end, *frame, segment->bytes);
    if (!block && block.error().code != ErrorCode::kCorrupt) return block.error();
    if (!block) break;
    if (!follows(tail.end.last, frame->block.first)) {
      return segment->corrupt_at(tail.end.offset, "a hole in the cursors: " + frame->block.first.to_text() +
                                                      " comes after " + tail.end.last.to_text());
    }
    tail.rewrite_from = frame->synced_to;
    tail.end = after(tail.end, *frame);
  }
  LEAT_TRY(
      for_each_frame_beyond(*segment, tail.end.offset, [&](std::uint64_t offset, const Frame& frame) -> Result<void> {
        if (frame.synced_to > tail.end.offset) {
          return segment->corrupt_at(tail.end.offset, "a damaged block; a later one, at byte " +
                                                          std::to_string(offset) +
                                                          ", was written when this one was durable");
        }
        tail.left_behind.push_back(offset);
        return {};
      }));
  tail.rewrite_from = std::clamp(tail.rewrite_from, segment_frames_offset, tail.end.offset);
  return tail;
}

}  // namespace leat::changelog
