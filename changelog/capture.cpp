#include "changelog/capture.h"

// The header declares the preupdate interface only when asked to; the library has it.
#define SQLITE_ENABLE_PREUPDATE_HOOK
#include <sqlite3.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "changelog/schema_change.h"

namespace leat::changelog {

namespace {

constexpr std::size_t kRecordOverheadBytes = 32;  // counted for each record besides its values
constexpr std::size_t kValueOverheadBytes = 9;    // counted for each value besides its bytes

// What the hook has to know about a table that it meets.
struct Target {
  const TableSchema* schema = nullptr;
  bool ignored = false;          // local to this file
  bool ships_keys_only = false;  // deletes from system tables (HAZARDS 19)
  std::optional<Error> refusal;
};

struct NameHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view name) const noexcept { return std::hash<std::string_view>{}(name); }
};

std::string bytes_of(sqlite3_value* value) {
  const auto* bytes = static_cast<const char*>(sqlite3_value_blob(value));
  const int size = sqlite3_value_bytes(value);
  return bytes == nullptr ? std::string() : std::string(bytes, static_cast<std::size_t>(size));
}

// A whole number in a REAL column is reported as the integer that is stored for it (HAZARDS 10); so is -0.0, as 0.
Value read_value(sqlite3_value* value, Affinity affinity) {
  switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
      if (affinity == Affinity::kReal) return static_cast<double>(sqlite3_value_int64(value));
      return std::int64_t{sqlite3_value_int64(value)};
    case SQLITE_FLOAT: {
      const double real = sqlite3_value_double(value);
      return affinity == Affinity::kReal && real == 0.0 ? 0.0 : real;
    }
    case SQLITE_TEXT:
      return Text{bytes_of(value)};
    case SQLITE_BLOB:
      return Blob{bytes_of(value)};
    default:
      return Null{};
  }
}

bool same_bits(const Value& a, const Value& b) {
  const auto* x = std::get_if<double>(&a);
  const auto* y = std::get_if<double>(&b);
  if (x != nullptr && y != nullptr) return std::bit_cast<std::uint64_t>(*x) == std::bit_cast<std::uint64_t>(*y);
  return a == b;
}

std::size_t bytes_in(const Row& row) {
  std::size_t bytes = row.size() * kValueOverheadBytes;
  for (const auto& value : row) {
    if (const auto* text = std::get_if<Text>(&value)) bytes += text->bytes.size();
    if (const auto* blob = std::get_if<Blob>(&value)) bytes += blob->bytes.size();
  }
  return bytes;
}

}  // namespace

struct Capture::Impl {
  Impl(sqlite::Connection& its_connection, Options its_options)
      : connection(its_connection), options(std::move(its_options)) {}

  sqlite::Connection& connection;
  Options options;

  std::vector<ChangeRecord> records;
  std::size_t bytes = 0;
  std::optional<Error> refusal;
  std::size_t refused_at = 0;  // how many records there were
  bool paused = false;
  std::optional<std::int64_t> inserted_rowid;
  // AUTOINCREMENT tables inserted into: the record that did, and the table.
  std::vector<std::pair<std::size_t, std::string>> sequences;

  std::shared_ptr<const Catalog> catalog;
  std::uint64_t generation = 0;  // of the schema that `catalog` holds
  std::unordered_map<std::string, Target, NameHash, std::equal_to<>> targets;
  const std::pair<const std::string, Target>* last_target = nullptr;

  void refuse(Error error) {
    if (refusal) return;
    refusal = std::move(error);
    refused_at = records.size();
  }

