#include "tests/bench/sqlite_rate.h"

#include <chrono>

#include "core/sqlite.h"

namespace leat::bench {

Result<double> sqlite_rows_per_second(const std::string& file, const std::string& schema, const std::string& sql,
                                      int rows_each, std::int64_t measured_ms) {
  LEAT_ASSIGN(auto connection, sqlite::Connection::open(file, sqlite::OpenMode::kCreate));
  LEAT_TRY(connection->execute("pragma journal_mode=wal; pragma synchronous=full; " + schema));
  LEAT_ASSIGN(auto begin, connection->prepare("begin immediate", sqlite::Access::kInternal));
  LEAT_ASSIGN(auto commit, connection->prepare("commit", sqlite::Access::kInternal));
  LEAT_ASSIGN(auto insert, connection->prepare(sql, sqlite::Access::kInternal));
  const auto start = std::chrono::steady_clock::now();
  const auto end = start + std::chrono::milliseconds(measured_ms);
  std::int64_t rows = 0;
  while (std::chrono::steady_clock::now() < end) {
    LEAT_TRY(begin->run());
    for (int i = 0; i < rows_each; ++i) {
      insert->bind(1, std::string_view("a message of a usual length, some sixty bytes or so"));
      LEAT_TRY(insert->run());
    }
    LEAT_TRY(commit->run());
    rows += rows_each;
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return static_cast<double>(rows) / elapsed.count();
}

}  // namespace leat::bench
