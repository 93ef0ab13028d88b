#include "master/value_rules.h"

#include <strings.h>

#include "sqlclient/wire/limits.h"

namespace leat::master {

namespace {

bool is_type(const std::string& declared, const char* name) { return ::strcasecmp(declared.c_str(), name) == 0; }

}  // namespace

const std::vector<ValueRules::Rule>& ValueRules::rules_of(const std::string& table) {
  const auto [at, is_new] = rules_.try_emplace(table);
  if (is_new && !changelog::is_system_table(table)) {
    if (const auto* schema = catalog_->find(table)) {
      for (const auto& column : schema->columns) {
        const std::string& type = column.declared_type;
        at->second.push_back(is_type(type, "boolean") || is_type(type, "bool")  ? Rule::kBoolean
                             : is_type(type, "bigint") || is_type(type, "int8") ? Rule::kAny
                                                                                : Rule::kSafeInteger);
      }
    }
  }
  return at->second;
}

Result<void> ValueRules::check(std::span<const changelog::ChangeRecord> records,
                               const std::shared_ptr<const changelog::Catalog>& catalog) {
  if (catalog_ != catalog) {
    catalog_ = catalog;
    rules_.clear();
  }
  for (const auto& record : records) {
    const auto* change = std::get_if<changelog::RowChange>(&record);
    if (change == nullptr || change->operation == changelog::Operation::kDelete) continue;
    const auto& rules = rules_of(change->table);
    for (std::size_t i = 0; i < rules.size() && i < change->new_row.size(); ++i) {
      const Value& value = change->new_row[i];
      if (rules[i] == Rule::kAny || is_null(value)) continue;
      const auto* integer = std::get_if<std::int64_t>(&value);
      const auto where = [&] {
        return "column \"" + change->table + "\".\"" + catalog->find(change->table)->columns[i].name + '"';
      };
      if (rules[i] == Rule::kBoolean) {
        if (integer == nullptr || (*integer != 0 && *integer != 1)) {
          return make_error(ErrorCode::kValueUnsupported, "BOOLEAN " + where() + " takes 0, 1 and NULL only");
        }
      } else if (integer != nullptr && (*integer > wire::safe_integer_max || *integer < -wire::safe_integer_max)) {
        return make_error(ErrorCode::kValueUnsupported, "integer " + std::to_string(*integer) +
                                                            " is beyond 2^53-1, which " + where() +
                                                            " cannot carry to a live query; declare the column BIGINT");
      }
    }
  }
  return {};
}

}  // namespace leat::master