  void use(std::shared_ptr<const Catalog> loaded) {
    catalog = std::move(loaded);
    generation = connection.schema_generation();
    targets.clear();
    last_target = nullptr;
    for (const auto& table : catalog->tables()) {
      Target target;
      target.schema = &table;
      target.ignored = is_local_table(table.name);
      target.ships_keys_only = is_system_table(table.name);
      auto replicable = table.check_replicable();
      if (replicable.has_error()) target.refusal = std::move(replicable).error();
      const auto& excluded = options.excluded_tables;
      if (std::any_of(excluded.begin(), excluded.end(), [&](const std::string& name) {
            return sqlite3_stricmp(name.c_str(), table.name.c_str()) == 0;
          })) {
        target.refusal = make_error(ErrorCode::kSchemaUnsupported,
                                    "table \"" + table.name +
                                        "\" is excluded from replication by the configuration and cannot be written; "
                                        "remove it from the excluded tables");
      }
      targets.emplace(table.name, std::move(target));
    }
  }

  Result<void> refresh() {
    if (catalog && generation == connection.schema_generation()) return {};
    LEAT_ASSIGN(auto loaded, Catalog::load(connection));
    use(std::move(loaded));
    return {};
  }

  const Target* find(const char* table) {
    if (auto fresh = refresh(); fresh.has_error()) {
      refuse(std::move(fresh).error());
      return nullptr;
    }
    const std::string_view name(table);
    if (last_target != nullptr && last_target->first == name) return &last_target->second;
    const auto found = targets.find(name);
    if (found == targets.end()) return nullptr;
    last_target = &*found;
    return &found->second;
  }

  bool read_row(const TableSchema& schema, int (*read)(sqlite3*, int, sqlite3_value**), Row& row) {
    row.reserve(schema.columns.size());
    for (std::size_t i = 0; i < schema.columns.size(); ++i) {
      sqlite3_value* value = nullptr;
      const int code = read(connection.handle(), schema.hook_index[i], &value);
      if (code != SQLITE_OK) {
        refuse(sqlite::make_sqlite_error(code, "change capture could not read table \"" + schema.name + "\""));
        return false;
      }
      row.push_back(read_value(value, schema.columns[i].affinity));
    }
    return true;
  }

  bool check_key(const TableSchema& schema, const Row& row) {
    for (const int column : schema.primary_key) {
      const auto at = static_cast<std::size_t>(column);
      if (!is_null(row[at])) continue;
      refuse(make_error(ErrorCode::kValueUnsupported, "table \"" + schema.name +
                                                          "\" got a NULL in its primary key column \"" +
                                                          schema.columns[at].name +
                                                          "\", and a row without a key cannot be replicated; give it a "
                                                          "value, or declare the column NOT NULL"));
      return false;
    }
    return true;
  }

  void on_change(int operation, const char* database, const char* table, std::int64_t old_rowid,
                 std::int64_t new_rowid) {
    if (paused || refusal || std::strcmp(database, "main") != 0 || std::strncmp(table, "sqlite_", 7) == 0) return;
    const Target* target = find(table);
    if (refusal) return;
    if (target == nullptr) {
      return refuse(make_error(ErrorCode::kSchemaUnsupported,
                               "table \"" + std::string(table) + "\" cannot be replicated; use an ordinary table"));
    }
    if (target->ignored) return;
    if (target->refusal) return refuse(*target->refusal);
    const auto& schema = *target->schema;
    RowChange change;
    change.table = schema.name;
    if (operation != SQLITE_INSERT) {
      if (!read_row(schema, sqlite3_preupdate_old, change.old_row)) return;
      if (!schema.without_rowid) change.old_rowid = old_rowid;
    }
    if (operation != SQLITE_DELETE) {
      if (!read_row(schema, sqlite3_preupdate_new, change.new_row)) return;
      if (!schema.without_rowid) change.new_rowid = new_rowid;
      if (!check_key(schema, change.new_row)) return;
    }
    switch (operation) {
      case SQLITE_INSERT:
        change.operation = Operation::kInsert;
        if (!schema.without_rowid && sqlite3_preupdate_depth(connection.handle()) == 0) inserted_rowid = new_rowid;
        if (schema.autoincrement) sequences.emplace_back(records.size(), schema.name);
        break;
      case SQLITE_DELETE:
        change.operation = Operation::kDelete;
        if (target->ships_keys_only) keep_key_only(schema, change.old_row);
        break;
      default:
        change.operation = Operation::kUpdate;
        if (change.old_rowid == change.new_rowid &&
            std::equal(change.old_row.begin(), change.old_row.end(), change.new_row.begin(), same_bits)) {
          return;
        }
    }
    bytes += kRecordOverheadBytes + schema.name.size() + bytes_in(change.old_row) + bytes_in(change.new_row);
    if (bytes > options.transaction_bytes_max) {
      return refuse(make_error(ErrorCode::kLimit, "one write changed more than transaction_bytes_max (" +
                                                      std::to_string(options.transaction_bytes_max) +
                                                      " bytes of old and new rows); split it"));
    }
    records.emplace_back(std::move(change));
  }

