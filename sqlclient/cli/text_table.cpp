#include "sqlclient/cli/text_table.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "sqlclient/cli/parameter.h"

namespace leat::cli {
namespace {

// Code points, which is columns for most text; wide characters are out by one each.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

void append_cell(std::string& out, std::string_view text, std::size_t column_width, bool to_the_right) {
  const std::string padding(column_width - width(text), ' ');
  if (to_the_right) out += padding;
  out += text;
  if (!to_the_right) out += padding;
}

void end_line(std::string& out) {
  out.erase(out.find_last_not_of(' ') + 1);
  out += '\n';
}

bool is_number(const Value& value) {
  return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
}

}  // namespace

std::string text_table(const std::vector<std::string>& columns, const std::vector<Row>& rows) {
  static constexpr std::string_view kGap = "  ";
  std::vector<std::string> names;
  std::vector<std::size_t> widths;
  for (const std::string& column : columns) {
    names.push_back(to_display(Text{column}));
    widths.push_back(width(names.back()));
  }
  std::vector<std::vector<std::string>> cells;
  for (const Row& row : rows) {
    auto& line = cells.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      line.push_back(to_display(row[i]));
      widths[i] = std::max(widths[i], width(line.back()));
    }
  }

  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += kGap;
    append_cell(out, names[i], widths[i], false);
  }
  end_line(out);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += kGap;
    out += std::string(widths[i], '-');
  }
  out += '\n';
  for (std::size_t line = 0; line < cells.size(); ++line) {
    for (std::size_t i = 0; i < cells[line].size(); ++i) {
      if (i > 0) out += kGap;
      append_cell(out, cells[line][i], widths[i], is_number(rows[line][i]));
    }
    end_line(out);
  }
  return out;
}

}  // namespace leat::cli
