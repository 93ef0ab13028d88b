#include "changelog/segment_layout.h"

#include <algorithm>

#include "changelog/block_layout.h"
#include "core/crc32c.h"

namespace leat::changelog {

static_assert(frame_prefix_bytes == frame_header_bytes + block_layout::kHeaderBytes);

namespace {

constexpr std::uint32_t kMagic = 0x4745534c;  // "LSEG"
constexpr std::uint16_t kVersion = 1;
constexpr std::uint16_t kFlagStartsHistory = 1;
constexpr std::size_t kCheckedFrom = 8;
constexpr std::string_view kNamePrefix = "segment-";
constexpr std::string_view kNameSuffix = ".log";

std::uint32_t chain_of(const SegmentHeader& segment, std::uint64_t offset, const Frame& frame) {
  std::array<char, 44> input{};
  store(input.data(), segment.generation);
  store(input.data() + 8, segment.salt);
  store(input.data() + 16, offset);
  store(input.data() + 24, frame.synced_to);
  store(input.data() + 32, frame.block_bytes);
  store(input.data() + 36, frame.previous_chain);
  store(input.data() + 40, frame.block.checksum);
  return crc32c(as_bytes({input.data(), input.size()}));
}

}  // namespace

std::string encode_segment_header(const SegmentHeader& header) {
  std::string bytes(segment_frames_offset, '\0');
  char* at = bytes.data();
  store(at, kMagic);
  store(at + 8, kVersion);
  store<std::uint16_t>(at + 10, header.starts_history ? kFlagStartsHistory : 0);
  std::memcpy(at + 16, header.database_id.bytes().data(), 16);
  store(at + 32, header.generation);
  store(at + 40, header.salt);
  store(at + 48, header.previous_cursor.value());
  store(at + 56, header.previous_commit_time.value);
  store(at + 64, header.previous_chain);
  store(at + 4, crc32c(as_bytes(bytes).subspan(kCheckedFrom, segment_header_bytes - kCheckedFrom)));
  return bytes;
}

Result<SegmentHeader> parse_segment_header(std::string_view bytes) {
  if (bytes.size() < segment_header_bytes) return make_error(ErrorCode::kCorrupt, "segment header is cut short");
  const char* at = bytes.data();
  if (load<std::uint32_t>(at) != kMagic) return make_error(ErrorCode::kCorrupt, "segment header has a bad magic");
  if (load<std::uint32_t>(at + 4) !=
      crc32c(as_bytes(bytes).subspan(kCheckedFrom, segment_header_bytes - kCheckedFrom))) {
    return make_error(ErrorCode::kCorrupt, "segment header has a bad checksum");
  }
  if (load<std::uint16_t>(at + 8) != kVersion) {
    return make_error(ErrorCode::kCorrupt, "segment format version is unknown");
  }
  SegmentHeader header;
  header.starts_history = (load<std::uint16_t>(at + 10) & kFlagStartsHistory) != 0;
  DatabaseId::Bytes id{};
  std::memcpy(id.data(), at + 16, id.size());
  header.database_id = DatabaseId(id);
  header.generation = load<std::uint64_t>(at + 32);
  header.salt = load<std::uint64_t>(at + 40);
  header.previous_cursor = Cursor(load<std::uint64_t>(at + 48));
  header.previous_commit_time = UnixMs{load<std::int64_t>(at + 56)};
  header.previous_chain = load<std::uint32_t>(at + 64);
  return header;
}

void encode_frame(const SegmentHeader& segment, std::uint64_t offset, Frame& frame, char* into) {
  frame.chain = chain_of(segment, offset, frame);
  store(into, frame.block_bytes);
  store(into + 4, frame.previous_chain);
  store(into + 8, frame.synced_to);
  store(into + 16, frame.chain);
  store<std::uint32_t>(into + 20, 0);
}

std::optional<Frame> parse_frame(const SegmentHeader& segment, std::uint64_t segment_bytes, std::uint64_t offset,
                                 std::string_view prefix) {
  if (prefix.size() < frame_prefix_bytes) return std::nullopt;
  const char* at = prefix.data();
  Frame frame;
  frame.block_bytes = load<std::uint32_t>(at);
  frame.previous_chain = load<std::uint32_t>(at + 4);
  frame.synced_to = load<std::uint64_t>(at + 8);
  frame.chain = load<std::uint32_t>(at + 16);
  if (frame.block_bytes < block_layout::kHeaderBytes || load<std::uint32_t>(at + 20) != 0) return std::nullopt;
  if (offset + frame.bytes() > segment_bytes) return std::nullopt;
  auto block = read_block_header(prefix.substr(frame_header_bytes));
  if (!block) return std::nullopt;
  frame.block = *block;
  if (frame.block_bytes != block_layout::kHeaderBytes + frame.block.payload_bytes) return std::nullopt;
  if (chain_of(segment, offset, frame) != frame.chain) return std::nullopt;
  return frame;
}

bool follows(Cursor previous, Cursor first) { return first == previous.next() || first.epoch() > previous.epoch(); }

std::string segment_name(std::uint64_t generation) {
  // The cursor's text form ends in 16 hexadecimal digits of a number.
  return std::string(kNamePrefix) + Cursor(generation).to_text().substr(2) + std::string(kNameSuffix);
}

std::optional<std::uint64_t> parse_segment_name(std::string_view name) {
  if (!name.starts_with(kNamePrefix) || !name.ends_with(kNameSuffix)) return std::nullopt;
  name.remove_prefix(kNamePrefix.size());
  name.remove_suffix(kNameSuffix.size());
  const auto number = Cursor::parse("w:" + std::string(name));
  if (!number) return std::nullopt;
  return number->value();
}

}  // namespace leat::changelog
