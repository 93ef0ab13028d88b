// The time seam: code that needs the time is handed a Clock, so a test can move it a month.
#pragma once

#include <atomic>

#include "core/ids.h"

namespace leat {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual UnixMs now() const = 0;                 // may jump, either way
  virtual std::int64_t monotonic_us() const = 0;  // never goes back; the origin has no meaning
};

// The system's clocks. Any thread.
Clock& system_clock();

// A clock that stands still until it is moved. Any thread.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(UnixMs start) : now_ms_(start.value) {}
  UnixMs now() const override { return UnixMs{now_ms_.load()}; }
  std::int64_t monotonic_us() const override { return monotonic_us_.load(); }
  void advance_ms(std::int64_t ms) {
    now_ms_ += ms;
    monotonic_us_ += ms * 1000;
  }

 private:
  std::atomic<std::int64_t> now_ms_;
  std::atomic<std::int64_t> monotonic_us_{0};
};

}  // namespace leat
