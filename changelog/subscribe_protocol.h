// The frames of `/subscribe`, by which a follower gets the change log (ops/docs/protocol.md). Text frames are JSON and
// are here; binary frames are whole blocks, one after the other, as they stand in the log.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/error.h"
#include "core/ids.h"

namespace leat::changelog {

constexpr int subscribe_protocol_version = 1;
constexpr std::int64_t heartbeat_interval_ms = 1'000;

// Follower to master, first: who I am and where I stand. A nil database id: I am empty and take any database.
struct Hello {
  std::string name;
  DatabaseId database_id;
  Cursor cursor;
};
// Follower to master: what I have synced, and what my database holds.
struct Acknowledgement {
  Cursor durable;
  Cursor applied;
};
// Master to follower, the answer to a Hello; blocks follow.
struct Welcome {
  DatabaseId database_id;
  Cursor head;
  UnixMs now;
};
// Master to follower, the other answer; the connection is then closed. Codes: DATABASE_MISMATCH, FOLLOWER_AHEAD,
// SNAPSHOT_REQUIRED, CORRUPT, PROTOCOL.
struct Refusal {
  std::string code;
  std::string message;
};
// Master to follower, every heartbeat_interval_ms: lag is known in cursors and milliseconds, even when idle.
struct Heartbeat {
  Cursor head;
  UnixMs now;
};

using SubscribeFrame = std::variant<Hello, Acknowledgement, Welcome, Refusal, Heartbeat>;

std::string encode(const SubscribeFrame& frame);
// Error: kStatementInvalid naming the field that is missing or wrong.
Result<SubscribeFrame> parse_subscribe_frame(std::string_view text);

}  // namespace leat::changelog
