// Ships the change log to followers: one WebSocket each, blocks as they stand in the log, from the cursor the follower
// names.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "changelog/log.h"
#include "changelog/subscribe_protocol.h"
#include "core/clock.h"
#include "core/http.h"
#include "core/ids.h"

namespace leat::changelog {

struct FollowerStatus {
  std::string name;
  Cursor durable;
  Cursor applied;
  UnixMs acknowledged_at;
};

class Shipper {
 public:
  // Told, on the shipper's thread, what the log has to keep for the followers that are connected: everything beyond the
  // cursor that all of them have synced. Nothing, when there are none: then the greatest cursor there can be.
  using FloorSink = std::function<void(Cursor floor)>;
  // `log` must outlive the shipper. Nothing beyond `committed` is shipped before publish() says so (HAZARDS 3).
  Shipper(ChangeLog& log, DatabaseId database_id, Cursor committed, Clock& clock, FloorSink on_floor = {});
  ~Shipper();  // stops
  Shipper(const Shipper&) = delete;
  Shipper& operator=(const Shipper&) = delete;

  // A connection to serve. Any thread.
  std::shared_ptr<WebSocketListener> listener();
  // Everything up to `committed` may be shipped. Any thread, never blocks on a follower.
  void publish(Cursor committed);
  void stop();

  std::vector<FollowerStatus> followers() const;  // connected now

 private:
  class Session;
  void run();
  void welcome(Session& session, WebSocket& socket, const Hello& hello, Cursor committed);
  void pump(Session& session, WebSocket& socket, Cursor committed);
  void wake();
  void report_floor();
  std::vector<std::shared_ptr<Session>> sessions() const;

  ChangeLog& log_;
  DatabaseId database_id_;
  Clock& clock_;
  FloorSink on_floor_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool has_work_ = false;
  bool stopping_ = false;
  Cursor committed_;
  // A connection owns its session. The mutex of a session may be held when this one is taken, never the other way.
  std::list<std::weak_ptr<Session>> sessions_;
  std::thread thread_;
};

}  // namespace leat::changelog
