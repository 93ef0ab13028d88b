#include "core/http_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>

#include "core/http.h"
#include "core/http_test_support.h"

namespace leat {
namespace {

TEST(Url, ReadsSchemeHostPortAndPath) {
  const Url url = Url::parse("ws://example.org:7611/subscribe?a=b#c").value();
  EXPECT_EQ(url.scheme, "ws");
  EXPECT_EQ(url.host, "example.org");
  EXPECT_EQ(url.port, 7611);
  EXPECT_EQ(url.path, "/subscribe?a=b");
  EXPECT_EQ(Url::parse("http://h").value().port, 80);
  EXPECT_EQ(Url::parse("https://h?q").value().path, "/?q");
  EXPECT_EQ(Url::parse("https://h").value().port, 443);
  EXPECT_EQ(Url::parse("http://[::1]:80/").value().host, "::1");
  for (const char* bad : {"", "h", "ftp://h", "http://", "http://h:", "http://h:x", "http://h:70000", "http://h:0",
                          "http://u@h", "http://[::1"}) {
    EXPECT_TRUE(Url::parse(bad).has_error()) << bad;
  }
}

TEST(HttpClient, AConnectionRefusedIsUnavailableAndMayBeRepeated) {
  HttpClient http(Url{"http", "127.0.0.1", 1, "/"}, kTestDeadlineMs);
  const auto answer = http.request("GET", "/");
  ASSERT_TRUE(answer.has_error());
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(answer.error().retry_scope, RetryScope::kRequest);
}

TEST(HttpClient, SaysThatItHasNoTls) {
  HttpClient http(Url{"https", "127.0.0.1", 1, "/"});
  EXPECT_EQ(http.request("GET", "/").error().code, ErrorCode::kConfigInvalid);
  EXPECT_EQ(WebSocketClient::connect(Url{"wss", "127.0.0.1", 1, "/"}).error().code, ErrorCode::kConfigInvalid);
}

TEST(HttpClient, ReconnectsOnceWhenTheServerClosedAnIdleConnection) {
  HttpServerLimits limits;
  limits.idle_timeout_ms = 50;
  std::atomic<int> requests{0};
  HttpServer server(limits, 1);
  const std::uint16_t port = server
                                 .listen(
                                     "127.0.0.1", 0,
                                     [&](HttpRequest, HttpReply reply) {
                                       ++requests;
                                       reply.send({});
                                     },
                                     nullptr)
                                 .value();
  server.start();
  HttpClient http(Url{"http", "127.0.0.1", port, "/"}, kTestDeadlineMs);
  EXPECT_EQ(http.request("POST", "/", "a").value().status, 200);
  ASSERT_TRUE(eventually([&] { return server.connections() == 0; }));
  EXPECT_EQ(http.request("POST", "/", "b").value().status, 200);
  EXPECT_EQ(requests, 2);
}

TEST(HttpClient, DoesNotRepeatARequestThatTimedOut) {
  std::atomic<int> requests{0};
  std::optional<HttpReply> parked;
  HttpServerLimits limits;
  limits.stop_grace_ms = 50;
  HttpServer server(limits, 1);
  const std::uint16_t port = server
                                 .listen(
                                     "127.0.0.1", 0,
                                     [&](HttpRequest, HttpReply reply) {
                                       if (++requests == 1) return reply.send({});
                                       parked.emplace(std::move(reply));
                                     },
                                     nullptr)
                                 .value();
  server.start();
  HttpClient http(Url{"http", "127.0.0.1", port, "/"}, 200);
  EXPECT_EQ(http.request("GET", "/").value().status, 200);
  EXPECT_EQ(http.request("GET", "/").error().code, ErrorCode::kUnavailable);
  server.stop();
  EXPECT_EQ(requests, 2);
}

}  // namespace
}  // namespace leat
