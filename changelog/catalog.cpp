#include "changelog/catalog.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>

namespace leat::changelog {

namespace {

std::string lower(std::string_view name) {
  std::string out(name);
  for (auto& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && sqlite3_strnicmp(a.data(), b.data(), static_cast<int>(a.size())) == 0;
}

// https://www.sqlite.org/datatype3.html#determination_of_column_affinity
Affinity affinity_of(std::string_view declared_type, bool strict) {
  const auto type = lower(declared_type);
  const auto has = [&](std::string_view part) { return type.find(part) != std::string::npos; };
  if (strict && type == "any") return Affinity::kBlob;
  if (has("int")) return Affinity::kInteger;
  if (has("char") || has("clob") || has("text")) return Affinity::kText;
  if (has("blob") || type.empty()) return Affinity::kBlob;
  if (has("real") || has("floa") || has("doub")) return Affinity::kReal;
  return Affinity::kNumeric;
}

enum Hidden : std::int64_t { kVirtualGenerated = 2, kStoredGenerated = 3 };

Error unsupported(const std::string& message) { return make_error(ErrorCode::kSchemaUnsupported, message); }

Result<void> load_columns(sqlite::Connection& connection, TableSchema& table, bool strict) {
  LEAT_ASSIGN(auto statement, connection.prepare_cached("select cid, name, type, \"notnull\", dflt_value, pk, hidden"
                                                        " from pragma_table_xinfo(?1, 'main') order by cid",
                                                        sqlite::Access::kInternal));
  statement->bind(1, std::string_view(table.name));
  std::array<std::string_view, 3> spellings{"rowid", "_rowid_", "oid"};
  while (true) {
    LEAT_ASSIGN(const bool more, statement->step());
    if (!more) break;
    TableColumn column;
    column.name = statement->column_bytes(1);
    column.declared_type = statement->column_bytes(2);
    column.affinity = affinity_of(column.declared_type, strict);
    column.not_null = statement->column_int64(3) != 0;
    column.has_default = !statement->column_is_null(4);
    column.key_position = static_cast<int>(statement->column_int64(5));
    for (auto& spelling : spellings) {
      if (equal_ignoring_case(spelling, column.name)) spelling = {};
    }
    const auto hidden = statement->column_int64(6);
    if (hidden == kVirtualGenerated) table.has_virtual_generated = true;
    if (hidden == kVirtualGenerated || hidden == kStoredGenerated) continue;
    const char* collation = nullptr;
    int autoincrement = 0;
    if (sqlite3_table_column_metadata(connection.handle(), "main", table.name.c_str(), column.name.c_str(), nullptr,
                                      &collation, nullptr, nullptr, &autoincrement) == SQLITE_OK) {
      column.collation = collation;
      if (autoincrement != 0) table.autoincrement = true;
    }
    table.hook_index.push_back(static_cast<int>(statement->column_int64(0)));
    table.columns.push_back(std::move(column));
  }
  if (!table.without_rowid) {
    for (const auto spelling : spellings) {
      if (table.rowid_name.empty()) table.rowid_name = spelling;
    }
  }
  return {};
}

Result<void> load_key(sqlite::Connection& connection, TableSchema& table) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].key_position > 0) table.primary_key.push_back(static_cast<int>(i));
  }
  std::sort(table.primary_key.begin(), table.primary_key.end(), [&](int a, int b) {
    return table.columns[static_cast<std::size_t>(a)].key_position <
           table.columns[static_cast<std::size_t>(b)].key_position;
  });
  LEAT_ASSIGN(auto statement, connection.prepare_cached("select x.name, x.coll from pragma_index_list(?1, 'main') l,"
                                                        " pragma_index_xinfo(l.name, 'main') x"
                                                        " where l.origin = 'pk' and x.key order by x.seqno",
                                                        sqlite::Access::kInternal));
  statement->bind(1, std::string_view(table.name));
  std::vector<std::string> collations(table.primary_key.size(), "BINARY");
  bool has_index = false;
  while (true) {
    LEAT_ASSIGN(const bool more, statement->step());
    if (!more) break;
    has_index = true;
    const auto found = table.find_column(statement->column_bytes(0));
    if (!found) continue;
    const auto at = std::find(table.primary_key.begin(), table.primary_key.end(), *found);
    if (at == table.primary_key.end()) continue;
    collations[static_cast<std::size_t>(at - table.primary_key.begin())] = statement->column_bytes(1);
  }
  table.key_collations = std::move(collations);
  // Only the key that is the rowid itself has no index: `integer primary key desc` is not one.
  if (!table.without_rowid && table.primary_key.size() == 1 && !has_index)
    table.rowid_alias = table.primary_key.front();
  return {};
}

}  // namespace

Result<void> TableSchema::check_replicable() const {
  if (is_virtual) {
    return unsupported("virtual table \"" + name +
                       "\" is unsupported: its changes cannot be captured; use an ordinary table");
  }
  if (primary_key.empty()) {
    return unsupported("schema error: table \"" + name +
                       "\" has no primary key (the engine requires an explicit key for row identity); declare one, for "
                       "example `id integer primary key`");
  }
  if (has_virtual_generated) {
    return unsupported("schema error: table \"" + name +
                       "\" has a virtual generated column, which change capture cannot read around; declare it STORED");
  }
  if (!without_rowid && !rowid_alias && rowid_name.empty()) {
    return unsupported("schema error: table \"" + name +
                       "\" has columns named rowid, _rowid_ and oid, so its rowids cannot be replicated; rename one of "
                       "them, or declare the table WITHOUT ROWID");
  }
  return {};
}

std::optional<int> TableSchema::find_column(std::string_view column) const {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (equal_ignoring_case(columns[i].name, column)) return static_cast<int>(i);
  }
  return std::nullopt;
}

Result<std::shared_ptr<const Catalog>> Catalog::load(sqlite::Connection& connection) {
  auto catalog = std::make_shared<Catalog>();
  LEAT_ASSIGN(auto version, connection.prepare_cached("pragma main.schema_version", sqlite::Access::kInternal));
  LEAT_TRY(version->step());
  catalog->schema_version_ = version->column_int64(0);
  LEAT_ASSIGN(auto statement,
              connection.prepare_cached("select name, type, wr, strict from pragma_table_list where schema = 'main'"
                                        " and type in ('table', 'virtual') and name not like 'sqlite\\_%' escape '\\'"
                                        " order by name",
                                        sqlite::Access::kInternal));
  while (true) {
    LEAT_ASSIGN(const bool more, statement->step());
    if (!more) break;
    TableSchema table;
    table.name = statement->column_bytes(0);
    table.is_virtual = statement->column_bytes(1) == "virtual";
    table.without_rowid = statement->column_int64(2) != 0;
    if (!table.is_virtual) {
      LEAT_TRY(load_columns(connection, table, statement->column_int64(3) != 0));
      LEAT_TRY(load_key(connection, table));
    }
    catalog->by_lower_name_.emplace(lower(table.name), catalog->tables_.size());
    catalog->tables_.push_back(std::move(table));
  }
  return std::shared_ptr<const Catalog>(std::move(catalog));
}

const TableSchema* Catalog::find(std::string_view table) const {
  const auto found = by_lower_name_.find(lower(table));
  return found == by_lower_name_.end() ? nullptr : &tables_[found->second];
}

bool is_system_table(std::string_view name) {
  return equal_ignoring_case(name.substr(0, 6), "_leat_") || equal_ignoring_case(name, "_rindle_client_mutations");
}

bool is_local_table(std::string_view name) { return equal_ignoring_case(name, "_leat_meta"); }

std::string quote_name(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace leat::changelog
