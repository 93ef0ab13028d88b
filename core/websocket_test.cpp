#include <gtest/gtest.h>

#include <mutex>
#include <optional>
#include <thread>

#include "core/http.h"
#include "core/http_client.h"
#include "core/http_test_support.h"

namespace leat {
namespace {

class EchoListener final : public WebSocketListener {
 public:
  void on_open(std::shared_ptr<WebSocket> socket) override {
    const std::lock_guard lock(mutex_);
    socket_ = std::move(socket);
  }
  void on_message(std::string_view message, bool text) override {
    WebSocketFrame frame;
    frame.text = text;
    frame.head = "echo:";
    frame.shared = std::make_shared<const std::string>(message);
    socket()->send(std::move(frame));
  }
  void on_close() override { is_closed = true; }
  std::shared_ptr<WebSocket> socket() {
    const std::lock_guard lock(mutex_);
    return socket_;
  }
  std::atomic<bool> is_closed{false};

 private:
  std::mutex mutex_;
  std::shared_ptr<WebSocket> socket_;
};

class WebSocketTest : public testing::Test {
 protected:
  void serve() {
    server.emplace(limits, 1);
    port = server
               ->listen("127.0.0.1", 0, nullptr,
                        [this](const WebSocketUpgrade& upgrade) {
                          WebSocketAccept accept;
                          if (upgrade.path == "/refused") {
                            accept.refusal.status = 401;
                            accept.refusal.body = "{\"error\":\"unauthorized\"}";
                            return accept;
                          }
                          if (!upgrade.subprotocols.empty()) accept.subprotocol = upgrade.subprotocols.front();
                          accept.listener = listener;
                          return accept;
                        })
               .value();
    server->start();
  }
  std::unique_ptr<WebSocketClient> connect(const std::string& path = "/") {
    return WebSocketClient::connect(Url{"ws", "127.0.0.1", port, path}).value();
  }
  // A connection whose handshake is done by hand, for frames that a good client never sends.
  std::unique_ptr<RawClient> connect_raw(const std::string& header = "") {
    auto raw = std::make_unique<RawClient>(port);
    raw->send(
        "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
        header + "\r\n");
    handshake = raw->read_until("\r\n\r\n");
    EXPECT_TRUE(eventually([&] { return listener->socket() != nullptr; }));
    return raw;
  }

  HttpServerLimits limits;
  std::shared_ptr<EchoListener> listener = std::make_shared<EchoListener>();
  std::optional<HttpServer> server;
  std::uint16_t port = 0;
  std::string handshake;
};

TEST_F(WebSocketTest, EchoesTextAndBinaryWithHeadAndSharedAsOneMessage) {
  serve();
  auto client = connect();
  ASSERT_TRUE(client->send("hello").has_value());
  auto message = client->receive(kTestDeadlineMs).value();
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->bytes, "echo:hello");
  EXPECT_TRUE(message->text);
  const std::string big(3u << 20, '\xff');
  ASSERT_TRUE(client->send(big, false).has_value());
  message = client->receive(kTestDeadlineMs).value();
  ASSERT_TRUE(message.has_value());
  EXPECT_TRUE(message->bytes == "echo:" + big);
  EXPECT_FALSE(message->text);
  EXPECT_EQ(server->websockets(), 1u);
  client.reset();
  EXPECT_TRUE(eventually([&] { return listener->is_closed.load() && server->websockets() == 0; }));
}

TEST_F(WebSocketTest, EchoesTheSubprotocolThatWasChosen) {
  serve();
  auto raw = connect_raw("Sec-WebSocket-Protocol: rindle.v1, aff.x\r\n");
  EXPECT_TRUE(handshake.starts_with("HTTP/1.1 101 "));
  EXPECT_NE(handshake.find("Sec-WebSocket-Protocol: rindle.v1\r\n"), std::string::npos) << handshake;
  EXPECT_NE(handshake.find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), std::string::npos);
}

TEST_F(WebSocketTest, ARefusedUpgradeIsAnHttpAnswer) {
  serve();
  const auto refused = WebSocketClient::connect(Url{"ws", "127.0.0.1", port, "/refused"});
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnauthorized);
}

TEST_F(WebSocketTest, FragmentedMessagesArriveWhole) {
  serve();
  auto raw = connect_raw();
  // "Hel" without FIN, then "lo" as a continuation; masked with zeros.
  raw->send(std::string("\x01\x83\0\0\0\0Hel", 9) + std::string("\x80\x82\0\0\0\0lo", 8));
  EXPECT_EQ(raw->read_until("echo:Hello"),
            "\x81\x0a"
            "echo:Hello");
}

