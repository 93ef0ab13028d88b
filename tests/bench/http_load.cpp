#include "tests/bench/http_load.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "core/clock.h"
#include "core/random.h"

namespace leat::bench {
namespace {

using std::chrono::steady_clock;

constexpr int kAnswerMsMax = 10'000;
constexpr std::size_t kKeyBytes = 51;  // sql1. + 13 digits + . + 32 hex digits

Error system_error(const char* what) {
  return make_error(ErrorCode::kIo, std::string(what) + ": " + std::strerror(errno));
}

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  int get() const { return value_; }

 private:
  int value_;
};

// The whole request with a hole where the key goes.
class RequestTemplate {
 public:
  explicit RequestTemplate(const LoadOptions& options) {
    const std::string before =
        R"({"statement":{"sql":")" + options.sql +
        R"(","args":["a message of a usual length, some sixty bytes or so"]},"idempotency_key":")";
    const std::string after = R"("})";
    text_ = "POST /v1/sql/execute HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
    if (!options.token.empty()) text_ += "Authorization: Bearer " + options.token + "\r\n";
    text_ += "Content-Length: " + std::to_string(before.size() + kKeyBytes + after.size()) + "\r\n\r\n" + before;
    key_at_ = text_.size();
    text_ += "sql1.0000000000000." + system_random().hex(8) + std::string(16, '0') + after;
  }

  const std::string& with_next_key() {
    write_digits(5, 13, static_cast<std::uint64_t>(system_clock().now().value), 10);
    write_digits(kKeyBytes - 16, 16, ++count_, 16);
    return text_;
  }

 private:
  void write_digits(std::size_t at, std::size_t width, std::uint64_t value, unsigned base) {
    for (std::size_t i = width; i-- > 0; value /= base) {
      text_[key_at_ + at + i] = "0123456789abcdef"[value % base];
    }
  }

  std::string text_;
  std::size_t key_at_ = 0;
  std::uint64_t count_ = 0;
};

std::optional<std::size_t> content_length(std::string_view head) {
  static constexpr std::string_view kName = "content-length:";
  const auto found = std::search(head.begin(), head.end(), kName.begin(), kName.end(),
                                 [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
  if (found == head.end()) return std::nullopt;
  std::string_view text = head.substr(static_cast<std::size_t>(found - head.begin()) + kName.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::size_t length = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), length).ec != std::errc{}) return std::nullopt;
  return length;
}

struct Connection {
  Descriptor socket;
  std::string answer;
  steady_clock::time_point sent_at;
};

Result<Connection> connect_to(std::uint16_t port) {
  Connection connection{Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), {}, {}};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int one = 1;
  ::setsockopt(connection.socket.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (::connect(connection.socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return system_error("connect");
  }
  return connection;
}

Result<void> send_next(Connection& connection, RequestTemplate& request) {
  const std::string& text = request.with_next_key();
  connection.answer.clear();
  connection.sent_at = steady_clock::now();
  // A request is far smaller than a socket's buffer, and nothing else is in it.
  if (::send(connection.socket.get(), text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) {
    return system_error("send");
  }
  return boost::system::in_place_value;
}

// True when the whole answer is there.
Result<bool> receive(Connection& connection) {
  std::array<char, 16384> buffer{};
  const ssize_t length = ::recv(connection.socket.get(), buffer.data(), buffer.size(), 0);
  if (length <= 0) return make_error(ErrorCode::kUnavailable, "the server closed a connection");
  std::string& answer = connection.answer;
  answer.append(buffer.data(), static_cast<std::size_t>(length));
  const std::size_t head_end = answer.find("\r\n\r\n");
  if (head_end == std::string::npos) return false;
  const auto body_bytes = content_length(std::string_view(answer).substr(0, head_end));
  if (!body_bytes) return make_error(ErrorCode::kInternal, "an answer without Content-Length: " + answer);
  if (answer.size() < head_end + 4 + *body_bytes) return false;
  if (!answer.starts_with("HTTP/1.1 200")) return make_error(ErrorCode::kSqliteError, answer);
  return true;
}

double percentile_ms(std::vector<float>& latencies_ms, double share) {
  if (latencies_ms.empty()) return 0;
  const auto at =
      latencies_ms.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(latencies_ms.size() - 1));
  std::nth_element(latencies_ms.begin(), at, latencies_ms.end());
  return *at;
}

}  // namespace

Result<LoadResult> run_load(const LoadOptions& options) {
  RequestTemplate request(options);
  const Descriptor poller(::epoll_create1(EPOLL_CLOEXEC));
  std::vector<Connection> connections;
  for (int i = 0; i < options.connections; ++i) {
    LEAT_ASSIGN(Connection connection, connect_to(options.port));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u32 = static_cast<std::uint32_t>(i);
    ::epoll_ctl(poller.get(), EPOLL_CTL_ADD, connection.socket.get(), &event);
    connections.push_back(std::move(connection));
  }
  const auto measured_from = steady_clock::now() + std::chrono::milliseconds(options.warm_up_ms);
  const auto measured_to = measured_from + std::chrono::milliseconds(options.measured_ms);
  for (Connection& connection : connections) LEAT_TRY(send_next(connection, request));

  std::vector<float> latencies_ms;
  std::array<epoll_event, 64> events{};
  for (auto now = steady_clock::now(); now < measured_to;) {
    const int count = ::epoll_wait(poller.get(), events.data(), static_cast<int>(events.size()), kAnswerMsMax);
    if (count == 0) return make_error(ErrorCode::kUnavailable, "no answer within 10 seconds");
    if (count < 0) return system_error("epoll_wait");
    now = steady_clock::now();
    for (int i = 0; i < count; ++i) {
      Connection& connection = connections[events[static_cast<std::size_t>(i)].data.u32];
      LEAT_ASSIGN(const bool is_complete, receive(connection));
      if (!is_complete) continue;
      if (now >= measured_from && now < measured_to) {
        latencies_ms.push_back(std::chrono::duration<float, std::milli>(now - connection.sent_at).count());
      }
      LEAT_TRY(send_next(connection, request));
    }
  }
  LoadResult result;
  result.per_second = static_cast<double>(latencies_ms.size()) * 1000.0 / static_cast<double>(options.measured_ms);
  result.median_ms = percentile_ms(latencies_ms, 0.5);
  result.percentile_99_ms = percentile_ms(latencies_ms, 0.99);
  return result;
}

}  // namespace leat::bench
