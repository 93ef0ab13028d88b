// One open segment file and what is known about it, shared by the writer and the readers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "changelog/segment_layout.h"
#include "core/error.h"
#include "core/file.h"

namespace leat::changelog {

// The writer writes the file beyond `durable_end`; any thread reads before it.
struct Segment {
  std::string path;
  std::unique_ptr<File> file;
  SegmentHeader header;
  std::uint64_t bytes = 0;
  // Frames before this offset may be read. Of a segment found sealed on disk: the file's size, and its frames end
  // where the next segment's header says.
  std::atomic<std::uint64_t> durable_end{segment_frames_offset};
  // No more frames will come. Set after the last change of `durable_end` and after the next segment is listed.
  std::atomic<bool> sealed{false};

  Error corrupt_at(std::uint64_t offset, const std::string& what) const {
    return make_error(ErrorCode::kCorrupt, path + " at byte " + std::to_string(offset) + ": " + what);
  }
};

// Where a walk along the frames stands.
struct Position {
  std::uint64_t offset = segment_frames_offset;
  std::uint32_t chain = 0;
  Cursor last;
  UnixMs commit_time;
};
Position start_of(const SegmentHeader& header);
Position after(const Position& position, const Frame& frame);

// Reads frames of one segment through a buffer. One thread.
class FrameSource {
 public:
  explicit FrameSource(std::shared_ptr<const Segment> segment) : segment_(std::move(segment)) {}
  const Segment& segment() const { return *segment_; }
  const std::shared_ptr<const Segment>& shared() const { return segment_; }

  // The frame at `position` if it ends before `limit` and goes on from there in chain and cursor; its payload is not
  // checked. Errors: kIo.
  Result<std::optional<Frame>> next_frame(const Position& position, std::uint64_t limit);
  // The frame's block, checked. Errors: kIo, kCorrupt.
  Result<EncodedBlock> block_of(const Position& position, const Frame& frame, std::uint64_t limit);

 private:
  // Bytes from `offset` on, at least `count` unless `limit` comes first; valid until the next call.
  Result<std::string_view> bytes_at(std::uint64_t offset, std::size_t count, std::uint64_t limit);

  std::shared_ptr<const Segment> segment_;
  std::string buffer_;
  std::uint64_t buffer_offset_ = 0;
};

}  // namespace leat::changelog
