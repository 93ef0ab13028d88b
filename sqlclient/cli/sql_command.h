// `leat sql "SQL" [PARAMETER...]`: one statement, read or write.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "sqlclient/cli/exit_code.h"
#include "sqlclient/cli/server_address.h"

namespace leat::cli {

struct SqlOptions {
  ServerOptions server;
  std::string sql;
  std::vector<std::string> parameters;  // as parse_parameter reads them
  bool json = false;                    // the server's answer as it stands, on one line
};

// Sends the statement under a key of its own, again under the same key while the server says that this is safe.
ExitCode run_sql(const SqlOptions& options, std::ostream& out);

}  // namespace leat::cli
