// What makes a retry safe, as rules over plain values: no database, no clock (DESIGN section 4, "Dedup").
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/ids.h"

namespace leat::master {

// `sql1.<13-digit unix ms>.<32 lowercase hex>`.
struct IdempotencyKey {
  std::int64_t made_ms = 0;  // the client's clock
  std::array<std::uint8_t, 16> id{};
  // Error: kIdempotencyKeyInvalid.
  static Result<IdempotencyKey> parse(std::string_view text);
  std::string to_text() const;
};

// Identifies what a request asks for; equal requests have equal fingerprints.
using Fingerprint = std::array<std::uint8_t, 16>;

enum class Verdict : std::uint8_t { kApply, kAbsorb };

// Whether a key may be used at all. Errors: kIdempotencyKeyInvalid (too far ahead of `now`), kOperationOutcomeExpired
// (older than what is kept, or than the ledger's floor).
Result<void> admit_key(const IdempotencyKey& key, UnixMs now, std::int64_t floor_ms);
// A key that has an outcome: absorbed when the request is the same, else kOperationIdMismatch.
Result<Verdict> judge_outcome(const IdempotencyKey& key, const Fingerprint& stored, const Fingerprint& asked);

// `last` is the number applied last; nullopt for one never seen. Error: kGap naming the expected number.
Result<Verdict> judge_producer(const ProducerId& producer, std::optional<Seq> last, Seq asked);
Result<Verdict> judge_mutation(const ClientId& client, std::optional<Mid> last, Mid asked);

}  // namespace leat::master
