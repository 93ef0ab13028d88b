// A block: the unit of the log, one group commit. The bytes on disk are the bytes on the wire.
// Byte layout: ops/docs/changelog-format.md.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "changelog/record.h"
#include "core/error.h"
#include "core/ids.h"

namespace leat::changelog {

struct BlockHeader {
  Cursor first;
  Cursor last;  // last.sequence() - first.sequence() + 1 transactions; one epoch
  UnixMs commit_time;
  std::uint32_t payload_bytes = 0;  // as stored
  std::uint32_t raw_bytes = 0;      // decoded Protobuf payload
  std::uint32_t checksum = 0;       // crc32c over the rest of the header and the payload
};

// A block as bytes: header and payload, checked.
class EncodedBlock {
 public:
  // Checks magic, sizes and checksum. Errors: kCorrupt.
  static Result<EncodedBlock> parse(std::string bytes);
  const BlockHeader& header() const { return header_; }
  const std::string& bytes() const { return bytes_; }

 private:
  friend Result<EncodedBlock> encode_block(const std::vector<Transaction>&, UnixMs);
  BlockHeader header_;
  std::string bytes_;
};

// Transactions must be non-empty, their cursors consecutive and of one epoch. The payload is lz4-compressed when that
// is smaller. Errors: kLimit beyond block_bytes_max.
Result<EncodedBlock> encode_block(const std::vector<Transaction>& transactions, UnixMs commit_time);
// Errors: kCorrupt (bad compression, bad Protobuf, cursors that disagree with the header).
Result<std::vector<Transaction>> decode_block(const EncodedBlock& block);

// How many bytes at the start of `bytes` the next whole block takes, by its header; 0 if `bytes` holds less than a
// header. For splitting a stream of blocks. Errors: kCorrupt for a bad magic or size.
Result<std::size_t> block_size(std::string_view bytes);
// The header at the start of `bytes`, without a look at the payload. Errors: kCorrupt.
Result<BlockHeader> read_block_header(std::string_view bytes);

// A block that has been committed on this server: what readers, live queries and shippers are fed.
struct AppliedBlock {
  Cursor first;
  Cursor last;
  UnixMs commit_time;
  std::shared_ptr<const std::vector<Transaction>> transactions;
};

}  // namespace leat::changelog
