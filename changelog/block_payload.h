// A block's payload: transactions as Protobuf (changelog.proto). Without compression, header or checksum.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "changelog/record.h"
#include "core/error.h"

namespace leat::changelog {

// Replaces `into` with `room` bytes of any content followed by the payload. Errors: kLimit beyond block_bytes_max.
Result<void> encode_payload(const std::vector<Transaction>& transactions, std::size_t room, std::string& into);

// For any input. Errors: kCorrupt.
Result<std::vector<Transaction>> decode_payload(std::string_view payload, Cursor first, Cursor last);

}  // namespace leat::changelog
