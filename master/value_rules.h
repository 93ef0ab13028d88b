// Values that the wire could not carry to a live query are refused when they are written (WIRE, "Values").
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "changelog/catalog.h"
#include "changelog/record.h"
#include "core/error.h"

namespace leat::master {

// The writer's thread.
class ValueRules {
 public:
  // Error: kValueUnsupported naming table and column, for anything but 0, 1 and NULL in a BOOLEAN column, and for an
  // integer beyond 2^53 - 1 in a column that is not declared BIGINT or INT8.
  Result<void> check(std::span<const changelog::ChangeRecord> records,
                     const std::shared_ptr<const changelog::Catalog>& catalog);

 private:
  enum class Rule : std::uint8_t { kSafeInteger, kBoolean, kAny };
  const std::vector<Rule>& rules_of(const std::string& table);

  std::shared_ptr<const changelog::Catalog> catalog_;
  std::unordered_map<std::string, std::vector<Rule>> rules_;
};

}  // namespace leat::master
