// How a segment log finds its tail when it is opened, and again after an append of unknown outcome.
#include <algorithm>

#include "changelog/segment_log.h"

namespace leat::changelog {

namespace {

constexpr std::size_t kRewriteBytes = std::size_t{1} << 20;

Result<SegmentHeader> read_header(const File& file, const std::string& path) {
  std::string bytes(segment_header_bytes, '\0');
  LEAT_ASSIGN(const std::size_t got, file.read_at(0, std::as_writable_bytes(std::span(bytes))));
  auto header = parse_segment_header(std::string_view(bytes).substr(0, got));
  if (!header) return make_error(ErrorCode::kCorrupt, path + " at byte 0: " + header.error().message);
  return header;
}

// Generations of the segment files in a directory, ascending.
Result<std::vector<std::uint64_t>> list_generations(const std::string& directory, FileSystem& files) {
  LEAT_ASSIGN(const std::vector<std::string> names, files.list(directory));
  std::vector<std::uint64_t> generations;
  for (const std::string& name : names) {
    if (const auto generation = parse_segment_name(name)) generations.push_back(*generation);
  }
  std::sort(generations.begin(), generations.end());
  return generations;
}

}  // namespace

Result<SegmentLog::Segments> SegmentLog::load_segments(std::vector<std::string>& outdated) {
  LEAT_ASSIGN(const auto generations, list_generations(options_.directory, files_));
  const Segments known = segments_->all();
  Segments segments;
  for (const std::uint64_t generation : generations) {
    const std::string path = options_.directory + "/" + segment_name(generation);
    const auto same = std::find_if(known.begin(), known.end(),
                                   [&](const auto& segment) { return segment->header.generation == generation; });
    auto segment = same != known.end() ? *same : std::make_shared<Segment>();
    if (same == known.end()) {
      segment->path = path;
      LEAT_ASSIGN(segment->file, files_.open(path, FileSystem::Mode::kReadWrite));
      LEAT_ASSIGN(segment->header, read_header(*segment->file, path));
      LEAT_ASSIGN(segment->bytes, segment->file->size());
    }
    if (segment->header.database_id != options_.database_id) {
      return make_error(ErrorCode::kDatabaseMismatch, path + " is of database " +
                                                          segment->header.database_id.to_text() + ", not of " +
                                                          options_.database_id.to_text());
    }
    if (segment->header.generation != generation) return segment->corrupt_at(0, "the name is another segment's");
    if (segment->header.starts_history) {
      for (const auto& earlier : segments) outdated.push_back(earlier->path);
      segments.clear();
    }
    if (!segments.empty()) {
      const SegmentHeader& previous = segments.back()->header;
      if (previous.generation + 1 != generation) {
        return segment->corrupt_at(
            0, "a hole in the change log: " + segment_name(previous.generation + 1) + " is missing before it");
      }
      if (segment->header.previous_cursor < previous.previous_cursor) {
        return segment->corrupt_at(0, "it begins before its predecessor");
      }
    }
    segments.push_back(std::move(segment));
  }
  return segments;
}

Result<SegmentTail> SegmentLog::scan_tail(const Segments& segments) {
  LEAT_ASSIGN(SegmentTail tail, scan_segment(segments.back()));
  if (tail.end.offset == segment_frames_offset && segments.size() > 1) {
    // Nothing has vouched yet for how the one before it ends.
    const auto& previous = segments[segments.size() - 2];
    const SegmentHeader& header = segments.back()->header;
    LEAT_ASSIGN(const SegmentTail end, scan_segment(previous));
    if (end.end.chain != header.previous_chain || end.end.last != header.previous_cursor) {
      return previous->corrupt_at(
          end.end.offset, "a damaged block; the next segment goes on after " + header.previous_cursor.to_text());
    }
  }
  return tail;
}

Result<void> SegmentLog::recover() {
  state_ = State::kMustRecover;
  std::vector<std::string> outdated;
  LEAT_ASSIGN(Segments segments, load_segments(outdated));
  if (segments.empty()) {
    SegmentHeader header;
    header.starts_history = true;
    header.database_id = options_.database_id;
    header.generation = 1;
    LEAT_TRY(begin_segment(header, 0));
    publish_durable();
    return {};
  }
  LEAT_ASSIGN(const SegmentTail tail, scan_tail(segments));
  if (tail.end.last < durable_cursor()) {
    return segments.back()->corrupt_at(tail.end.offset,
                                       "blocks up to " + durable_cursor().to_text() + " were durable and are gone");
  }

  const std::shared_ptr<Segment> last = segments.back();
  active_ = last;
  for (const std::uint64_t offset : tail.left_behind) LEAT_TRY(erase_frame(offset));
  LEAT_TRY(erase_frame(tail.end.offset));
  // The header too: this process may be the first to know that the segment exists.
  LEAT_TRY(rewrite(*last, 0, segment_frames_offset));
  LEAT_TRY(rewrite(*last, tail.rewrite_from, tail.end.offset));
  LEAT_TRY(last->file->sync_data());
  for (const std::string& path : outdated) LEAT_TRY(files_.remove(path));
  LEAT_TRY(files_.sync_directory(options_.directory));

  std::uint64_t bytes = 0;
  const Segments known = segments_->all();
  for (const auto& segment : segments) {
    bytes += segment->bytes;
    if (segment == last || std::find(known.begin(), known.end(), segment) != known.end()) continue;
    // Sealed by an earlier process; its frames end where the next header says.
    segment->durable_end.store(segment->bytes, std::memory_order_relaxed);
  }
  segments_->replace(segments);
  for (const auto& segment : segments) {
    if (segment != last) segment->sealed.store(true, std::memory_order_release);
  }
  retained_bytes_.store(bytes, std::memory_order_release);
  stand_at(tail.end);
  synced_to_ = end_.offset;
  LEAT_TRY(update_first_cursor());
  publish_durable();
  state_ = State::kReady;
  return {};
}

Result<void> SegmentLog::rewrite(Segment& segment, std::uint64_t from, std::uint64_t to) {
  std::string chunk;
  for (std::uint64_t at = from; at < to; at += chunk.size()) {
    chunk.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kRewriteBytes, to - at)));
    LEAT_ASSIGN(const std::size_t got, segment.file->read_at(at, std::as_writable_bytes(std::span(chunk))));
    if (got != chunk.size()) return segment.corrupt_at(at + got, "the file ends here");
    LEAT_TRY(segment.file->write_at(at, std::as_bytes(std::span(chunk))));
  }
  return {};
}

