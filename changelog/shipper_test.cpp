#include "changelog/shipper.h"

#include <gtest/gtest.h>

#include "core/http_client.h"
#include "core/http_test_support.h"
#include "core/random.h"
#include "core/testing/faulty_files.h"

namespace leat::changelog {
namespace {

constexpr std::int64_t kWaitMs = 5'000;

class ShipperTest : public testing::Test {
 protected:
  void SetUp() override {
    log_ = open_segment_log({"/log", database_id_, 64 << 10}, files_, random_).value();
    append(3);
    shipper_.emplace(*log_, database_id_, log_->durable_cursor(), clock_);
    server_.emplace(HttpServerLimits{}, 1);
    port_ = server_
                ->listen("127.0.0.1", 0, nullptr,
                         [this](const WebSocketUpgrade&) {
                           WebSocketAccept accept;
                           accept.listener = shipper_->listener();
                           return accept;
                         })
                .value();
    server_->start();
  }
  void TearDown() override {
    server_->stop();
    shipper_->stop();
  }

  // Appends blocks of one transaction each; they are committed by publish().
  void append(int blocks, std::size_t bytes = 10) {
    for (int i = 0; i < blocks; ++i) {
      const Cursor last = log_->durable_cursor();
      const Cursor cursor = last == Cursor() ? Cursor(Epoch{1}, 1) : last.next();
      RowChange change;
      change.table = "t";
      change.new_row = {static_cast<std::int64_t>(cursor.sequence()), Blob{random_bytes(bytes)}};
      const auto block = encode_block({{cursor, Origin::kSystem, "", {change}}}, clock_.now()).value();
      ASSERT_EQ(log_->append(block).durability, Durability::kDurable);
    }
  }
  std::string random_bytes(std::size_t bytes) {
    std::string text(bytes, '\0');
    random_.fill({reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
    return text;
  }

  std::unique_ptr<WebSocketClient> connect() {
    return WebSocketClient::connect(Url{"ws", "127.0.0.1", port_, "/subscribe"}).value();
  }
  static Cursor at(std::uint64_t sequence) { return sequence == 0 ? Cursor() : Cursor(Epoch{1}, sequence); }
  std::unique_ptr<WebSocketClient> follow(Cursor cursor) {
    auto client = connect();
    EXPECT_FALSE(client->send(encode(Hello{"f", database_id_, cursor})).has_error());
    return client;
  }
  static std::optional<SubscribeFrame> next_text(WebSocketClient& client) {
    while (true) {
      auto message = client.receive(kWaitMs);
      if (message.has_error() || !*message) return std::nullopt;
      if ((*message)->text) return parse_subscribe_frame((*message)->bytes).value();
    }
  }
  // Reads blocks until the one that ends at `last`, and answers their first cursors' sequence numbers.
  static std::vector<std::uint64_t> blocks_until(WebSocketClient& client, Cursor last) {
    std::vector<std::uint64_t> sequences;
    while (sequences.empty() || sequences.back() != last.sequence()) {
      auto message = client.receive(kWaitMs);
      if (message.has_error() || !*message) break;
      if ((*message)->text) continue;
      std::string_view bytes = (*message)->bytes;
      while (!bytes.empty()) {
        const std::size_t size = block_size(bytes).value();
        sequences.push_back(EncodedBlock::parse(std::string(bytes.substr(0, size))).value().header().first.sequence());
        bytes.remove_prefix(size);
      }
    }
    return sequences;
  }
  static std::vector<std::uint64_t> run_of(std::uint64_t first, std::uint64_t last) {
    std::vector<std::uint64_t> sequences;
    for (; first <= last; ++first) sequences.push_back(first);
    return sequences;
  }
  // The refusal that answers a message; its code, then how the connection ended.
  std::string refusal_of(const std::string& message, bool text = true) {
    auto client = connect();
    EXPECT_FALSE(client->send(message, text).has_error());
    const auto frame = next_text(*client);
    const auto* refusal = frame ? std::get_if<Refusal>(&*frame) : nullptr;
    if (refusal == nullptr) return "not refused";
    EXPECT_FALSE(refusal->message.empty());
    const auto end = client->receive(kWaitMs);
    EXPECT_TRUE(end.has_error() && end.error().message.find("4000") != std::string::npos);
    return refusal->code;
  }

  FaultyFiles files_;
  SeededRandom random_{3};
  ManualClock clock_{UnixMs{1'800'000'000'000}};
  DatabaseId database_id_ = random_.uuid();
  std::unique_ptr<ChangeLog> log_;
  std::optional<Shipper> shipper_;
  std::optional<HttpServer> server_;
  std::uint16_t port_ = 0;
};

TEST_F(ShipperTest, WelcomesAndSendsTheBlocksBeyondACursorInOrder) {
  auto client = follow(at(1));
  const auto welcome = std::get<Welcome>(next_text(*client).value());
  EXPECT_EQ(welcome.database_id, database_id_);
  EXPECT_EQ(welcome.head, at(3));
  EXPECT_EQ(welcome.now, clock_.now());
  EXPECT_EQ(blocks_until(*client, at(3)), run_of(2, 3));
}

TEST_F(ShipperTest, AnEmptyFollowerTakesAnyDatabaseFromTheStart) {
  auto client = connect();
  ASSERT_FALSE(client->send(encode(Hello{"f", DatabaseId(), Cursor()})).has_error());
  EXPECT_EQ(std::get<Welcome>(next_text(*client).value()).database_id, database_id_);
  EXPECT_EQ(blocks_until(*client, at(3)), run_of(1, 3));
}

TEST_F(ShipperTest, FollowsAMovingHeadWithoutAGap) {
  auto first = follow(Cursor());
  auto second = follow(at(3));
  std::thread writer([&] {
    for (int i = 0; i < 300; ++i) {
      append(1, i % 50 == 0 ? 30'000 : 100);
      shipper_->publish(log_->durable_cursor());
    }
  });
  EXPECT_EQ(blocks_until(*first, at(303)), run_of(1, 303));
  EXPECT_EQ(blocks_until(*second, at(303)), run_of(4, 303));
  writer.join();
}

TEST_F(ShipperTest, Hazard03NothingBeyondTheCommittedCursorIsShipped) {
  append(2);
  auto client = follow(Cursor());
  EXPECT_EQ(std::get<Welcome>(next_text(*client).value()).head, at(3));
  EXPECT_EQ(blocks_until(*client, at(3)), run_of(1, 3));
  clock_.advance_ms(heartbeat_interval_ms);  // what comes next is a heartbeat, not a block
  for (int beats = 0; beats < 2; ++beats) {
    const auto message = client->receive(kWaitMs).value();
    ASSERT_TRUE(message && message->text);
    EXPECT_EQ(std::get<Heartbeat>(parse_subscribe_frame(message->bytes).value()).head, at(3));
    clock_.advance_ms(heartbeat_interval_ms);
  }
  shipper_->publish(at(4));
  EXPECT_EQ(blocks_until(*client, at(4)), run_of(4, 4));
  shipper_->publish(at(5));
  EXPECT_EQ(blocks_until(*client, at(5)), run_of(5, 5));
}

TEST_F(ShipperTest, HeartbeatsCarryHeadAndTime) {
  auto client = follow(at(3));
  ASSERT_TRUE(std::holds_alternative<Welcome>(next_text(*client).value()));
  clock_.advance_ms(heartbeat_interval_ms);
  const auto beat = std::get<Heartbeat>(next_text(*client).value());
  EXPECT_EQ(beat.head, at(3));
  EXPECT_LE(beat.now, clock_.now());
}

TEST_F(ShipperTest, RefusesAnotherDatabasesFollower) {
  EXPECT_EQ(refusal_of(encode(Hello{"f", random_.uuid(), at(1)})), "DATABASE_MISMATCH");
}

TEST_F(ShipperTest, RefusesAFollowerThatIsAhead) {
  append(1);  // in the log, not committed
  EXPECT_EQ(refusal_of(encode(Hello{"f", database_id_, at(4)})), "FOLLOWER_AHEAD");
}

TEST_F(ShipperTest, AsksForASnapshotWhenRetentionHasRemovedTheCursor) {
  append(60, 20'000);
  ASSERT_FALSE(log_->retain(log_->durable_cursor(), 0).has_error());
  ASSERT_GT(log_->first_cursor(), at(3));
  shipper_->publish(log_->durable_cursor());
  EXPECT_EQ(refusal_of(encode(Hello{"f", database_id_, at(1)})), "SNAPSHOT_REQUIRED");
}

TEST_F(ShipperTest, RefusesWhatIsNoFrame) {
  for (const char* garbage : {"", "x", "[]", "{}", R"({"t":"nonsense"})", R"({"t":"hello"})",
                              R"({"t":"hello","protocol":2,"name":"f","databaseId":"","cursor":""})",
                              R"({"t":"ack","durable":"w:1","applied":"w:1"})"}) {
    EXPECT_EQ(refusal_of(garbage), "PROTOCOL") << garbage;
  }
  EXPECT_EQ(refusal_of(encode(Hello{"f", database_id_, at(1)}), false), "PROTOCOL");
}

TEST_F(ShipperTest, KnowsWhatFollowersHaveAcknowledged) {
  {
    auto client = follow(at(1));
    ASSERT_FALSE(client->send(encode(Acknowledgement{at(3), at(2)})).has_error());
    EXPECT_TRUE(eventually([&] {
      const auto followers = shipper_->followers();
      return followers.size() == 1 && followers[0].name == "f" && followers[0].durable == at(3) &&
             followers[0].applied == at(2);
    }));
  }
  EXPECT_TRUE(eventually([&] { return shipper_->followers().empty(); }));
}

TEST_F(ShipperTest, ConnectionsThatComeAndGoWhileTheHeadMovesDoNoHarm) {
  std::atomic<bool> done = false;
  std::thread asking([&] {
    while (!done) (void)shipper_->followers();
  });
  std::thread writing([&] {
    for (int i = 0; i < 200 && !done; ++i) {
      append(1);
      shipper_->publish(log_->durable_cursor());
    }
  });
  for (int i = 0; i < 20; ++i) {
    auto client = follow(at(static_cast<std::uint64_t>(i % 3)));
    (void)client->send(encode(Acknowledgement{at(1), at(1)}));
    if (i % 2 == 0) (void)next_text(*client);
  }
  done = true;
  asking.join();
  writing.join();
  EXPECT_TRUE(eventually([&] { return shipper_->followers().empty(); }));
}

TEST_F(ShipperTest, StopsWhileFollowersAreConnected) {
  auto client = follow(at(1));
  ASSERT_TRUE(next_text(*client).has_value());
  shipper_->stop();
  (void)client->send(encode(Acknowledgement{at(1), at(1)}));
  auto late = follow(at(1));
  EXPECT_TRUE(shipper_->followers().empty() || !shipper_->followers().front().name.empty());
}

TEST(SubscribeFrame, EveryFrameReadsBackAsItWas) {
  SeededRandom random(1);
  const DatabaseId id = random.uuid();
  const auto again = [](const SubscribeFrame& frame) { return parse_subscribe_frame(encode(frame)).value(); };
  const auto hello = std::get<Hello>(again(Hello{"näme\"\n", id, Cursor(Epoch{2}, 7)}));
  EXPECT_EQ(hello.name, "näme\"\n");
  EXPECT_EQ(hello.database_id, id);
  EXPECT_EQ(hello.cursor, Cursor(Epoch{2}, 7));
  const auto ack = std::get<Acknowledgement>(again(Acknowledgement{Cursor(5), Cursor(4)}));
  EXPECT_EQ(ack.durable, Cursor(5));
  EXPECT_EQ(ack.applied, Cursor(4));
  EXPECT_EQ(std::get<Welcome>(again(Welcome{id, Cursor(5), UnixMs{9}})).now, UnixMs{9});
  EXPECT_EQ(std::get<Refusal>(again(Refusal{"C", "m"})).message, "m");
  EXPECT_EQ(std::get<Heartbeat>(again(Heartbeat{Cursor(5), UnixMs{9}})).head, Cursor(5));
}

}  // namespace
}  // namespace leat::changelog
