// Finds where a segment's frames end, and tells a torn tail from damage. Reads only.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "changelog/segment.h"

namespace leat::changelog {

struct SegmentTail {
  Position end;                            // after the last whole frame
  std::uint64_t rewrite_from = 0;          // from here to the end nothing proves that the bytes are durable (HAZARDS 2)
  std::vector<std::uint64_t> left_behind;  // frames of this segment beyond the end, never synced: to be cut as well
};

// Walks the whole segment, checking every block. The first frame that is not whole is a torn tail, unless a later
// frame says that it was durable by then. Errors: kCorrupt naming file and offset, kIo.
Result<SegmentTail> scan_segment(const std::shared_ptr<const Segment>& segment);

}  // namespace leat::changelog
