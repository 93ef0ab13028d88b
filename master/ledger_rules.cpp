#include "master/ledger_rules.h"

#include <algorithm>
#include <charconv>

#include "master/limits.h"

namespace leat::master {

namespace {

constexpr std::string_view kPrefix = "sql1.";
constexpr std::size_t kTimeDigits = 13;
constexpr std::size_t kIdDigits = 32;

Error bad_key() {
  return make_error(ErrorCode::kIdempotencyKeyInvalid,
                    "idempotency_key must match sql1.<13-digit-unix-ms>.<32-lowercase-hex>");
}

std::string named(const IdempotencyKey& key) { return "\"sql-operation:" + key.to_text() + '"'; }

}  // namespace

Result<IdempotencyKey> IdempotencyKey::parse(std::string_view text) {
  if (text.size() != kPrefix.size() + kTimeDigits + 1 + kIdDigits || !text.starts_with(kPrefix)) return bad_key();
  const std::string_view time = text.substr(kPrefix.size(), kTimeDigits);
  const std::string_view id = text.substr(kPrefix.size() + kTimeDigits + 1);
  if (text[kPrefix.size() + kTimeDigits] != '.') return bad_key();
  if (!std::all_of(time.begin(), time.end(), [](char c) { return c >= '0' && c <= '9'; })) return bad_key();
  IdempotencyKey key;
  std::from_chars(time.data(), time.data() + time.size(), key.made_ms);
  for (std::size_t i = 0; i < kIdDigits; ++i) {
    const char c = id[i];
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && (c < 'a' || c > 'f')) return bad_key();
    const int value = is_digit ? c - '0' : c - 'a' + 10;
    key.id[i / 2] = static_cast<std::uint8_t>((key.id[i / 2] << 4) | value);
  }
  return key;
}

std::string IdempotencyKey::to_text() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string time = std::to_string(made_ms);
  std::string text(kPrefix);
  text.append(kTimeDigits - std::min(kTimeDigits, time.size()), '0');
  text += time;
  text += '.';
  for (const std::uint8_t byte : id) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 0xf];
  }
  return text;
}

Result<void> admit_key(const IdempotencyKey& key, UnixMs now, std::int64_t floor_ms) {
  if (key.made_ms > now.value + key_ahead_ms_max) {
    return make_error(ErrorCode::kIdempotencyKeyInvalid,
                      "idempotency_key is " + std::to_string((key.made_ms - now.value) / 1000) +
                          " s ahead of the server's clock; at most " + std::to_string(key_ahead_ms_max / 1000) +
                          " s are accepted: set the client's clock");
  }
  if (key.made_ms < std::max(floor_ms, now.value - outcome_kept_ms)) {
    return make_error(ErrorCode::kOperationOutcomeExpired,
                      "the exact outcome for idempotency key " + named(key) + " is no longer retained");
  }
  return {};
}

Result<Verdict> judge_outcome(const IdempotencyKey& key, const Fingerprint& stored, const Fingerprint& asked) {
  if (stored == asked) return Verdict::kAbsorb;
  return make_error(ErrorCode::kOperationIdMismatch,
                    "idempotency key " + named(key) + " was already used for a different SQL request");
}

namespace {

Result<Verdict> judge_number(std::int64_t last, std::int64_t asked, const std::string& what, const std::string& unit) {
  if (asked <= last) return Verdict::kAbsorb;
  if (asked == last + 1) return Verdict::kApply;
  return make_error(ErrorCode::kGap,
                    what + ": expected " + unit + " " + std::to_string(last + 1) + ", got " + std::to_string(asked));
}

}  // namespace

Result<Verdict> judge_producer(const ProducerId& producer, std::optional<Seq> last, Seq asked) {
  return judge_number(last ? last->value : 0, asked.value, "producer gap for \"" + producer.text() + '"', "seq");
}

Result<Verdict> judge_mutation(const ClientId& client, std::optional<Mid> last, Mid asked) {
  return judge_number(last ? last->value : 0, asked.value, "mutation gap for client \"" + client.text() + '"', "mid");
}

}  // namespace leat::master
