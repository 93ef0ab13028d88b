#include "core/http.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "core/http_client.h"
#include "core/http_test_support.h"

namespace leat {
namespace {

HttpResponse text(std::string body) {
  HttpResponse response;
  response.body = std::move(body);
  return response;
}

// Keeps replies to be answered later, by the test's thread.
class Parked {
 public:
  HttpHandler handler() {
    return [this](HttpRequest, HttpReply reply) {
      const std::lock_guard lock(mutex_);
      replies_.push_back(std::move(reply));
      arrived_.notify_all();
    };
  }
  std::vector<HttpReply> take(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        arrived_.wait_for(lock, std::chrono::milliseconds(kTestDeadlineMs), [&] { return replies_.size() >= count; }));
    return std::exchange(replies_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<HttpReply> replies_;
};

class HttpServerTest : public testing::Test {
 protected:
  void serve(HttpHandler handler, int io_threads = 1) {
    server.emplace(limits, io_threads);
    port = server->listen("127.0.0.1", 0, std::move(handler), nullptr).value();
    server->start();
  }
  void serve_echo(int io_threads = 1) {
    serve([](HttpRequest request,
             HttpReply reply) { reply.send(text(request.method + " " + request.path + " " + request.body)); },
          io_threads);
  }
  HttpClient client() { return HttpClient(Url{"http", "127.0.0.1", port, "/"}, kTestDeadlineMs); }

