// A follower against a real shipper over a real socket.
#include "follower/replication.h"

#include <atomic>

#include "changelog/subscribe_protocol.h"
#include "follower/replication_test_support.h"

namespace leat::follower {
namespace {

// A master: a log, and a server that ships it and can be taken away and brought back on the same port.
class TestMaster {
 public:
  explicit TestMaster(DatabaseId database) : database_(database) {
    log_ = changelog::open_segment_log({"/master", database, 64 << 10}, files_, system_random()).value();
    start();
  }
  ~TestMaster() { stop(); }

  void write(int blocks) {
    for (int i = 0; i < blocks; ++i) {
      const Cursor last = log_->durable_cursor();
      const Cursor next = last == Cursor() ? at(1) : last.next();
      ASSERT_EQ(log_->append(test_block(next, clock.now())).durability, changelog::Durability::kDurable);
      shipper_->publish(next);
    }
  }
  void start() {
    shipper_.emplace(*log_, database_, log_->durable_cursor(), clock);
    HttpServerLimits limits;
    limits.stop_grace_ms = 100;
    server_.emplace(limits, 1);
    port_ = server_
                ->listen("127.0.0.1", port_, nullptr,
                         [this](const WebSocketUpgrade&) {
                           ++connections;
                           WebSocketAccept accept;
                           accept.listener = shipper_->listener();
                           return accept;
                         })
                .value();
    server_->start();
  }
  void stop() {
    server_->stop();
    shipper_->stop();
  }
  Url url() const { return Url{"ws", "127.0.0.1", port_, "/subscribe"}; }
  std::vector<changelog::FollowerStatus> followers() const { return shipper_->followers(); }

  ManualClock clock{UnixMs{1'800'000'000'000}};
  std::atomic<int> connections{0};

 private:
  FaultyFiles files_;
  DatabaseId database_;
  std::unique_ptr<changelog::ChangeLog> log_;
  std::optional<changelog::Shipper> shipper_;
  std::optional<HttpServer> server_;
  std::uint16_t port_ = 0;
};

class ReplicationTest : public testing::Test {
 protected:
  void TearDown() override { replication_.reset(); }

  void follow(const Url& url, Clock& clock = system_clock()) {
    replica_ = folder_.open().value();
    replication_.emplace(*replica_, ReplicationOptions{"f", url, ""}, clock);
  }
  void stop_following() {
    replication_.reset();
    replica_.reset();
  }
  bool reaches(std::uint64_t sequence) {
    return eventually([&] { return replica_->applied() == at(sequence); });
  }
  bool is_refused(std::string_view why) {
    return eventually([&] {
      return replication_->state() == ReplicationState::kRefused &&
             replication_->problem().find(why) != std::string::npos;
    });
  }