Result<void> SegmentLog::update_first_cursor() {
  Cursor first;
  for (const auto& segment : segments_->all()) {
    FrameSource source(segment);
    LEAT_ASSIGN(const auto frame, source.next_frame(start_of(segment->header), segment->bytes));
    if (!frame) continue;
    first = frame->block.first;
    break;
  }
  first_.store(first.value(), std::memory_order_release);
  return {};
}

Result<std::unique_ptr<ChangeLog>> open_segment_log(SegmentLogOptions options, FileSystem& files, Random& random) {
  auto log = std::make_unique<SegmentLog>(std::move(options), files, random);
  LEAT_TRY(log->open());
  return std::unique_ptr<ChangeLog>(std::move(log));
}

Result<std::optional<DatabaseId>> segment_log_database_id(const std::string& directory, FileSystem& files) {
  LEAT_ASSIGN(const bool exists, files.exists(directory));
  if (!exists) return std::optional<DatabaseId>();
  LEAT_ASSIGN(const auto generations, list_generations(directory, files));
  if (generations.empty()) return std::optional<DatabaseId>();
  const std::string path = directory + "/" + segment_name(generations.back());
  LEAT_ASSIGN(const auto file, files.open(path, FileSystem::Mode::kReadOnly));
  LEAT_ASSIGN(const SegmentHeader header, read_header(*file, path));
  return std::optional<DatabaseId>(header.database_id);
}

}  // namespace leat::changelog