  static void keep_key_only(const TableSchema& schema, Row& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (schema.columns[i].key_position == 0) row[i] = Null{};
    }
  }

  // The values must be read before the table is dropped or renamed, or the write is over.
  Result<void> record_sequences() {
    std::vector<std::string> names;
    for (auto& [at, name] : std::exchange(sequences, {})) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    }
    for (auto& name : names) {
      LEAT_ASSIGN(auto statement, connection.prepare_cached("select seq from sqlite_sequence where name = ?1",
                                                            sqlite::Access::kInternal));
      statement->bind(1, std::string_view(name));
      LEAT_ASSIGN(const bool found, statement->step());
      if (found) records.emplace_back(SequenceChange{name, statement->column_int64(0)});
    }
    return {};
  }
};

Capture::Capture(sqlite::Connection& connection, Options options)
    : impl_(std::make_unique<Impl>(connection, std::move(options))) {
  sqlite3_preupdate_hook(
      connection.handle(),
      [](void* context, sqlite3*, int operation, const char* database, const char* table, sqlite3_int64 old_rowid,
         sqlite3_int64 new_rowid) {
        static_cast<Impl*>(context)->on_change(operation, database, table, old_rowid, new_rowid);
      },
      impl_.get());
  // Some statements compile to a shortcut that calls no hook when there is none.
  connection.expire_statements();
}

Capture::~Capture() { sqlite3_preupdate_hook(impl_->connection.handle(), nullptr, nullptr); }

Capture::Position Capture::position() const { return {impl_->records.size(), impl_->bytes}; }

void Capture::rewind(Position position) {
  auto& impl = *impl_;
  if (position.records < impl.records.size()) impl.records.resize(position.records);
  impl.bytes = position.bytes;
  std::erase_if(impl.sequences, [&](const auto& each) { return each.first >= position.records; });
  if (impl.refused_at >= position.records) impl.refusal.reset();
}

Result<void> Capture::status() const {
  if (impl_->refusal) return *impl_->refusal;
  return {};
}

std::span<const ChangeRecord> Capture::records_since(Position position) const {
  return std::span(impl_->records).subspan(position.records);
}

void Capture::begin_statement() { impl_->inserted_rowid.reset(); }

std::optional<std::int64_t> Capture::last_insert_rowid() const { return impl_->inserted_rowid; }

Result<void> Capture::run_schema_change(const std::string& sql) {
  auto& impl = *impl_;
  LEAT_TRY(impl.refresh());
  LEAT_TRY(impl.record_sequences());
  impl.paused = true;
  auto after = changelog::run_schema_change(impl.connection, sql, *impl.catalog);
  impl.paused = false;
  if (after.has_error()) return std::move(after).error();
  impl.use(std::move(after).value());
  impl.bytes += kRecordOverheadBytes + sql.size();
  impl.records.emplace_back(SchemaChange{sql});
  return {};
}

Result<std::vector<ChangeRecord>> Capture::take() {
  auto& impl = *impl_;
  LEAT_TRY(status());
  LEAT_TRY(impl.record_sequences());
  impl.bytes = 0;
  return std::exchange(impl.records, {});
}

Result<std::shared_ptr<const Catalog>> Capture::catalog() {
  LEAT_TRY(impl_->refresh());
  return impl_->catalog;
}

}  // namespace leat::changelog
