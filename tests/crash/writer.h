// A client that writes without end and never gives a write up: what was not acknowledged is sent again, the same.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace leat::testing {

// One row of `hit` for each write, with the writer's name and the write's number: nothing in the schema keeps a write
// that is applied twice from showing.
inline constexpr const char* kHitSchema =
    "create table hit (id integer primary key autoincrement, writer text not null, number integer not null)";

class Writer {
 public:
  enum class Kind : std::uint8_t { kIdempotencyKey, kProducer };
  struct Exchange {
    std::string path;
    std::string request;
    std::string answer;
  };

  Writer(std::string name, Kind kind, std::uint16_t master_port);
  ~Writer() { finish(); }

  // Ends once the write under way has been acknowledged.
  void finish();
  std::int64_t acknowledged() const { return acknowledged_.load(); }
  const std::string& name() const { return name_; }
  // After finish(): what went wrong, and the last exchanges under an idempotency key.
  const std::vector<std::string>& failures() const { return failures_; }
  const std::vector<Exchange>& last_exchanges() const { return last_exchanges_; }

 private:
  void run();
  std::string request(std::int64_t number) const;
  void check(const Exchange& exchange, bool is_first_attempt);

  const std::string name_;
  const Kind kind_;
  const std::uint16_t master_port_;
  std::atomic<bool> is_finishing_{false};
  std::atomic<std::int64_t> acknowledged_{0};
  std::vector<std::string> failures_;
  std::vector<Exchange> last_exchanges_;
  std::thread thread_;
};

}  // namespace leat::testing
