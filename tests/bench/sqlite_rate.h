// What SQLite alone does with the same inserts in this process: the limit for durable writes.
#pragma once

#include <cstdint>
#include <string>

#include "core/error.h"

namespace leat::bench {

// Rows per second with WAL and synchronous=FULL, one transaction for every `rows_each`.
Result<double> sqlite_rows_per_second(const std::string& file, const std::string& schema, const std::string& sql,
                                      int rows_each, std::int64_t measured_ms);

}  // namespace leat::bench
