// CRC-32C (Castagnoli), the checksum of everything the change log keeps.
#pragma once

#include <cstdint>

#include "core/file.h"

namespace leat {

// The checksum of `bytes`; given the checksum of what comes before them as `previous`, that of both together.
std::uint32_t crc32c(Bytes bytes, std::uint32_t previous = 0);

// The same without the processor's CRC instruction: what machines that lack it run.
std::uint32_t crc32c_portable(Bytes bytes, std::uint32_t previous = 0);

}  // namespace leat
