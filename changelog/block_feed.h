// Hands each committed block to whoever is connected: the shipper, the live queries.
#pragma once

#include <functional>
#include <list>
#include <mutex>
#include <utility>

#include "changelog/block.h"

namespace leat::changelog {

// publish() is for the one thread that commits; connections come and go on any thread. Once a connection is destroyed
// its sink is not called any more.
class BlockFeed {
 public:
  using Sink = std::function<void(const AppliedBlock&)>;  // must not block, nor connect

  class Connection {
   public:
    Connection(BlockFeed& feed, std::list<Sink>::iterator at) : feed_(feed), at_(at) {}
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection() {
      const std::lock_guard lock(feed_.mutex_);
      feed_.sinks_.erase(at_);
    }

   private:
    BlockFeed& feed_;
    std::list<Sink>::iterator at_;
  };

  [[nodiscard]] Connection connect(Sink sink) {
    const std::lock_guard lock(mutex_);
    return Connection(*this, sinks_.insert(sinks_.end(), std::move(sink)));
  }
  void publish(const AppliedBlock& block) {
    const std::lock_guard lock(mutex_);
    for (const Sink& sink : sinks_) sink(block);
  }

 private:
  std::mutex mutex_;
  std::list<Sink> sinks_;
};

}  // namespace leat::changelog
