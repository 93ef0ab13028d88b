// Reads a JSON configuration strictly: every key has a type and a range, and a key that nobody asked for is an error
// that names the nearest known one.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace leat {

// A cursor over one JSON object. A getter marks its key as known; the first problem is kept and every getter then
// answers its default, so a reader is a plain list of getters and one finish(). A null value counts as absent. One
// thread.
class ConfigReader {
 public:
  // `name` stands for the text in error messages: a file name, as a rule. kConfigInvalid with line and column.
  static Result<ConfigReader> parse(std::string_view text, std::string name);
  static Result<ConfigReader> load(const std::string& path);

  ConfigReader(ConfigReader&&) noexcept;
  ConfigReader& operator=(ConfigReader&&) noexcept;
  ~ConfigReader();

  bool has(std::string_view key);
  std::string string(std::string_view key, std::string_view default_value);
  // The key must be there and must not be empty.
  std::string required_string(std::string_view key);
  bool boolean(std::string_view key, bool default_value);
  std::int64_t integer(std::string_view key, std::int64_t default_value,
                       std::int64_t min = std::numeric_limits<std::int64_t>::min(),
                       std::int64_t max = std::numeric_limits<std::int64_t>::max());
  std::vector<std::string> string_list(std::string_view key, std::vector<std::string> default_value = {});
  // nullopt when absent. Its problems and unknown keys are found by this reader's finish(), which it must not outlive.
  std::optional<ConfigReader> object(std::string_view key);
  // Empty when absent. The same for each.
  std::vector<ConfigReader> object_list(std::string_view key);
  // A known key whose value, whatever it is, is not used.
  void ignore(std::string_view key);

  // For rules that span keys: makes finish() fail with this message about `key`, unless something failed before.
  void fail(std::string_view key, std::string_view problem);

  // The first problem of this object and its sub-objects, as kConfigInvalid; an unknown key is one.
  Result<void> finish();

 private:
  struct Node;
  explicit ConfigReader(std::shared_ptr<Node> node);
  std::shared_ptr<Node> node_;
};

}  // namespace leat