  HttpServerLimits limits;
  std::optional<HttpServer> server;
  std::uint16_t port = 0;
};

TEST_F(HttpServerTest, AnswersRequestsOnAKeptConnection) {
  serve_echo();
  HttpClient http = client();
  for (int i = 0; i < 3; ++i) {
    const HttpClientResponse answer = http.request("POST", "/a?b=c", "body").value();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "POST /a body");
    EXPECT_EQ(answer.header("content-type"), "application/json");
    EXPECT_FALSE(answer.header("date").empty());
  }
  EXPECT_EQ(server->connections(), 1u);
}

TEST_F(HttpServerTest, HandsOverTheHeadersItKnows) {
  std::mutex mutex;
  HttpRequest seen;
  serve([&](HttpRequest request, HttpReply reply) {
    const std::lock_guard lock(mutex);
    seen = std::move(request);
    HttpResponse response = text("{}");
    response.status = 409;
    response.headers = {{"Rindle-Boot-Id", "b"}, {"Bad", "x\r\nInjected: y"}};
    reply.send(std::move(response));
  });
  const HttpClientResponse answer = client()
                                        .request("GET", "/p?q=%20", "",
                                                 {{"AUTHORIZATION", "Bearer t"},
                                                  {"Rindle-Request-Id", "one"},
                                                  {"rindle-request-id", "two"},
                                                  {"Leat-Values", "blob"},
                                                  {"X-Rindle-Project", "app"},
                                                  {"X-Other", "ignored"}})
                                        .value();
  EXPECT_EQ(answer.status, 409);
  EXPECT_EQ(answer.header("rindle-boot-id"), "b");
  EXPECT_EQ(answer.header("injected"), "");
  EXPECT_EQ(seen.method, "GET");
  EXPECT_EQ(seen.path, "/p");
  EXPECT_EQ(seen.query, "q=%20");
  EXPECT_EQ(seen.authorization, "Bearer t");
  EXPECT_TRUE(seen.has_many_request_ids);
  EXPECT_EQ(seen.values, "blob");
  EXPECT_EQ(seen.project, "app");
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  Parked parked;
  serve(parked.handler());
  RawClient raw(port);
  raw.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  std::vector<HttpReply> first = parked.take(1);
  ASSERT_EQ(first.size(), 1u);
  first[0].send(text("first"));
  parked.take(1)[0].send(text("second"));
  const std::string all = raw.read_all();
  EXPECT_LT(all.find("first"), all.find("second"));
  EXPECT_NE(all.find("second"), std::string::npos);
}

TEST_F(HttpServerTest, TakesChunkedBodiesAndBytesOneByOne) {
  serve_echo();
  RawClient raw(port);
  const std::string request =
      "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
      "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  for (const char c : request) raw.send({&c, 1});
  EXPECT_TRUE(raw.read_all().ends_with("POST /x abcde"));
}

TEST_F(HttpServerTest, SendsContinueWhenAsked) {
  serve_echo();
  RawClient raw(port);
  raw.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(raw.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  raw.send("hi");
  EXPECT_TRUE(raw.read_all().ends_with("POST / hi"));
}

TEST_F(HttpServerTest, CarriesBigBodiesBothWays) {
  serve([](HttpRequest request, HttpReply reply) { reply.send(text(std::move(request.body))); });
  std::string body(20u << 20, 'x');
  for (std::size_t i = 0; i < body.size(); i += 1000) body[i] = static_cast<char>('a' + i % 26);
  HttpClient http = client();
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(http.request("POST", "/", body).value().body == body);
}

TEST_F(HttpServerTest, HeadHasNoBodyAndOldClientsAreClosed) {
  serve_echo();
  RawClient head(port);
  head.send("HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const std::string answer = head.read_all();
  EXPECT_NE(answer.find("Content-Length: 7\r\n"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
  RawClient old(port);
  old.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_NE(old.read_all().find("Connection: close"), std::string::npos);
}

TEST_F(HttpServerTest, RefusesABodyBeyondItsLimitWith413) {
  limits.request_bytes_max = 1000;
  serve_echo();
  EXPECT_EQ(client().request("POST", "/", std::string(1000, 'x')).value().status, 200);
  RawClient announced(port);
  announced.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n");
  const std::string answer = announced.read_all();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 413 ")) << answer;
  EXPECT_TRUE(answer.ends_with("{\"error\":\"request body too large\"}"));
  RawClient chunked(port);
  chunked.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + std::string(1001, 'x'));
  EXPECT_TRUE(chunked.read_all().starts_with("HTTP/1.1 413 "));
}

TEST_F(HttpServerTest, RefusesAHeaderBeyondItsLimitWith431) {
  limits.header_bytes_max = 1000;
  serve_echo();
  RawClient raw(port);
  raw.send("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(2000, 'x') + "\r\n\r\n");
  const std::string answer = raw.read_all();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 431 ")) << answer;
  EXPECT_TRUE(answer.ends_with("{\"error\":\"request header too large\"}"));
}

TEST_F(HttpServerTest, RefusesGarbageWith400) {
  serve_echo();
  for (const std::string_view garbage : {std::string_view("\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 9),
                                         std::string_view("GET\r\n\r\n"), std::string_view("\0\0\0\0", 4)}) {
    RawClient raw(port);
    raw.send(garbage);
    EXPECT_TRUE(raw.read_all().starts_with("HTTP/1.1 400 "));
  }
}

TEST_F(HttpServerTest, AnswersConnectionsBeyondTheLimitWith503) {
  limits.connections_max = 1;
  serve_echo();
  HttpClient http = client();
  EXPECT_EQ(http.request("GET", "/").value().status, 200);
  RawClient refused(port);
  const std::string answer = refused.read_all();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
  refused.close();
  http.close();
  ASSERT_TRUE(eventually([&] { return server->connections() == 0; }));
  EXPECT_EQ(http.request("GET", "/").value().status, 200);
}

TEST_F(HttpServerTest, ARequestThatTricklesInIsEndedWith408) {
  limits.read_timeout_ms = 100;
  serve_echo();
  RawClient raw(port);
  raw.send("GET / HTTP/1.1\r\n");
  const std::string answer = raw.read_all();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 408 ")) << answer;
}

TEST_F(HttpServerTest, AnIdleConnectionIsClosed) {
  limits.idle_timeout_ms = 100;
  serve_echo();
  RawClient raw(port);
  EXPECT_TRUE(raw.is_closed_by_server());
  EXPECT_TRUE(eventually([&] { return server->connections() == 0; }));
}

TEST_F(HttpServerTest, AClientThatDoesNotReadItsAnswerIsDropped) {
  limits.read_timeout_ms = 200;
  serve([](HttpRequest, HttpReply reply) { reply.send(text(std::string(64u << 20, 'x'))); });
  RawClient raw(port);
  raw.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return server->connections() == 1; }));
  EXPECT_TRUE(eventually([&] { return server->connections() == 0; }));
}

TEST_F(HttpServerTest, AHalfClosedClientGetsItsAnswer) {
  Parked parked;
  serve(parked.handler());
  RawClient raw(port);
  raw.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  raw.half_close();
  parked.take(1)[0].send(text("late"));
  EXPECT_TRUE(raw.read_all().ends_with("late"));
}

TEST_F(HttpServerTest, AReplyAfterTheClientLeftIsHarmless) {
  Parked parked;
  serve(parked.handler());
  RawClient raw(port);
  raw.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  std::vector<HttpReply> replies = parked.take(1);
  raw.close();
  replies[0].send(text(std::string(1u << 20, 'x')));
  EXPECT_TRUE(eventually([&] { return server->connections() == 0; }));
}

TEST_F(HttpServerTest, AReplyDroppedUnansweredIs500) {
  serve([](HttpRequest, HttpReply) {});
  EXPECT_EQ(client().request("GET", "/").value().status, 500);
}

TEST_F(HttpServerTest, AReplyAfterTheServerIsGoneIsHarmless) {
  Parked parked;
  limits.stop_grace_ms = 50;
  serve(parked.handler());
  RawClient raw(port);
  raw.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  std::vector<HttpReply> replies = parked.take(1);
  server.reset();
  replies[0].send(text("late"));
}

TEST_F(HttpServerTest, WithoutAHandlerEverythingIs404) {
  serve(nullptr);
  const HttpClientResponse answer = client().request("GET", "/").value();
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.body, "{\"error\":\"not found\"}");
}

TEST_F(HttpServerTest, StopLetsTheRequestUnderWayFinishAndClosesIdleConnections) {
  Parked parked;
  serve(parked.handler());
  RawClient idle(port);
  RawClient busy(port);
  busy.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  std::vector<HttpReply> replies = parked.take(1);
  std::jthread stopping([&] { server->stop(); });
  EXPECT_TRUE(idle.is_closed_by_server());
  replies[0].send(text("done"));
  const std::string answer = busy.read_all();
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("done"));
  busy.close();
  stopping.join();
  EXPECT_EQ(server->connections(), 0u);
}

TEST_F(HttpServerTest, AnswersFromAnotherThreadInBurstsOnManyConnections) {
  Parked parked;
  serve(parked.handler(), 2);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 32; ++i) clients.push_back(std::make_unique<RawClient>(port));
  for (int round = 0; round < 20; ++round) {
    for (auto& raw : clients) raw->send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    std::size_t answered = 0;
    while (answered < clients.size()) {
      for (HttpReply& reply : parked.take(1)) {
        reply.send(text("[]"));
        ++answered;
      }
    }
    for (auto& raw : clients) ASSERT_NE(raw->read_until("\r\n\r\n[]"), "");
  }
}

TEST(HttpServer, ReportsAnAddressInUseOrNotAnAddress) {
  HttpServer first({}, 1);
  const std::uint16_t port = first.listen("127.0.0.1", 0, nullptr, nullptr).value();
  HttpServer second({}, 1);
  EXPECT_EQ(second.listen("127.0.0.1", port, nullptr, nullptr).error().code, ErrorCode::kIo);
  EXPECT_EQ(second.listen("nowhere", 0, nullptr, nullptr).error().code, ErrorCode::kConfigInvalid);
}

}  // namespace
}  // namespace leat
