// Rows as aligned columns for a terminal.
#pragma once

#include <string>
#include <vector>

#include "core/value.h"

namespace leat::cli {

// A header line, a rule and a line for each row, each ending in a newline. Numbers stand to the right. Every row has as
// many values as there are columns.
std::string text_table(const std::vector<std::string>& columns, const std::vector<Row>& rows);

}  // namespace leat::cli
