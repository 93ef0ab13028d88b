// The reading half: readers, live queries and subscriptions over one database file and a feed of what is applied to it.
// It does not know whether it stands in a follower or beside the master.
//
// A program makes one, publishes every block to it right after its COMMIT (in order, none left out), and wires its HTTP
// paths and its WebSocket acceptor into a server. One engine thread owns the live queries. A step is a run of blocks:
// the engine opens a read transaction, reads the applied cursor in it, waits until the feed has come that far, and
// takes all blocks up to there with that snapshot (HAZARDS 22).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "changelog/block.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/http.h"
#include "core/ids.h"
#include "core/metrics.h"
#include "core/random.h"
#include "follower/limits.h"

namespace leat::follower {

class ReadingHalf {
 public:
  // How far the file is behind the master's.
  struct Lag {
    std::uint64_t writes = 0;
    std::int64_t age_ms = 0;  // of what is applied; 0 when nothing is missing
  };
  struct Options {
    std::string database_path;  // exists already, in WAL mode
    std::size_t queue_bytes_max = subscription_queue_bytes_max;
    std::int64_t lease_ttl_ms = lease_ttl_ms_default;  // where a request names none
    std::int64_t read_ms_max = 5'000;                  // one statement of /execute-sql-read or /query
    std::function<Lag()> lag;                          // for /stats, any thread; empty: never behind
  };
  // `metrics` must outlive it. Errors: the database cannot be opened.
  static Result<std::unique_ptr<ReadingHalf>> open(Options options, Clock& clock, Random& random,
                                                   MetricsRegistry& metrics);
  ~ReadingHalf();  // stops

  // From the thread that applies, after COMMIT. Never blocks.
  void publish(const changelog::AppliedBlock& block);

  // True: the path is one of its own and the request will be answered. /materialize, /dematerialize, /query,
  // /execute-sql-read, /schema, /migrations, /stats; the caller has checked the token. Any thread.
  bool handle(HttpRequest& request, HttpReply& reply);
  // Subscriptions, on any path. Must not be used after stop().
  WebSocketAcceptor acceptor();

  // Calls `done(true)` once the file has applied `cursor`, or `done(false)` after `wait_ms`, on the engine thread or at
  // once. Any thread.
  void when_applied(Cursor cursor, std::int64_t wait_ms, std::function<void(bool)> done);

  Cursor applied() const;
  const std::string& boot_id() const;  // the program stamps it on every answer, as Rindle-Boot-Id

  void stop();  // ends the threads; idempotent

 private:
  struct Impl;
  explicit ReadingHalf(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace leat::follower
