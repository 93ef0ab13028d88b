// What a statement does, as SQLite's authorizer tells while it compiles, and whether that is allowed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/sqlite.h"

namespace leat::sqlite {

// Watches the compilation of one statement. What has an effect already while it compiles is denied at once; the rest is
// judged when all of it is known.
class StatementCheck {
 public:
  // When SQLite compiles a statement again inside of a step nobody asks for a verdict before it runs: then what it
  // writes is judged at once.
  enum class When { kFirstTime, kInsideStep };
  StatementCheck(Access access, const Connection::TableGuard& guard, When when = When::kFirstTime)
      : access_(access), when_(when), guard_(guard) {}

  // The authorizer's callback: SQLITE_OK or SQLITE_DENY.
  int on_action(int action, const char* first, const char* second, const char* database);

  // What was denied by on_action.
  std::optional<Error>& refusal() { return refusal_; }
  // The verdict over the compiled statement.
  Result<StatementTraits> finish(sqlite3_stmt* statement);

 private:
  int deny(ErrorCode code, std::string message);
  int on_temporary(const char* name);
  int on_pragma(const char* name, const char* argument);
  int on_write(const char* table, const char* database);
  void on_schema_change(const char* table);
  Result<void> check_written_table(const std::string& table) const;

  Access access_;
  When when_;
  const Connection::TableGuard& guard_;
  StatementTraits traits_;
  std::vector<std::string> written_;
  bool saw_action_ = false;
  std::optional<Error> refusal_;
};

// A statement that SQLite compiled without asking the authorizer anything: VACUUM, or a CREATE or DROP that an IF [NOT]
// EXISTS made empty.
bool is_vacuum(sqlite3_stmt* statement);

}  // namespace leat::sqlite
