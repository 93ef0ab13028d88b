#include "sqlclient/cli/watch_command.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <iostream>
#include <thread>

#include "core/clock.h"
#include "core/http_client.h"
#include "core/random.h"
#include "sqlclient/cli/json_value.h"
#include "sqlclient/cli/parameter.h"
#include "sqlclient/cli/watch_view.h"

namespace leat::cli {
namespace {

namespace json = boost::json;

constexpr std::chrono::milliseconds kFirstPause{200};
constexpr std::chrono::milliseconds kLongestPause{5'000};
// A connection that has not said anything for so long is taken for lost: the server pings more often than that, and
// receive() answers pings.
constexpr std::int64_t kReceiveMs = 60'000;

Result<std::string> materialize_request(const WatchOptions& options) {
  json::array conditions;
  for (const std::string& text : options.conditions) {
    LEAT_ASSIGN(const Condition condition, parse_condition(text));
    LEAT_ASSIGN(json::value literal, to_plain_json(condition.value));
    conditions.push_back(json::object{{"type", "simple"},
                                      {"op", condition.op},
                                      {"left", json::object{{"type", "column"}, {"name", condition.column}}},
                                      {"right", json::object{{"type", "literal"}, {"value", literal}}}});
  }
  json::object query{{"table", options.table}};
  if (conditions.size() == 1) query["where"] = conditions[0];
  if (conditions.size() > 1) query["where"] = json::object{{"type", "and"}, {"conditions", conditions}};
  if (!options.columns.empty()) query["select"] = json::array(options.columns.begin(), options.columns.end());
  return json::serialize(json::object{{"ast", query}});
}

Result<std::string> lease_token(const ServerAddress& server, const std::string& request) {
  HttpClient client(server.url);
  LEAT_ASSIGN(const HttpClientResponse response, client.request("POST", "/materialize", request, server.headers()));
  boost::system::error_code failed;
  const json::value answer = json::parse(response.body, failed);
  const json::object* object = answer.if_object();
  const auto text = [&](std::string_view name) -> std::string {
    const json::value* field = object == nullptr ? nullptr : object->if_contains(name);
    return field != nullptr && field->is_string() ? std::string(field->get_string()) : std::string();
  };
  if (response.status == 200) {
    if (std::string token = text("leaseToken"); !token.empty()) return token;
  }
  std::string message = text("message");
  if (message.empty()) message = text("error");
  if (message.empty()) message = "the server answered HTTP " + std::to_string(response.status) + " to /materialize";
  return make_error(response.status >= 500 ? ErrorCode::kUnavailable : ErrorCode::kSqliteError, message);
}

std::string local_time() {
  const std::int64_t now_ms = system_clock().now().value;
  const auto seconds = static_cast<std::time_t>(now_ms / 1000);
  std::tm broken_down{};
  localtime_r(&seconds, &broken_down);
  std::array<char, 16> clock{};
  std::strftime(clock.data(), clock.size(), "%H:%M:%S", &broken_down);
  std::string fraction = std::to_string(now_ms % 1000);
  return std::string(clock.data()) + "." + std::string(3 - fraction.size(), '0') + fraction;
}

class Watcher {
 public:
  Watcher(const WatchOptions& options, ServerAddress server, std::string request, std::ostream& out)
      : options_(options), server_(std::move(server)), request_(std::move(request)), out_(out) {}

  // One subscription, from its lease to its end. kUnavailable when it may be made again.
  Error subscribe_once() {
    has_snapshot_ = false;
    Result<std::string> lease = lease_token(server_, request_);
    if (lease.has_error()) return lease.error();
    Result<std::unique_ptr<WebSocketClient>> socket = WebSocketClient::connect(server_.web_socket());
    if (socket.has_error()) return socket.error();
    const json::object init{{"t", "init"}, {"clientID", client_id_}};
    const json::object subscribe{{"t", "subscribe"}, {"queryId", 1}, {"leaseToken", *lease}, {"mode", "normalized"}};
    for (const json::object* frame : {&init, &subscribe}) {
      if (Result<void> sent = (*socket)->send(json::serialize(*frame)); sent.has_error()) return sent.error();
    }
    for (;;) {
      Result<std::optional<WebSocketMessage>> message = (*socket)->receive(kReceiveMs);
      if (message.has_error()) return lost(message.error().message);
      if (!message->has_value()) continue;
      Result<WatchView::Update> update = view_.apply((*message)->bytes);
      if (update.has_error()) return lost(update.error().message);
      has_snapshot_ = has_snapshot_ || update->is_snapshot;
      if (options_.json) {
        out_ << (*message)->bytes << std::endl;
      } else {
        print(*update);
      }
      if (update->is_over) {
        return make_error(update->may_retry ? ErrorCode::kUnavailable : ErrorCode::kSqliteError, update->reason);
      }
    }
  }

  // Whether the last subscription got as far as showing rows.
  bool has_snapshot() const { return has_snapshot_; }

 private:
  static Error lost(const std::string& message) { return make_error(ErrorCode::kUnavailable, message); }

  void print(const WatchView::Update& update) {
    const std::string time = local_time();
    for (const std::string& line : update.lines) out_ << time << ' ' << line << '\n';
    if (update.is_snapshot) {
      out_ << time << " = " << options_.table << "  " << view_.row_count()
           << (view_.row_count() == 1 ? " row" : " rows") << " now; changes follow\n";
    }
    out_.flush();
  }

  const WatchOptions& options_;
  const ServerAddress server_;
  const std::string request_;
  std::ostream& out_;
  const std::string client_id_ = "watch-" + system_random().hex(8);
  WatchView view_;
  bool has_snapshot_ = false;
};

}  // namespace

ExitCode run_watch(const WatchOptions& options, std::ostream& out) {
  Result<ServerAddress> server = resolve(options.server);
  if (server.has_error()) return report(server.error());
  Result<std::string> request = materialize_request(options);
  if (request.has_error()) return report(request.error());
  Watcher watcher(options, *server, *request, out);
  std::chrono::milliseconds pause = kFirstPause;
  bool has_ever_connected = false;
  for (;;) {
    const Error error = watcher.subscribe_once();
    if (watcher.has_snapshot()) {
      pause = kFirstPause;
      has_ever_connected = true;
    }
    // A server that was never there is more likely a wrong address than one that comes back.
    if (error.code != ErrorCode::kUnavailable || !has_ever_connected) return report(error);
    std::cerr << "leat: " << error.message << "; trying again in " << pause.count() << " ms" << std::endl;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
}

}  // namespace leat::cli
