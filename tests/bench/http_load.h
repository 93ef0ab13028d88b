// Load on a server's write path: keep-alive connections with one request under way on each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"

namespace leat::bench {

struct LoadOptions {
  std::uint16_t port = 0;  // on 127.0.0.1
  int connections = 1;
  std::int64_t warm_up_ms = 500;
  std::int64_t measured_ms = 3'000;
  std::string token;
  std::string sql;  // one insert with one parameter
};

struct LoadResult {
  double per_second = 0;
  double median_ms = 0;
  double percentile_99_ms = 0;
};

// Sends single inserts to /v1/sql/execute, each with an idempotency key of its own, from one thread. Every answer must
// be 200: the first other one is the error.
Result<LoadResult> run_load(const LoadOptions& options);

}  // namespace leat::bench
