#include "sqlclient/cli/watch_view.h"

#include <utility>

#include "sqlclient/cli/json_value.h"
#include "sqlclient/cli/parameter.h"

namespace leat::cli {

namespace json = boost::json;

// Fields are read with `at`, which throws for a frame that is not as it should be; apply() makes that an error.
struct WatchView::Reader {
  WatchView& view;
  Update update;

  static Row row(const json::value& cells) {
    Row row;
    for (const json::value& cell : cells.as_array()) row.push_back(from_json(cell).value());
    return row;
  }

  void hello(const json::value& frame) {
    if (view.before_.empty()) view.before_ = std::exchange(view.tables_, {});
    view.tables_.clear();
    view.next_seq_ = 0;
    for (const json::value& described : frame.at("hello").at("tables").as_array()) {
      Table& table = view.tables_[std::string(described.at("name").as_string())];
      for (const json::value& column : described.at("columns").as_array()) {
        table.columns.emplace_back(column.as_string());
      }
      for (const json::value& index : described.at("primaryKey").as_array()) {
        table.primary_key.push_back(index.to_number<std::size_t>());
      }
    }
  }

  void batch(const json::value& frame) {
    const json::object& batch = frame.at("batch").as_object();
    if (batch.at("seq").to_number<std::int64_t>() != view.next_seq_) {
      throw std::out_of_range("a batch is missing before seq " + json::serialize(batch.at("seq")));
    }
    update.is_snapshot = view.next_seq_++ == 0;
    for (const json::value& operation : batch.at("ops").as_array()) {
      apply_operation(operation);
    }
    if (!update.is_snapshot) return;
    update.lines.clear();
    view.add_difference(std::exchange(view.before_, {}), update.lines);
  }

  void apply_operation(const json::value& operation) {
    const std::string name(operation.at("table").as_string());
    Table& table = view.tables_.at(name);
    const std::string_view kind = operation.at("op").as_string();
    if (kind == "edit") {
      const Row before = checked(table, row(operation.at("old")));
      Row after = checked(table, row(operation.at("new")));
      update.lines.push_back(view.edit_line(name, table, before, after));
      table.rows.erase(view.key_of(table, before));
      table.rows.insert_or_assign(view.key_of(table, after), std::move(after));
      return;
    }
    Row changed = checked(table, row(operation.at("row")));
    const bool is_added = kind == "add";
    update.lines.push_back(view.line(is_added ? '+' : '-', name, table, changed));
    if (is_added) {
      table.rows.insert_or_assign(view.key_of(table, changed), std::move(changed));
    } else {
      table.rows.erase(view.key_of(table, changed));
    }
  }

  static Row checked(const Table& table, Row row) {
    if (row.size() != table.columns.size()) throw std::out_of_range("a row has not as many cells as the table columns");
    return row;
  }

  void error(const json::object& frame) {
    update.is_over = true;
    update.reason = frame.at("message").as_string();
    const json::value* retryable = frame.if_contains("retryable");
    update.may_retry = retryable != nullptr && retryable->is_bool() && retryable->get_bool();
  }
};

Result<WatchView::Update> WatchView::apply(std::string_view frame) {
  Reader reader{*this, {}};
  try {
    const json::value parsed = json::parse(frame);
    const json::object& object = parsed.as_object();
    const std::string_view type = object.at("t").as_string();
    if (type == "nhello") reader.hello(parsed);
    if (type == "nbatch") reader.batch(parsed);
    if (type == "queryError") reader.error(object);
  } catch (const std::exception& error) {
    return make_error(ErrorCode::kInternal, std::string("a frame that breaks the protocol: ") + error.what());
  }
  return std::move(reader.update);
}

std::size_t WatchView::row_count() const {
  std::size_t count = 0;
  for (const auto& [name, table] : tables_) count += table.rows.size();
  return count;
}

std::string WatchView::key_of(const Table& table, const Row& row) const {
  std::string key;
  for (const std::size_t index : table.primary_key) {
    if (!key.empty()) key += ' ';
    key += table.columns.at(index) + '=' + to_display_quoted(row.at(index));
  }
  return key;
}

std::string WatchView::line(char sign, const std::string& name, const Table& table, const Row& row) const {
  std::string text = std::string(1, sign) + ' ' + name + ' ';
  for (std::size_t i = 0; i < row.size(); ++i) {
    text += ' ' + table.columns[i] + '=' + to_display_quoted(row[i]);
  }
  return text;
}

std::string WatchView::edit_line(const std::string& name, const Table& table, const Row& before,
                                 const Row& after) const {
  std::string text = "~ " + name + "  " + key_of(table, before) + ' ';
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (before[i] == after[i]) continue;
    text += ' ' + table.columns[i] + ": " + to_display_quoted(before[i]) + " -> " + to_display_quoted(after[i]);
  }
  return text;
}

void WatchView::add_difference(const std::map<std::string, Table>& before, std::vector<std::string>& lines) const {
  for (const auto& [name, old_table] : before) {
    const auto table = tables_.find(name);
    for (const auto& [key, row] : old_table.rows) {
      if (table == tables_.end() || !table->second.rows.contains(key)) lines.push_back(line('-', name, old_table, row));
    }
  }
  for (const auto& [name, table] : tables_) {
    const auto old_table = before.find(name);
    // A table whose columns have changed is shown anew.
    const bool is_comparable = old_table != before.end() && old_table->second.columns == table.columns;
    for (const auto& [key, row] : table.rows) {
      const auto old_row = is_comparable ? old_table->second.rows.find(key) : table.rows.end();
      if (!is_comparable || old_row == old_table->second.rows.end()) {
        lines.push_back(line('+', name, table, row));
      } else if (old_row->second != row) {
        lines.push_back(edit_line(name, table, old_row->second, row));
      }
    }
  }
}

}  // namespace leat::cli