  DatabaseId database_ = system_random().uuid();
  TestMaster master_{database_};
  ReplicaFolder folder_;
  std::unique_ptr<Replica> replica_;
  std::optional<Replication> replication_;
};

TEST_F(ReplicationTest, AnEmptyFollowerTakesUpTheDatabaseAndFollowsItsHead) {
  master_.write(3);
  follow(master_.url());
  ASSERT_TRUE(reaches(3));
  EXPECT_EQ(replica_->database_id(), database_);
  master_.write(50);
  ASSERT_TRUE(reaches(53));
  EXPECT_EQ(folder_.rows(), ReplicaFolder::ids(2, 53));
  EXPECT_EQ(replication_->state(), ReplicationState::kFollowing);
}

TEST_F(ReplicationTest, AFollowerThatStopsResumesAtItsCursor) {
  master_.write(10);
  for (std::uint64_t head = 10; head <= 50; head += 10) {
    follow(master_.url());
    ASSERT_TRUE(reaches(head));
    stop_following();
    master_.write(10);
  }
  follow(master_.url());
  ASSERT_TRUE(reaches(60));
  stop_following();
  EXPECT_EQ(folder_.rows(), ReplicaFolder::ids(2, 60));
  EXPECT_EQ(folder_.fed, ReplicaFolder::sequences(1, 60));
}

TEST_F(ReplicationTest, AFollowerThatLosesItsConnectionResumesAtItsCursor) {
  follow(master_.url());
  std::uint64_t head = 0;
  for (int life = 0; life < 4; ++life) {
    master_.write(100);
    head += 100;
    if (life % 2 == 0) {
      EXPECT_TRUE(reaches(head));
    }
    master_.stop();
    master_.start();
  }
  ASSERT_TRUE(reaches(head));
  EXPECT_GE(master_.connections, 2);
  stop_following();
  EXPECT_EQ(folder_.rows(), ReplicaFolder::ids(2, static_cast<std::int64_t>(head)));
  EXPECT_EQ(folder_.fed, ReplicaFolder::sequences(1, head));
}

TEST_F(ReplicationTest, AFollowerThatLagsCatchesUp) {
  follow(master_.url());
  master_.write(1);
  ASSERT_TRUE(reaches(1));
  // Another connection holds the write lock: what arrives cannot be applied.
  auto other = sqlite::Connection::open(folder_.database(), sqlite::OpenMode::kReadWrite).value();
  other->execute("begin immediate").value();
  master_.write(200);
  EXPECT_TRUE(eventually([&] { return replication_->state() == ReplicationState::kRefused; }));
  EXPECT_EQ(replica_->applied(), at(1));
  other->execute("rollback").value();
  ASSERT_TRUE(reaches(201));
  stop_following();
  EXPECT_EQ(folder_.fed, ReplicaFolder::sequences(1, 201));
}

TEST_F(ReplicationTest, TheMasterKnowsWhatIsAppliedAndDurableAlsoAfterAReconnect) {
  master_.write(5);
  follow(master_.url());
  const auto is_known = [&] {
    const auto followers = master_.followers();
    return !followers.empty() && followers[0].applied == at(5) && followers[0].durable == at(5);
  };
  EXPECT_TRUE(eventually(is_known));
  master_.stop();
  master_.start();
  EXPECT_TRUE(eventually(is_known));
}

TEST_F(ReplicationTest, AFollowerOfAnotherDatabaseIsRefused) {
  master_.write(2);
  follow(master_.url());
  ASSERT_TRUE(reaches(2));
  stop_following();
  TestMaster other(system_random().uuid());
  other.write(5);
  follow(other.url());
  EXPECT_TRUE(is_refused("DATABASE_MISMATCH"));
  EXPECT_EQ(replica_->applied(), at(2));
  stop_following();
  EXPECT_EQ(folder_.rows(), ReplicaFolder::ids(2, 2));
}

TEST_F(ReplicationTest, AFollowerAheadOfItsMasterIsRefused) {
  master_.write(9);
  follow(master_.url());
  ASSERT_TRUE(reaches(9));
  stop_following();
  TestMaster restored(database_);
  restored.write(4);
  follow(restored.url());
  EXPECT_TRUE(is_refused("FOLLOWER_AHEAD"));
  EXPECT_EQ(replica_->applied(), at(9));
  stop_following();
  EXPECT_EQ(folder_.rows(), ReplicaFolder::ids(2, 9));
}

TEST_F(ReplicationTest, LagIsZeroWhenNothingIsMissingAndGrowsByTheMastersClock) {
  master_.write(2);
  ManualClock clock(UnixMs{5'000});  // far from the master's
  follow(master_.url(), clock);
  ASSERT_TRUE(reaches(2));
  EXPECT_TRUE(eventually([&] { return replication_->state() == ReplicationState::kFollowing; }));
  EXPECT_EQ(replication_->head(), at(2));
  EXPECT_EQ(replication_->lag_ms(), 0);
  master_.stop();
  EXPECT_TRUE(eventually([&] { return replication_->state() == ReplicationState::kConnecting; }));
  clock.advance_ms(7'000);
  EXPECT_EQ(replication_->lag_ms(), 7'000);
  master_.start();
  EXPECT_TRUE(eventually([&] { return replication_->lag_ms() == 0; }));
}

// A master that does what a real one never does.
class LiarMaster final : public WebSocketListener, public std::enable_shared_from_this<LiarMaster> {
 public:
  using Script = std::function<void(WebSocket&, const changelog::Hello&)>;
  explicit LiarMaster(Script script) : script_(std::move(script)) {}
  void on_open(std::shared_ptr<WebSocket> socket) override { socket_ = std::move(socket); }
  void on_message(std::string_view message, bool) override {
    const auto frame = changelog::parse_subscribe_frame(message).value();
    if (const auto* hello = std::get_if<changelog::Hello>(&frame)) script_(*socket_, *hello);
  }
  void on_close() override { socket_.reset(); }

 private:
  Script script_;
  std::shared_ptr<WebSocket> socket_;
};

class LiarServer {
 public:
  explicit LiarServer(LiarMaster::Script script) : server_(HttpServerLimits{}, 1) {
    port_ = server_
                .listen("127.0.0.1", 0, nullptr,
                        [this, script](const WebSocketUpgrade&) {
                          ++connections;
                          WebSocketAccept accept;
                          accept.listener = std::make_shared<LiarMaster>(script);
                          return accept;
                        })
                .value();
    server_.start();
  }
  Url url() const { return Url{"ws", "127.0.0.1", port_, "/subscribe"}; }
  std::atomic<int> connections{0};

 private:
  HttpServer server_;
  std::uint16_t port_ = 0;
};

void welcome(WebSocket& socket, const DatabaseId& database, Cursor head) {
  socket.send({true, changelog::encode(changelog::Welcome{database, head, UnixMs{1}}), nullptr});
}

TEST_F(ReplicationTest, AGapSentByTheMasterChangesNothingAndIsReported) {
  std::atomic<bool> lies{true};
  LiarServer liar([&](WebSocket& socket, const changelog::Hello& hello) {
    welcome(socket, database_, at(9));
    if (hello.cursor == Cursor()) socket.send({false, test_blocks(1, 3), nullptr});
    if (lies) {
      socket.send({false, test_blocks(5, 9), nullptr});
    } else {
      socket.send({false, test_blocks(hello.cursor.sequence() + 1, 9), nullptr});
    }
  });
  follow(liar.url());
  EXPECT_TRUE(is_refused(at(5).to_text()));
  EXPECT_EQ(replica_->applied(), at(3));
  EXPECT_EQ(folder_.rows(), ReplicaFolder::ids(2, 3));
  lies = false;
  EXPECT_TRUE(reaches(9)) << "tried again, slowly";
}

TEST_F(ReplicationTest, GarbageFromTheWireChangesNothingAndIsReported) {
  const std::vector<std::string> garbage = {"garbage", test_blocks(1, 1).substr(0, 60), std::string(1 << 20, '\0'),
                                            test_blocks(1, 1) + "x"};
  for (const auto& bytes : garbage) {
    LiarServer liar([&](WebSocket& socket, const changelog::Hello&) {
      welcome(socket, database_, at(9));
      socket.send({false, bytes, nullptr});
    });
    follow(liar.url());
    EXPECT_TRUE(eventually(
        [&] { return replication_->state() == ReplicationState::kRefused && !replication_->problem().empty(); }));
    EXPECT_EQ(replica_->applied(), Cursor());
    stop_following();
  }
}

TEST_F(ReplicationTest, BlocksBeforeTheWelcomeAreRefused) {
  LiarServer liar([&](WebSocket& socket, const changelog::Hello&) {
    socket.send({false, test_blocks(1, 1), nullptr});
  });
  follow(liar.url());
  EXPECT_TRUE(eventually([&] { return replication_->state() == ReplicationState::kRefused; }));
}

TEST_F(ReplicationTest, TextThatIsNoFrameEndsTheConnection) {
  LiarServer liar([&](WebSocket& socket, const changelog::Hello&) { socket.send({true, "{]", nullptr}); });
  follow(liar.url());
  EXPECT_TRUE(eventually([&] { return liar.connections >= 2; }));
  EXPECT_FALSE(replication_->problem().empty());
}

TEST_F(ReplicationTest, ASilentMasterIsLeftAndTriedAgain) {
  LiarServer liar([&](WebSocket& socket, const changelog::Hello&) { welcome(socket, database_, Cursor()); });
  ManualClock clock(UnixMs{5'000});
  follow(liar.url(), clock);
  ASSERT_TRUE(eventually([&] { return replication_->state() == ReplicationState::kFollowing; }));
  bool was_reported = false;  // until the next welcome
  EXPECT_TRUE(eventually([&] {
    clock.advance_ms(100);
    was_reported = was_reported || replication_->problem().find("silent") != std::string::npos;
    return was_reported && liar.connections >= 2;
  }));
}

TEST_F(ReplicationTest, StopsSoonWhileItConnectsToAServerThatSaysNothing) {
  // A socket that listens and never answers a handshake.
  HttpServer mute(HttpServerLimits{}, 1);
  const auto port = mute.listen("127.0.0.1", 0, nullptr, nullptr).value();
  follow(Url{"ws", "127.0.0.1", port, "/subscribe"});
  const auto begun = std::chrono::steady_clock::now();
  stop_following();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
}

TEST_F(ReplicationTest, StopsSoonWithNobodyThere) {
  follow(Url{"ws", "127.0.0.1", 1, "/subscribe"});
  ASSERT_TRUE(eventually([&] { return !replication_->problem().empty(); }));
  EXPECT_EQ(replication_->state(), ReplicationState::kConnecting);
  const auto begun = std::chrono::steady_clock::now();
  stop_following();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(2));
}

TEST_F(ReplicationTest, ACopyOfItsFilesTakenAtAnyMomentReopensAndResumes) {
  follow(master_.url());
  const std::size_t copies_wanted = 6;
  std::vector<std::filesystem::path> copies;
  for (std::size_t i = 0; i < copies_wanted; ++i) {
    master_.write(40);
    // As after SIGKILL: the database's files under a write transaction that will never end, the log as it stands.
    const auto copy = folder_.path() / ("copy" + std::to_string(i));
    std::filesystem::create_directories(copy);
    auto lock = sqlite::Connection::open(folder_.database(), sqlite::OpenMode::kReadWrite).value();
    while (lock->execute("begin immediate").has_error()) std::this_thread::yield();
    for (const char* suffix : {"", "-wal"}) {
      std::filesystem::copy_file(folder_.database() + suffix, copy / (std::string("f.db") + suffix));
    }
    lock->execute("rollback").value();
    copies.push_back(copy);
  }
  ASSERT_TRUE(reaches(40 * copies_wanted));
  stop_following();
  for (const auto& copy : copies) {
    // Its segments are ahead: they are replayed; the rest comes from the master.
    for (const char* suffix : {"-wal", "-shm", ""}) std::filesystem::remove(folder_.database() + suffix);
    for (const char* suffix : {"", "-wal"}) {
      std::filesystem::copy_file(copy / (std::string("f.db") + suffix), folder_.database() + suffix);
    }
    follow(master_.url());
    ASSERT_TRUE(reaches(40 * copies_wanted));
    stop_following();
    EXPECT_EQ(folder_.rows(), ReplicaFolder::ids(2, 40 * copies_wanted));
  }
}

}  // namespace
}  // namespace leat::follower
