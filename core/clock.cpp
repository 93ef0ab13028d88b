#include "core/clock.h"

#include <chrono>

namespace leat {

namespace {

class SystemClock final : public Clock {
 public:
  UnixMs now() const override {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return UnixMs{std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
  }
  std::int64_t monotonic_us() const override {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
  }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

}  // namespace leat
