#include "tests/crash/writer.h"

#include <poll.h>

#include <boost/json.hpp>
#include <utility>

#include "tests/support/cluster.h"

namespace leat::testing {
namespace {

namespace json = boost::json;

constexpr std::size_t kExchangesKept = 20;
constexpr std::int64_t kRepeatEvery = 17;  // an acknowledged write is sent once more
constexpr int kRetryPauseMs = 10;
constexpr int kGiveUpMs = 60'000;

}  // namespace

Writer::Writer(std::string name, Kind kind, std::uint16_t master_port)
    : name_(std::move(name)), kind_(kind), master_port_(master_port), thread_([this] { run(); }) {}

void Writer::finish() {
  is_finishing_ = true;
  if (thread_.joinable()) thread_.join();
}

std::string Writer::request(std::int64_t number) const {
  const std::string sql = "insert into hit (writer, number) values ('" + name_ + "', " + std::to_string(number) + ")";
  if (kind_ == Kind::kIdempotencyKey) return execute_body(sql, new_idempotency_key());
  return json::serialize(json::object{{"statements", json::array{json::object{{"sql", sql}}}},
                                      {"producer", json::object{{"id", name_}, {"seq", number}}}});
}

void Writer::run() {
  const std::string path = kind_ == Kind::kIdempotencyKey ? "/v1/sql/execute" : "/execute-sql-txn";
  ClusterClient client(master_port_);
  for (std::int64_t number = 1; !is_finishing_ && failures_.empty(); ++number) {
    Exchange exchange{path, request(number), {}};
    int waited_ms = 0;
    for (int attempt = 1;; ++attempt) {
      const Result<HttpClientResponse> response = client.post(path, exchange.request);
      if (response.has_value() && response->status == 200) {
        exchange.answer = response->body;
        check(exchange, attempt == 1);
        break;
      }
      // A server that is going down or coming up may say so; any other refusal is wrong.
      if (response.has_value() && response->status != 503) {
        failures_.push_back(name_ + ": " + exchange.request + " was answered " + response->body);
        return;
      }
      if (waited_ms > kGiveUpMs) {
        failures_.push_back(name_ + ": no acknowledgement within a minute");
        return;
      }
      ::poll(nullptr, 0, kRetryPauseMs);
      waited_ms += kRetryPauseMs;
    }
    acknowledged_ = number;
    if (kind_ != Kind::kIdempotencyKey) continue;
    if (number % kRepeatEvery == 0) {
      const Result<HttpClientResponse> again = client.post(path, exchange.request);
      if (again.has_value() && again->status == 200 && again->body != exchange.answer) {
        failures_.push_back(name_ + ": repeated, " + exchange.answer + " became " + again->body);
      }
    }
    if (last_exchanges_.size() == kExchangesKept) last_exchanges_.erase(last_exchanges_.begin());
    last_exchanges_.push_back(std::move(exchange));
  }
}

void Writer::check(const Exchange& exchange, bool is_first_attempt) {
  if (kind_ != Kind::kProducer || !is_first_attempt) return;
  boost::system::error_code failed;
  const json::value answer = json::parse(exchange.answer, failed);
  const json::object* object = answer.if_object();
  const json::value* applied = object == nullptr ? nullptr : object->if_contains("applied");
  if (applied == nullptr || *applied != json::value(true)) {
    failures_.push_back(name_ + ": a number never sent before was answered " + exchange.answer);
  }
}

}  // namespace leat::testing
