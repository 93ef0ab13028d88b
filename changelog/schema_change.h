// Running DDL so that the database of the master and of everyone who applies its log end up the same.
#pragma once

#include <memory>
#include <string>

#include "changelog/catalog.h"
#include "core/error.h"
#include "core/sqlite.h"

namespace leat::changelog {

// Triggers and foreign keys off for as long as it lives; also inside of a transaction. Same thread as the connection.
class WithoutSideEffects {
 public:
  explicit WithoutSideEffects(sqlite::Connection& connection);
  ~WithoutSideEffects();
  WithoutSideEffects(const WithoutSideEffects&) = delete;
  WithoutSideEffects& operator=(const WithoutSideEffects&) = delete;

 private:
  sqlite::Connection& connection_;
  int foreign_keys_ = 0;
  int triggers_ = 0;
};

// Runs one DDL statement inside of the caller's transaction, without side effects on rows (dropping a table deletes no
// children), and after ADD COLUMN with a default writes every row of the table again: until a row is rewritten SQLite
// reports its old value of that column as NULL (HAZARDS 9). `before` is the catalog before the statement; answers the
// one after it. Errors: SQLite's; kSchemaUnsupported for temporary objects, virtual tables, and tables that the
// statement leaves without what replication needs. After an error the caller rolls back.
Result<std::shared_ptr<const Catalog>> run_schema_change(sqlite::Connection& connection, const std::string& sql,
                                                         const Catalog& before);

}  // namespace leat::changelog
