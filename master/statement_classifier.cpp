#include "master/statement_classifier.h"

#include "master/limits.h"

namespace leat::master {

std::optional<StatementClass> StatementClassifier::find(std::string_view sql) {
  const std::lock_guard lock(mutex_);
  const auto found = by_sql_.find(sql);
  if (found == by_sql_.end()) return std::nullopt;
  by_use_.splice(by_use_.begin(), by_use_, found->second);
  return found->second->statement_class;
}

void StatementClassifier::remember(std::string_view sql, StatementClass statement_class) {
  const std::lock_guard lock(mutex_);
  if (by_sql_.contains(sql)) return;
  by_use_.push_front({std::string(sql), statement_class});
  by_sql_.emplace(by_use_.front().sql, by_use_.begin());
  if (by_use_.size() > classified_statements_max) {
    by_sql_.erase(by_use_.back().sql);
    by_use_.pop_back();
  }
}

StatementClass StatementClassifier::classify(const sqlite::StatementTraits& traits) {
  if (traits.is_ddl) return StatementClass::kSchema;
  return traits.writes ? StatementClass::kWrite : StatementClass::kRead;
}

}  // namespace leat::master
