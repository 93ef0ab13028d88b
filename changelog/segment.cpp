#include "changelog/segment.h"

#include <algorithm>

namespace leat::changelog {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} << 10;

}  // namespace

Position start_of(const SegmentHeader& header) {
  return {segment_frames_offset, header.previous_chain, header.previous_cursor, header.previous_commit_time};
}

Position after(const Position& position, const Frame& frame) {
  return {position.offset + frame.bytes(), frame.chain, frame.block.last, frame.block.commit_time};
}

Result<std::string_view> FrameSource::bytes_at(std::uint64_t offset, std::size_t count, std::uint64_t limit) {
  const std::uint64_t available = limit > offset ? limit - offset : 0;
  count = static_cast<std::size_t>(std::min<std::uint64_t>(count, available));
  if (offset < buffer_offset_ || offset + count > buffer_offset_ + buffer_.size()) {
    buffer_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(std::max(count, kBufferBytes), available)));
    buffer_offset_ = offset;
    const auto got = segment_->file->read_at(offset, std::as_writable_bytes(std::span(buffer_)));
    if (!got) {
      buffer_.clear();
      return got.error();
    }
    buffer_.resize(*got);
  }
  return std::string_view(buffer_).substr(static_cast<std::size_t>(offset - buffer_offset_), count);
}

Result<std::optional<Frame>> FrameSource::next_frame(const Position& position, std::uint64_t limit) {
  LEAT_ASSIGN(const std::string_view prefix, bytes_at(position.offset, frame_prefix_bytes, limit));
  auto frame = parse_frame(segment_->header, limit, position.offset, prefix);
  if (!frame || frame->previous_chain != position.chain) return std::optional<Frame>();
  return frame;
}

Result<EncodedBlock> FrameSource::block_of(const Position& position, const Frame& frame, std::uint64_t limit) {
  LEAT_ASSIGN(const std::string_view bytes, bytes_at(position.offset + frame_header_bytes, frame.block_bytes, limit));
  auto block = EncodedBlock::parse(std::string(bytes));
  if (!block) return segment_->corrupt_at(position.offset, block.error().message);
  return block;
}

}  // namespace leat::changelog
