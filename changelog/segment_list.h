// The segments of one log, oldest first, as the writer and the readers share them.
#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include "changelog/segment.h"

namespace leat::changelog {

// Any thread.
class SegmentList {
 public:
  using Segments = std::deque<std::shared_ptr<Segment>>;

  // The segment that holds what comes after `cursor`; null when it is not there any more.
  std::shared_ptr<Segment> holding_after(Cursor cursor) const {
    const std::scoped_lock lock(mutex_);
    for (auto at = segments_.rbegin(); at != segments_.rend(); ++at) {
      if ((*at)->header.previous_cursor <= cursor) return *at;
    }
    return nullptr;
  }
  // Null when it is not there any more, or the log has been started again since.
  std::shared_ptr<Segment> successor(const Segment& segment) const {
    const std::scoped_lock lock(mutex_);
    for (const auto& candidate : segments_) {
      if (candidate->header.generation != segment.header.generation + 1) continue;
      return candidate->header.starts_history ? nullptr : candidate;
    }
    return nullptr;
  }
  Segments all() const {
    const std::scoped_lock lock(mutex_);
    return segments_;
  }
  void replace(Segments segments) {
    const std::scoped_lock lock(mutex_);
    segments_.swap(segments);
  }
  void push_back(std::shared_ptr<Segment> segment) {
    const std::scoped_lock lock(mutex_);
    segments_.push_back(std::move(segment));
  }
  std::shared_ptr<Segment> pop_front() {
    const std::scoped_lock lock(mutex_);
    auto front = std::move(segments_.front());
    segments_.pop_front();
    return front;
  }

 private:
  mutable std::mutex mutex_;
  Segments segments_;
};

}  // namespace leat::changelog