TEST_F(WebSocketTest, AMessageBeyondTheLimitClosesWith1009) {
  limits.websocket_message_bytes_max = 1000;
  serve();
  auto client = connect();
  client->send(std::string(1001, 'x'));
  const auto message = client->receive(kTestDeadlineMs);
  ASSERT_TRUE(message.has_error());
  EXPECT_NE(message.error().message.find("1009"), std::string::npos) << message.error().message;
}

TEST_F(WebSocketTest, QueuedBytesGrowForAClientThatDoesNotReadAndFallWhenItDoes) {
  serve();
  auto client = connect();
  ASSERT_TRUE(eventually([&] { return listener->socket() != nullptr; }));
  const auto socket = listener->socket();
  const auto body = std::make_shared<const std::string>(1u << 20, 'x');
  constexpr int kFrames = 32;
  for (int i = 0; i < kFrames; ++i) socket->send(WebSocketFrame{true, std::to_string(i) + ":", body});
  EXPECT_GT(socket->queued_bytes(), body->size());
  for (int i = 0; i < kFrames; ++i) {
    const auto message = client->receive(kTestDeadlineMs).value();
    ASSERT_TRUE(message.has_value());
    ASSERT_TRUE(message->bytes.starts_with(std::to_string(i) + ":"));
  }
  EXPECT_TRUE(eventually([&] { return socket->queued_bytes() == 0; }));
}

TEST_F(WebSocketTest, CloseSendsWhatIsQueuedAndThenTheCloseFrame) {
  serve();
  auto client = connect();
  ASSERT_TRUE(eventually([&] { return listener->socket() != nullptr; }));
  const auto socket = listener->socket();
  socket->send(WebSocketFrame{true, "last", nullptr});
  socket->close(4001, "enough");
  socket->send(WebSocketFrame{true, "dropped", nullptr});
  EXPECT_EQ(client->receive(kTestDeadlineMs).value()->bytes, "last");
  const auto over = client->receive(kTestDeadlineMs);
  ASSERT_TRUE(over.has_error());
  EXPECT_NE(over.error().message.find("4001: enough"), std::string::npos) << over.error().message;
  EXPECT_TRUE(eventually([&] { return listener->is_closed.load(); }));
  socket->send(WebSocketFrame{true, "dropped", nullptr});
  EXPECT_EQ(socket->queued_bytes(), 0u);
}

TEST_F(WebSocketTest, PingsAndDropsAClientThatDoesNotPongWithACloseFrame) {
  limits.ping_interval_ms = 50;
  limits.pong_timeout_ms = 200;
  serve();
  auto raw = connect_raw();
  const std::string all = raw->read_all();
  EXPECT_EQ(all.substr(0, 2), std::string("\x89\0", 2));
  EXPECT_NE(all.find("\x03\xf0no pong in time"), std::string::npos);  // 1008
  EXPECT_TRUE(eventually([&] { return listener->is_closed.load() && server->connections() == 0; }));
}

TEST_F(WebSocketTest, AClientThatPongsStays) {
  limits.ping_interval_ms = 20;
  limits.pong_timeout_ms = 200;
  serve();
  auto client = connect();
  EXPECT_FALSE(client->receive(600).value().has_value());
  ASSERT_TRUE(client->send("still here").has_value());
  EXPECT_EQ(client->receive(kTestDeadlineMs).value()->bytes, "echo:still here");
}

TEST_F(WebSocketTest, StopClosesWith1001) {
  serve();
  auto client = connect();
  ASSERT_TRUE(eventually([&] { return listener->socket() != nullptr; }));
  std::jthread stopping([&] { server->stop(); });
  const auto over = client->receive(kTestDeadlineMs);
  ASSERT_TRUE(over.has_error());
  EXPECT_NE(over.error().message.find("1001"), std::string::npos) << over.error().message;
  stopping.join();
  EXPECT_TRUE(listener->is_closed);
}

TEST_F(WebSocketTest, AClientThatVanishesIsClosed) {
  serve();
  auto raw = connect_raw();
  listener->socket()->send(WebSocketFrame{true, std::string(8u << 20, 'x'), nullptr});
  raw->close();
  EXPECT_TRUE(eventually([&] { return listener->is_closed.load() && server->connections() == 0; }));
}

TEST_F(WebSocketTest, SendsFromManyThreadsAllArrive) {
  serve();
  auto client = connect();
  ASSERT_TRUE(eventually([&] { return listener->socket() != nullptr; }));
  const auto socket = listener->socket();
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 250; ++i) socket->send(WebSocketFrame{true, "x", nullptr});
    });
  }
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(client->receive(kTestDeadlineMs).value().has_value());
}

TEST_F(WebSocketTest, CancelEndsAReceiveThatWaits) {
  serve();
  auto client = connect();
  std::jthread canceller([&] { client->cancel(); });
  const auto over = client->receive(kTestDeadlineMs);
  ASSERT_TRUE(over.has_error());
  EXPECT_EQ(over.error().message, "cancelled");
}

}  // namespace
}  // namespace leat
