// The change log in segment files of one directory. Its format: ops/docs/changelog-format.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "changelog/log.h"
#include "changelog/segment_list.h"
#include "changelog/segment_scan.h"
#include "changelog/segment_spares.h"

namespace leat::changelog {

// Threads as ChangeLog says. The writer's members need no lock; what other threads ask for is atomic or in the list.
class SegmentLog final : public ChangeLog {
 public:
  SegmentLog(SegmentLogOptions options, FileSystem& files, Random& random);

  // Once, before anything else.
  Result<void> open();

  AppendOutcome append(const EncodedBlock& block) override;
  Result<void> append_unsynced(const EncodedBlock& block) override;
  Result<void> sync() override;
  Result<void> recover() override;

  Cursor durable_cursor() const override { return Cursor(durable_.load(std::memory_order_acquire)); }
  Cursor written_cursor() const override { return Cursor(written_.load(std::memory_order_acquire)); }
  Cursor first_cursor() const override { return Cursor(first_.load(std::memory_order_acquire)); }
  UnixMs last_commit_time() const override { return UnixMs{commit_time_.load(std::memory_order_acquire)}; }
  std::uint64_t retained_bytes() const override { return retained_bytes_.load(std::memory_order_acquire); }

  Result<std::unique_ptr<LogReader>> read_after(Cursor after) override;
  Result<void> retain(Cursor floor, std::uint64_t bytes_max) override;
  Result<void> restart_at(Cursor cursor) override;

 private:
  using Segments = SegmentList::Segments;

  // Writes the block's frame at the end, in a new segment when it does not fit. `touched` is set when bytes at the end
  // may have changed although it failed.
  Result<void> write_frame(const EncodedBlock& block, bool& touched);
  Result<void> check_ready();
  Result<void> begin_segment(const SegmentHeader& header, std::uint64_t bytes_min);
  // Overwrites what identifies a frame at `offset` with zeros, so that it is none.
  Result<void> erase_frame(std::uint64_t offset);
  Result<void> rewrite(Segment& segment, std::uint64_t from, std::uint64_t to);
  Result<Segments> load_segments(std::vector<std::string>& outdated);
  Result<SegmentTail> scan_tail(const Segments& segments);
  Result<void> update_first_cursor();
  void stand_at(const Position& end);
  void publish_durable();

  const SegmentLogOptions options_;
  FileSystem& files_;
  Random& random_;
  const std::shared_ptr<SegmentList> segments_ = std::make_shared<SegmentList>();
  SpareSegments spares_;

  std::shared_ptr<Segment> active_;
  Position end_;
  std::uint64_t synced_to_ = segment_frames_offset;  // in the active segment
  enum class State {
    kReady,
    kRollUnconfirmed,  // the next segment may or may not exist: the next append recovers by itself
    kMustRecover,      // until recover() succeeds
  };
  State state_ = State::kMustRecover;
  std::string scratch_;

  std::atomic<std::uint64_t> durable_{0};
  std::atomic<std::uint64_t> written_{0};
  std::atomic<std::uint64_t> first_{0};
  std::atomic<std::int64_t> commit_time_{0};
  std::atomic<std::uint64_t> retained_bytes_{0};
};

}  // namespace leat::changelog
