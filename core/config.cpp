#include "core/config.h"

#include <algorithm>
#include <boost/json/kind.hpp>
#include <boost/json/stream_parser.hpp>
#include <boost/json/value.hpp>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>

namespace leat {

namespace json = boost::json;

namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string place(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_begin = before.rfind('\n');
  const std::size_t column = line_begin == std::string_view::npos ? before.size() + 1 : before.size() - line_begin;
  return std::to_string(line) + ":" + std::to_string(column);
}

std::string_view kind_name(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "a boolean";
    case json::kind::int64:
    case json::kind::uint64:
      return "an integer";
    case json::kind::double_:
      return "a number";
    case json::kind::string:
      return "a string";
    case json::kind::array:
      return "an array";
    case json::kind::object:
      return "an object";
  }
  return "unknown";
}

Result<json::value> parse_json(std::string_view text, const std::string& name) {
  json::stream_parser parser;
  boost::system::error_code error;
  const std::size_t used = parser.write_some(text.data(), text.size(), error);
  const std::size_t rest = error ? std::string_view::npos : text.find_first_not_of(" \t\r\n", used);
  if (!error && rest == std::string_view::npos) parser.finish(error);
  if (error || rest != std::string_view::npos) {
    const std::size_t offset = error ? used : rest;
    const std::string problem = error ? error.message() : "text after the end of the object";
    return make_error(ErrorCode::kConfigInvalid, name + ":" + place(text, offset) + ": not valid JSON: " + problem);
  }
  return parser.release();
}

}  // namespace

struct ConfigReader::Node {
  std::string name;  // of the file
  std::string path;  // of this object: "" or "outer." or "outer.inner."
  json::object object;
  std::set<std::string, std::less<>> known;
  std::vector<std::shared_ptr<Node>> children;
  std::optional<Error> problem;

  void fail(std::string_view key, std::string_view text) {
    if (problem) return;
    problem =
        make_error(ErrorCode::kConfigInvalid, name + ": \"" + path + std::string(key) + "\" " + std::string(text));
  }
  const json::value* find(std::string_view key) {
    known.emplace(key);
    const json::value* value = object.if_contains(key);
    return value == nullptr || value->is_null() ? nullptr : value;
  }
  void fail_type(std::string_view key, std::string_view wanted, const json::value& got) {
    fail(key, "must be " + std::string(wanted) + ", not " + std::string(kind_name(got)));
  }
  std::shared_ptr<Node> add_child(std::string_view key, const json::object& from) {
    auto child = std::make_shared<Node>();
    child->name = name;
    child->path = path + std::string(key) + ".";
    child->object = from;
    children.push_back(child);
    return child;
  }
  void check_unknown() {
    for (const auto& member : object) {
      const std::string_view key = member.key();
      if (known.contains(key)) continue;
      const auto nearest = std::min_element(known.begin(), known.end(), [&](const auto& a, const auto& b) {
        return edit_distance(key, a) < edit_distance(key, b);
      });
      std::string text = "is not a known key";
      if (nearest != known.end()) text += "; the nearest known one is \"" + path + *nearest + "\"";
      return fail(key, text);
    }
  }
};

ConfigReader::ConfigReader(std::shared_ptr<Node> node) : node_(std::move(node)) {}
ConfigReader::ConfigReader(ConfigReader&&) noexcept = default;
ConfigReader& ConfigReader::operator=(ConfigReader&&) noexcept = default;
ConfigReader::~ConfigReader() = default;

Result<ConfigReader> ConfigReader::parse(std::string_view text, std::string name) {
  LEAT_ASSIGN(json::value value, parse_json(text, name));
  if (!value.is_object()) {
    return make_error(ErrorCode::kConfigInvalid, name + ": must be an object, not " + std::string(kind_name(value)));
  }
  auto node = std::make_shared<Node>();
  node->name = std::move(name);
  node->object = std::move(value.as_object());
  return ConfigReader(std::move(node));
}

Result<ConfigReader> ConfigReader::load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file) return make_error(ErrorCode::kConfigInvalid, "cannot read the configuration file " + path);
  return parse(text.str(), path);
}

bool ConfigReader::has(std::string_view key) { return node_->find(key) != nullptr; }

std::string ConfigReader::string(std::string_view key, std::string_view default_value) {
  const json::value* value = node_->find(key);
  if (value != nullptr && value->is_string()) return std::string(std::string_view(value->get_string()));
  if (value != nullptr) node_->fail_type(key, "a string", *value);
  return std::string(default_value);
}

std::string ConfigReader::required_string(std::string_view key) {
  std::string value = string(key, "");
  if (value.empty()) node_->fail(key, has(key) ? "must not be empty" : "is required");
  return value;
}

bool ConfigReader::boolean(std::string_view key, bool default_value) {
  const json::value* value = node_->find(key);
  if (value != nullptr && value->is_bool()) return value->get_bool();
  if (value != nullptr) node_->fail_type(key, "a boolean", *value);
  return default_value;
}

std::int64_t ConfigReader::integer(std::string_view key, std::int64_t default_value, std::int64_t min,
                                   std::int64_t max) {
  const json::value* value = node_->find(key);
  if (value == nullptr) return default_value;
  if (!value->is_number()) {
    node_->fail_type(key, "an integer", *value);
    return default_value;
  }
  boost::system::error_code error;
  const auto number = value->to_number<std::int64_t>(error);  // takes 5.0, refuses 5.5 and what does not fit
  if (error || number < min || number > max) {
    node_->fail(key, "must be an integer from " + std::to_string(min) + " to " + std::to_string(max));
    return default_value;
  }
  return number;
}

std::vector<std::string> ConfigReader::string_list(std::string_view key, std::vector<std::string> default_value) {
  const json::value* value = node_->find(key);
  if (value == nullptr) return default_value;
  std::vector<std::string> out;
  if (!value->is_array()) {
    node_->fail_type(key, "an array of strings", *value);
    return default_value;
  }
  for (const json::value& item : value->get_array()) {
    if (!item.is_string()) {
      node_->fail(key, "must be an array of strings; it holds " + std::string(kind_name(item)));
      return default_value;
    }
    out.emplace_back(std::string_view(item.get_string()));
  }
  return out;
}

std::optional<ConfigReader> ConfigReader::object(std::string_view key) {
  const json::value* value = node_->find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) {
    node_->fail_type(key, "an object", *value);
    return std::nullopt;
  }
  return ConfigReader(node_->add_child(key, value->get_object()));
}

std::vector<ConfigReader> ConfigReader::object_list(std::string_view key) {
  std::vector<ConfigReader> out;
  const json::value* value = node_->find(key);
  if (value == nullptr) return out;
  if (!value->is_array()) {
    node_->fail_type(key, "an array of objects", *value);
    return out;
  }
  for (const json::value& item : value->get_array()) {
    if (!item.is_object()) {
      node_->fail(key, "must be an array of objects; it holds " + std::string(kind_name(item)));
      return out;
    }
    const std::string item_key = std::string(key) + "[" + std::to_string(out.size()) + "]";
    out.push_back(ConfigReader(node_->add_child(item_key, item.get_object())));
  }
  return out;
}

void ConfigReader::ignore(std::string_view key) { node_->known.emplace(key); }

void ConfigReader::fail(std::string_view key, std::string_view problem) { node_->fail(key, problem); }

Result<void> ConfigReader::finish() {
  node_->check_unknown();
  if (node_->problem) return *node_->problem;
  for (const std::shared_ptr<Node>& child : node_->children) {
    ConfigReader reader(child);
    LEAT_TRY(reader.finish());
  }
  return {};
}

}  // namespace leat
