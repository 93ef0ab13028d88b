// A segment file's header and the frames around its blocks, as bytes (ops/docs/changelog-format.md). Pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "changelog/block.h"
#include "core/ids.h"

namespace leat::changelog {

// Frames begin here; the header has the first page for itself, so that no append rewrites it.
inline constexpr std::uint64_t segment_frames_offset = 4096;
inline constexpr std::size_t segment_header_bytes = 72;
inline constexpr std::size_t frame_header_bytes = 24;
// A frame's header and its block's: what identifies a block.
inline constexpr std::size_t frame_prefix_bytes = frame_header_bytes + 48;

struct SegmentHeader {
  bool starts_history = false;  // nothing in earlier segments counts any more
  DatabaseId database_id;
  std::uint64_t generation = 0;  // the segment's place in the log, from 1 on, one more than its predecessor's
  std::uint64_t salt = 0;        // random: what was written for another segment is never taken for this one's
  Cursor previous_cursor;        // of the last block before this segment
  UnixMs previous_commit_time;
  std::uint32_t previous_chain = 0;
};

// One page, the rest of it zero.
std::string encode_segment_header(const SegmentHeader& header);
// Errors: kCorrupt, without file or offset.
Result<SegmentHeader> parse_segment_header(std::string_view bytes);

struct Frame {
  std::uint32_t block_bytes = 0;
  std::uint32_t previous_chain = 0;
  std::uint64_t synced_to = 0;  // everything before this offset was durable when the frame was written
  std::uint32_t chain = 0;
  BlockHeader block;
  std::uint64_t bytes() const { return frame_header_bytes + block_bytes; }
};

// Writes frame_header_bytes to `into`; fills in the frame's chain.
void encode_frame(const SegmentHeader& segment, std::uint64_t offset, Frame& frame, char* into);
// The frame at `offset` of a segment of `segment_bytes`, given at least frame_prefix_bytes from there on; empty unless
// it was written for this segment and this offset. The block's payload is not looked at.
std::optional<Frame> parse_frame(const SegmentHeader& segment, std::uint64_t segment_bytes, std::uint64_t offset,
                                 std::string_view prefix);

// The cursors of consecutive blocks: the next number, or a greater epoch.
bool follows(Cursor previous, Cursor first);

std::string segment_name(std::uint64_t generation);
std::optional<std::uint64_t> parse_segment_name(std::string_view name);

}  // namespace leat::changelog
