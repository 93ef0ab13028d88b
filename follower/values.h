// SQLite's rules for comparing values, outside SQLite: the live engine and the SQL it sends must never disagree
// (HAZARDS 24). Any thread.
#pragma once

#include <compare>
#include <span>
#include <string>

#include "changelog/catalog.h"
#include "core/value.h"

namespace leat::follower {

// SQLite's total order with COLLATE BINARY: NULL, then numbers (an integer and a real exactly), then text, then blobs
// by bytes. NULL equals NULL here; three-valued logic is the predicate's.
std::strong_ordering compare_values(const Value& left, const Value& right);

// What a comparison with a column of this affinity does to an operand without one: text that looks like a number
// becomes one for a numeric column, a number becomes text for a text column.
Value apply_comparison_affinity(changelog::Affinity column, Value value);

// Text as SQLite would write it: numbers in decimal (reals with 15 significant digits), blobs byte for byte.
std::string text_of(const Value& value);

// Appends bytes that are equal exactly where compare_values says equal, and that no other sequence of values begins
// with.
void append_key(std::string& key, const Value& value);
std::string key_of(const Row& row, std::span<const int> columns);

}  // namespace leat::follower
