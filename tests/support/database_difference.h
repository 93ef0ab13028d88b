// Are two database files the same, row for row?
#pragma once

#include <string>
#include <vector>

#include "core/error.h"

namespace leat::testing {

// One line for each table that is in one file only or whose rows differ (hidden rowids included), at most a few rows
// named each; empty when the files agree. Tables that are never shipped are left out.
Result<std::vector<std::string>> differences(const std::string& left_file, const std::string& right_file);

}  // namespace leat::testing
