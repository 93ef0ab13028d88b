#include <utility>

#include "core/sqlite_internal.h"
#include "core/sqlite_returning.h"

namespace leat::sqlite {

namespace {

// SQLite takes a null pointer for NULL, also with a length of zero.
const char* not_null(std::string_view bytes) { return bytes.data() == nullptr ? "" : bytes.data(); }

}  // namespace

Statement::Statement(Connection& connection, sqlite3_stmt* handle, Access access, StatementTraits traits)
    : connection_(connection), handle_(handle), access_(access), traits_(std::move(traits)) {}

Statement::~Statement() { sqlite3_finalize(handle_); }

int Statement::parameter_count() const { return sqlite3_bind_parameter_count(handle_); }

std::string_view Statement::parameter_name(int index) const {
  const char* name = sqlite3_bind_parameter_name(handle_, index);
  return name == nullptr ? std::string_view() : std::string_view(name);
}

void Statement::note_bind(int code) {
  if (code != SQLITE_OK && bind_code_ == SQLITE_OK) bind_code_ = code;
}

void Statement::bind(int index, const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return bind(index, *integer);
  if (const auto* text = std::get_if<Text>(&value)) return bind(index, std::string_view(text->bytes));
  if (const auto* blob = std::get_if<Blob>(&value)) return bind_blob(index, blob->bytes);
  if (const auto* real = std::get_if<double>(&value)) {
    return note_bind(sqlite3_bind_double(handle_, index, *real));
  }
  bind_null(index);
}

void Statement::bind(int index, std::int64_t value) { note_bind(sqlite3_bind_int64(handle_, index, value)); }

void Statement::bind(int index, std::string_view text) {
  note_bind(sqlite3_bind_text64(handle_, index, not_null(text), text.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void Statement::bind_blob(int index, std::string_view bytes) {
  note_bind(sqlite3_bind_blob64(handle_, index, not_null(bytes), bytes.size(), SQLITE_STATIC));
}

void Statement::bind_null(int index) { note_bind(sqlite3_bind_null(handle_, index)); }

Result<bool> Statement::step() {
  if (bind_code_ != SQLITE_OK) return make_sqlite_error(bind_code_, sqlite3_errstr(bind_code_));
  auto& impl = *connection_.impl_;
  // What compiles inside of a step (the statement again, or a table-valued pragma's own SQL) answers to this statement.
  auto* outer_compiling = std::exchange(impl.compiling, nullptr);
  auto* outer_stepping = std::exchange(impl.stepping, this);
  const int code = sqlite3_step(handle_);
  impl.stepping = outer_stepping;
  impl.compiling = outer_compiling;
  if (traits_.is_ddl || impl.schema_touched) impl.note_step(*this, connection_.handle_);
  std::optional<Error> refusal;
  if (impl.recompiling) {
    refusal = std::move(impl.recompiling->refusal());
    impl.recompiling.reset();
    returning_columns_.reset();
  }
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  if (refusal) return *std::move(refusal);
  return connection_.last_error();
}

Result<void> Statement::run() {
  auto more = step();
  while (more.has_value() && *more) more = step();
  reset();
  if (more.has_error()) return std::move(more).error();
  return {};
}

void Statement::reset() {
  sqlite3_reset(handle_);
  sqlite3_clear_bindings(handle_);
  bind_code_ = SQLITE_OK;
}

void Statement::release() {
  reset();
  in_use_ = false;
  if (!is_spare_) return;
  auto& spares = connection_.impl_->spares;
  std::erase_if(spares, [this](const auto& each) { return each.get() == this; });
}

CachedStatement& CachedStatement::operator=(CachedStatement&& other) noexcept {
  if (this != &other) {
    if (statement_ != nullptr) statement_->release();
    statement_ = std::exchange(other.statement_, nullptr);
  }
  return *this;
}

int Statement::column_count() const { return sqlite3_column_count(handle_); }

std::vector<Column> Statement::columns() const {
  if (traits_.writes && column_count() > 0) return returning_columns();
  return describe_columns(handle_);
}

const std::vector<Column>& Statement::returning_columns() const {
  if (!returning_columns_) returning_columns_ = describe_returning_columns(handle_, traits_.changed_table);
  return *returning_columns_;
}

Value Statement::column(int index) const {
  switch (sqlite3_column_type(handle_, index)) {
    case SQLITE_INTEGER:
      return column_int64(index);
    case SQLITE_FLOAT:
      return sqlite3_column_double(handle_, index);
    case SQLITE_TEXT:
      return Text{std::string(column_bytes(index))};
    case SQLITE_BLOB:
      return Blob{std::string(column_bytes(index))};
    default:
      return Null{};
  }
}

std::int64_t Statement::column_int64(int index) const { return sqlite3_column_int64(handle_, index); }

std::string_view Statement::column_bytes(int index) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(handle_, index));
  const int size = sqlite3_column_bytes(handle_, index);
  return bytes == nullptr ? std::string_view() : std::string_view(bytes, static_cast<std::size_t>(size));
}

bool Statement::column_is_null(int index) const { return sqlite3_column_type(handle_, index) == SQLITE_NULL; }

}  // namespace leat::sqlite
