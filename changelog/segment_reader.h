// Reads a segment log's blocks while it grows.
#pragma once

#include <memory>

#include "changelog/log.h"
#include "changelog/segment_list.h"

namespace leat::changelog {

// Holds the segment it stands in: its file is not reused under it, and stays readable when retention removes it.
class SegmentReader final : public LogReader {
 public:
  // Errors: kNotFound when what comes after `after` is not (or no longer) in the log; kCorrupt, kIo.
  static Result<std::unique_ptr<LogReader>> open(std::shared_ptr<const SegmentList> segments, Cursor after);

  Result<std::optional<EncodedBlock>> next() override;

 private:
  SegmentReader(std::shared_ptr<const SegmentList> segments, std::shared_ptr<const Segment> segment)
      : segments_(std::move(segments)), source_(std::move(segment)), position_(start_of(source_.segment().header)) {}
  // Goes forward to the block that holds what comes after `after`.
  Result<void> skip_to(Cursor after);
  Result<void> enter_successor();

  std::shared_ptr<const SegmentList> segments_;
  FrameSource source_;
  Position position_;
};

}  // namespace leat::changelog
