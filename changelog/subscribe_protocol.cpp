#include "changelog/subscribe_protocol.h"

#include <boost/json.hpp>

namespace leat::changelog {

namespace json = boost::json;

namespace {

// Reads the fields of a frame; the first problem is kept.
class Fields {
 public:
  explicit Fields(const json::object& object) : object_(object) {}

  std::string text(std::string_view key) {
    const auto* value = find(key);
    if (value == nullptr || !value->is_string()) {
      fail(key);
      return {};
    }
    return std::string(value->get_string());
  }
  Cursor cursor(std::string_view key) {
    const auto parsed = Cursor::parse(text(key));
    if (!parsed) fail(key);
    return parsed.value_or(Cursor());
  }
  DatabaseId database_id(std::string_view key) {
    const auto parsed = DatabaseId::parse(text(key));
    if (!parsed) fail(key);
    return parsed.value_or(DatabaseId());
  }
  std::int64_t integer(std::string_view key) {
    const auto* value = find(key);
    if (value == nullptr || !value->is_int64()) {
      fail(key);
      return 0;
    }
    return value->get_int64();
  }
  Result<SubscribeFrame> finish(SubscribeFrame frame) {
    if (bad_.empty()) return frame;
    return make_error(ErrorCode::kStatementInvalid, "subscribe frame: \"" + bad_ + "\" is missing or wrong");
  }

 private:
  const json::value* find(std::string_view key) const {
    return object_.if_contains(json::string_view(key.data(), key.size()));
  }
  void fail(std::string_view key) {
    if (bad_.empty()) bad_ = key;
  }

  const json::object& object_;
  std::string bad_;
};

json::object to_json(const Hello& hello) {
  return {{"t", "hello"},
          {"protocol", subscribe_protocol_version},
          {"name", hello.name},
          {"databaseId", hello.database_id.to_text()},
          {"cursor", hello.cursor.to_text()}};
}
json::object to_json(const Acknowledgement& ack) {
  return {{"t", "ack"}, {"durable", ack.durable.to_text()}, {"applied", ack.applied.to_text()}};
}
json::object to_json(const Welcome& welcome) {
  return {{"t", "welcome"},
          {"databaseId", welcome.database_id.to_text()},
          {"head", welcome.head.to_text()},
          {"now", welcome.now.value}};
}
json::object to_json(const Refusal& refusal) {
  return {{"t", "refused"}, {"code", refusal.code}, {"message", refusal.message}};
}
json::object to_json(const Heartbeat& heartbeat) {
  return {{"t", "heartbeat"}, {"head", heartbeat.head.to_text()}, {"now", heartbeat.now.value}};
}

}  // namespace

std::string encode(const SubscribeFrame& frame) {
  return std::visit([](const auto& of) { return json::serialize(to_json(of)); }, frame);
}

Result<SubscribeFrame> parse_subscribe_frame(std::string_view text) {
  boost::system::error_code error;
  const json::value root = json::parse(json::string_view(text.data(), text.size()), error);
  if (error || !root.is_object()) return make_error(ErrorCode::kStatementInvalid, "subscribe frame: not a JSON object");
  Fields fields(root.get_object());
  const std::string kind = fields.text("t");
  if (kind == "hello") {
    if (fields.integer("protocol") != subscribe_protocol_version) {
      return make_error(ErrorCode::kStatementInvalid, "subscribe frame: this server speaks protocol " +
                                                          std::to_string(subscribe_protocol_version) +
                                                          " only; run the same version of Leat on both sides");
    }
    return fields.finish(Hello{fields.text("name"), fields.database_id("databaseId"), fields.cursor("cursor")});
  }
  if (kind == "ack") return fields.finish(Acknowledgement{fields.cursor("durable"), fields.cursor("applied")});
  if (kind == "welcome") {
    return fields.finish(
        Welcome{fields.database_id("databaseId"), fields.cursor("head"), UnixMs{fields.integer("now")}});
  }
  if (kind == "refused") return fields.finish(Refusal{fields.text("code"), fields.text("message")});
  if (kind == "heartbeat") return fields.finish(Heartbeat{fields.cursor("head"), UnixMs{fields.integer("now")}});
  return make_error(ErrorCode::kStatementInvalid, "subscribe frame: unknown kind \"" + kind + '"');
}

}  // namespace leat::changelog
