#include "changelog/block.h"

#include <lz4.h>

#include "changelog/block_layout.h"
#include "changelog/block_payload.h"
#include "changelog/limits.h"
#include "core/crc32c.h"

namespace leat::changelog {

namespace layout = block_layout;

namespace {

constexpr std::uint64_t lz4_ratio_max = 255;  // no lz4 block decodes to more than this times its size

Error corrupt(const std::string& what) { return make_error(ErrorCode::kCorrupt, "block: " + what); }

// Checks everything in the header that can be checked without the payload.
Result<BlockHeader> parse_header(std::string_view bytes) {
  const char* at = bytes.data();
  if (load<std::uint32_t>(at + layout::kMagicAt) != layout::kMagic) return corrupt("bad magic");
  if (load<std::uint16_t>(at + layout::kVersionAt) != layout::kVersion) {
    return corrupt("format version " + std::to_string(load<std::uint16_t>(at + layout::kVersionAt)) + " is unknown");
  }
  BlockHeader header;
  header.checksum = load<std::uint32_t>(at + layout::kChecksumAt);
  header.payload_bytes = load<std::uint32_t>(at + layout::kPayloadBytesAt);
  header.raw_bytes = load<std::uint32_t>(at + layout::kRawBytesAt);
  header.first = Cursor(load<std::uint64_t>(at + layout::kFirstAt));
  header.last = Cursor(load<std::uint64_t>(at + layout::kLastAt));
  header.commit_time = UnixMs{load<std::int64_t>(at + layout::kCommitTimeAt)};
  const auto codec = static_cast<std::uint8_t>(at[layout::kCodecAt]);
  if (at[layout::kReservedAt] != 0 || load<std::uint16_t>(at + layout::kReserved2At) != 0) {
    return corrupt("reserved bytes are not zero");
  }
  if (header.raw_bytes > block_bytes_max) return corrupt("payload is larger than the limit");
  switch (codec) {
    case layout::kCodecStored:
      if (header.payload_bytes != header.raw_bytes) return corrupt("sizes disagree");
      break;
    case layout::kCodecLz4:
      if (header.payload_bytes >= header.raw_bytes) return corrupt("sizes disagree");
      if (header.raw_bytes > header.payload_bytes * lz4_ratio_max) return corrupt("impossible compression ratio");
      break;
    default:
      return corrupt("codec " + std::to_string(codec) + " is unknown");
  }
  if (header.first.sequence() == 0 || header.last < header.first || header.first.epoch() != header.last.epoch() ||
      load<std::uint16_t>(at + layout::kEpochAt) != header.first.epoch().value) {
    return corrupt("cursors make no sense");
  }
  return header;
}

}  // namespace

Result<EncodedBlock> EncodedBlock::parse(std::string bytes) {
  if (bytes.size() < layout::kHeaderBytes) return corrupt("shorter than its header");
  LEAT_ASSIGN(const BlockHeader header, parse_header(bytes));
  if (bytes.size() != layout::kHeaderBytes + header.payload_bytes) return corrupt("size disagrees with its header");
  if (crc32c(as_bytes(bytes).subspan(layout::kCheckedFrom)) != header.checksum) return corrupt("bad checksum");
  EncodedBlock block;
  block.header_ = header;
  block.bytes_ = std::move(bytes);
  return block;
}

Result<std::size_t> block_size(std::string_view bytes) {
  if (bytes.size() < layout::kHeaderBytes) return std::size_t{0};
  LEAT_ASSIGN(const BlockHeader header, parse_header(bytes));
  return layout::kHeaderBytes + header.payload_bytes;
}

Result<BlockHeader> read_block_header(std::string_view bytes) {
  if (bytes.size() < layout::kHeaderBytes) return corrupt("shorter than its header");
  return parse_header(bytes);
}

Result<EncodedBlock> encode_block(const std::vector<Transaction>& transactions, UnixMs commit_time) {
  if (transactions.empty()) return make_error(ErrorCode::kInternal, "a block needs a transaction");
  const Cursor first = transactions.front().cursor;
  const Cursor last = transactions.back().cursor;
  for (std::size_t i = 0; i < transactions.size(); ++i) {
    const Cursor expected(first.value() + i);
    if (transactions[i].cursor != expected || expected.epoch() != first.epoch() || first.sequence() == 0) {
      return make_error(ErrorCode::kInternal, "a block's cursors must be consecutive, from 1 on, and of one epoch");
    }
  }
  EncodedBlock block;
  std::string& bytes = block.bytes_;
  LEAT_TRY(encode_payload(transactions, layout::kHeaderBytes, bytes));
  const std::size_t raw_bytes = bytes.size() - layout::kHeaderBytes;
  std::uint8_t codec = layout::kCodecStored;
  if (raw_bytes >= block_compress_bytes_min) {
    std::string compressed;
    compressed.resize(bytes.size() - 1);
    const int size = LZ4_compress_default(bytes.data() + layout::kHeaderBytes, compressed.data() + layout::kHeaderBytes,
                                          static_cast<int>(raw_bytes), static_cast<int>(raw_bytes - 1));
    if (size > 0) {
      codec = layout::kCodecLz4;
      compressed.resize(layout::kHeaderBytes + static_cast<std::size_t>(size));
      bytes = std::move(compressed);
    }
  }
  BlockHeader& header = block.header_;
  header.first = first;
  header.last = last;
  header.commit_time = commit_time;
  header.payload_bytes = static_cast<std::uint32_t>(bytes.size() - layout::kHeaderBytes);
  header.raw_bytes = static_cast<std::uint32_t>(raw_bytes);
  char* at = bytes.data();
  std::memset(at, 0, layout::kHeaderBytes);
  store(at + layout::kMagicAt, layout::kMagic);
  store(at + layout::kVersionAt, layout::kVersion);
  store(at + layout::kCodecAt, codec);
  store(at + layout::kPayloadBytesAt, header.payload_bytes);
  store(at + layout::kFirstAt, first.value());
  store(at + layout::kLastAt, last.value());
  store(at + layout::kCommitTimeAt, commit_time.value);
  store(at + layout::kRawBytesAt, header.raw_bytes);
  store(at + layout::kEpochAt, first.epoch().value);
  header.checksum = crc32c(as_bytes(bytes).subspan(layout::kCheckedFrom));
  store(at + layout::kChecksumAt, header.checksum);
  return block;
}

Result<std::vector<Transaction>> decode_block(const EncodedBlock& block) {
  const BlockHeader& header = block.header();
  std::string_view payload = std::string_view(block.bytes()).substr(layout::kHeaderBytes);
  std::string raw;
  if (static_cast<std::uint8_t>(block.bytes()[layout::kCodecAt]) == layout::kCodecLz4) {
    raw.resize(header.raw_bytes);
    const int size =
        LZ4_decompress_safe(payload.data(), raw.data(), static_cast<int>(payload.size()), static_cast<int>(raw.size()));
    if (size < 0 || static_cast<std::uint32_t>(size) != header.raw_bytes) return corrupt("bad compression");
    payload = raw;
  }
  return decode_payload(payload, header.first, header.last);
}

}  // namespace leat::changelog
