// What the server programs share: signals, the ready line, resource limits.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/error.h"

namespace leat {

// Blocks SIGTERM, SIGINT and SIGPIPE for the calling thread and those it starts: call it first in main().
void block_signals();

// Waits for SIGTERM or SIGINT (after block_signals()) and answers which one came.
int wait_for_stop_signal();
// Makes wait_for_stop_signal() return as if SIGTERM had come. Any thread.
void request_stop();

// Raises the limit of open files as far as it may; answers the limit now in force.
std::uint64_t raise_open_files_limit();

// Writes `json_object` and a line end to standard output, at once. The only thing a server ever writes there.
Result<void> print_ready_line(std::string_view json_object);

}  // namespace leat
