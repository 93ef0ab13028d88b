#include "master/migration_runner.h"

#include <sqlite3.h>

#include "core/sqlite_script.h"
#include "master/fingerprint.h"

namespace leat::master {

namespace {

Error unsupported(const std::string& kind, const std::string& sql) {
  return make_error(ErrorCode::kMigrationStatementUnsupported,
                    "migration contains an unsupported " + kind + " statement: " + sql);
}

// A statement that SQLite cannot even begin to read is not SQL; one that goes wrong later gets SQLite's own words.
Error compile_error(Error error, sqlite3* database, const std::string& sql) {
  if (error.code == ErrorCode::kStatementUnsupported) {
    return make_error(ErrorCode::kMigrationStatementUnsupported, error.message + ": " + sql);
  }
  if (error.code == ErrorCode::kSqliteError && sqlite3_error_offset(database) == 0)
    return unsupported("unsupported", sql);
  return error;
}

}  // namespace

Result<MigrationsOutcome> MigrationRunner::run(const std::vector<wire::MigrationRequest>& migrations, Surface surface,
                                               Cursor cursor) {
  MigrationsOutcome outcome;
  for (const auto& migration : migrations) {
    const auto position = capture_.position();
    LEAT_TRY(connection_.execute("savepoint migration"));
    auto done = run_one(migration, surface, cursor);
    if (!connection_.in_transaction()) return std::move(done).error();
    if (done.has_error()) {
      LEAT_TRY(connection_.execute("rollback to migration; release migration"));
      capture_.rewind(position);
      outcome.failure = std::move(done).error();
      outcome.failed_id = migration.id;
      break;
    }
    LEAT_TRY(connection_.execute("release migration"));
    outcome.done.push_back(std::move(*done));
  }
  return outcome;
}

Result<MigrationOutcome> MigrationRunner::run_one(const wire::MigrationRequest& migration, Surface surface,
                                                  Cursor cursor) {
  const std::string content = migration_checksum(migration.statements);
  LEAT_ASSIGN(auto applied, find_applied(migration, surface, content));
  if (applied) return std::move(*applied);
  if (surface == Surface::kControl && migration.checksum && *migration.checksum != content) {
    return make_error(ErrorCode::kMigrationChecksumInvalid, "migration \"" + migration.id + "\" supplied checksum \"" +
                                                                *migration.checksum + "\", expected " + content);
  }
  bool is_data = false;
  const auto before = capture_.position();
  LEAT_TRY(run_statements(migration, surface, is_data));
  LEAT_TRY(capture_.status());
  // Here, where only this migration fails, and not all that the write has done.
  LEAT_ASSIGN(const auto catalog, capture_.catalog());
  LEAT_TRY(value_rules_.check(capture_.records_since(before), catalog));

  LEAT_ASSIGN(auto journal, connection_.prepare_cached(
                                "insert into _leat_migrations (id, applied_at, checksum, content_checksum, kind, "
                                "cursor) values (?, ?, ?, ?, ?, ?)",
                                sqlite::Access::kInternal));
  const std::string cursor_text = cursor.to_text();
  journal->bind(1, std::string_view(migration.id));
  journal->bind(2, clock_.now().value);
  if (migration.checksum) journal->bind(3, std::string_view(*migration.checksum));
  journal->bind(4, std::string_view(content));
  journal->bind(5, std::string_view(is_data ? "data" : "ddl"));
  journal->bind(6, std::string_view(cursor_text));
  LEAT_TRY(journal->run());
  return MigrationOutcome{migration.id, true, false, cursor};
}

Result<std::optional<MigrationOutcome>> MigrationRunner::find_applied(const wire::MigrationRequest& migration,
                                                                      Surface surface, const std::string& content) {
  LEAT_ASSIGN(auto find,
              connection_.prepare_cached("select checksum, content_checksum, cursor from _leat_migrations where id = ?",
                                         sqlite::Access::kInternal));
  find->bind(1, std::string_view(migration.id));
  LEAT_ASSIGN(const bool found, find->step());
  if (!found) return std::optional<MigrationOutcome>{};
  const std::string applied_content(find->column_bytes(1));
  const bool same_checksum = surface == Surface::kControl || (migration.checksum && !find->column_is_null(0) &&
                                                              find->column_bytes(0) == *migration.checksum);
  MigrationOutcome outcome{migration.id, false, false, Cursor::parse(find->column_bytes(2)).value_or(Cursor())};
  if (applied_content == content && same_checksum) return std::optional(outcome);
  if (migration.override_hash == applied_content) {
    outcome.hash_overridden = true;
    return std::optional(outcome);
  }
  return make_error(ErrorCode::kMigrationChecksumMismatch,
                    "migration \"" + migration.id + "\" was already applied with different content (applied " +
                        applied_content + ", current " + content + "); write a new migration instead of editing one");
}

Result<void> MigrationRunner::run_statements(const wire::MigrationRequest& migration, Surface surface, bool& is_data) {
  std::optional<bool> data;
  bool dropped = false;
  bool references_may_break = false;
  for (const std::string& text : migration.statements) {
    for (const std::string& sql : sqlite::split_script(text)) {
      bool is_ddl = false;
      {
        auto compiled = connection_.prepare(sql, sqlite::Access::kWrite);
        if (compiled.has_error()) return compile_error(std::move(compiled).error(), connection_.handle(), sql);
        const auto& traits = (*compiled)->traits();
        is_ddl = traits.is_ddl;
        if (!is_ddl && !traits.writes) return unsupported("read", sql);
        if (!is_ddl && surface == Surface::kPublic) {
          return make_error(ErrorCode::kMigrationDdlOnly, "the public migration surface accepts DDL statements only");
        }
        if (data && *data == is_ddl) {
          return make_error(ErrorCode::kMigrationKindMixed,
                            "a migration file must contain only DDL or only data writes");
        }
        if (!is_ddl && !migration.checksum) {
          return make_error(ErrorCode::kMigrationChecksumInvalid,
                            "data migrations require their canonical content checksum");
        }
        data = !is_ddl;
        dropped = dropped || traits.drops_table;
        references_may_break = references_may_break || traits.drops_table || traits.alters_table || !is_ddl;
        if (!is_ddl) {
          if ((*compiled)->parameter_count() > 0) {
            return make_error(ErrorCode::kStatementInvalid, "a migration's statement takes no parameters: " + sql);
          }
          LEAT_TRY((*compiled)->run());
        }
      }
      if (is_ddl) LEAT_TRY(capture_.run_schema_change(sql));
    }
  }
  is_data = data.value_or(false);
  return references_may_break ? check_references(dropped) : Result<void>();
}

Result<void> MigrationRunner::check_references(bool dropped) {
  if (dropped) {
    LEAT_ASSIGN(
        auto dangling,
        connection_.prepare("select t.name, k.\"table\" from pragma_table_list t, pragma_foreign_key_list(t.name) k "
                            "where t.schema = 'main' and t.type = 'table' and not exists (select 1 from "
                            "pragma_table_list p where p.schema = 'main' and p.name = k.\"table\" collate nocase)",
                            sqlite::Access::kInternal));
    LEAT_ASSIGN(const bool found, dangling->step());
    if (found) {
      return make_error(ErrorCode::kSchemaUnsupported, "table \"" + std::string(dangling->column_bytes(0)) +
                                                           "\" still references the dropped table \"" +
                                                           std::string(dangling->column_bytes(1)) +
                                                           "\"; drop or change that table in the same migration");
    }
  }
  LEAT_ASSIGN(auto check, connection_.prepare("pragma foreign_key_check", sqlite::Access::kInternal));
  LEAT_ASSIGN(const bool violated, check->step());
  if (violated) {
    Error error =
        make_error(ErrorCode::kSqliteError, "FOREIGN KEY constraint failed: rows of \"" +
                                                std::string(check->column_bytes(0)) + "\" reference rows of \"" +
                                                std::string(check->column_bytes(2)) + "\" that are not there");
    error.sqlite_code = SQLITE_CONSTRAINT_FOREIGNKEY;
    error.constraint = Constraint{Constraint::Kind::kForeignKey, std::string(check->column_bytes(0)), {}};
    return error;
  }
  return {};
}

}  // namespace leat::master
