// For the tests of the HTTP server: a raw TCP client, and waiting for a condition.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

namespace leat {

inline constexpr int kTestDeadlineMs = 10'000;

template <class Condition>
bool eventually(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kTestDeadlineMs);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

class RawClient {
 public:
  explicit RawClient(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~RawClient() { close(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t wrote = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (wrote <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return true;
  }
  // Everything until the server closes, or nothing more comes in time.
  std::string read_all() {
    while (read_some()) {
    }
    return std::move(received_);
  }
  // Reads until `text` has come and answers what came up to its end; "" when it does not.
  std::string read_until(std::string_view text) {
    for (;;) {
      const std::size_t found = received_.find(text);
      if (found != std::string::npos) {
        std::string out = received_.substr(0, found + text.size());
        received_.erase(0, out.size());
        return out;
      }
      if (!read_some()) return "";
    }
  }
  bool is_closed_by_server() {
    while (read_some()) {
    }
    return is_ended_;
  }
  void half_close() { ::shutdown(fd_, SHUT_WR); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  int fd() const { return fd_; }

 private:
  bool read_some() {
    pollfd poller{fd_, POLLIN, 0};
    if (::poll(&poller, 1, kTestDeadlineMs) <= 0) return false;
    char bytes[4096];
    const ssize_t got = ::recv(fd_, bytes, sizeof bytes, 0);
    if (got <= 0) {
      is_ended_ = true;
      return false;
    }
    received_.append(bytes, static_cast<std::size_t>(got));
    return true;
  }
  int fd_;
  bool is_ended_ = false;
  std::string received_;
};

}  // namespace leat
