// `leat watch TABLE`: prints the rows of a live query and then each change, as it comes.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "sqlclient/cli/exit_code.h"
#include "sqlclient/cli/server_address.h"

namespace leat::cli {

struct WatchOptions {
  ServerOptions server;
  std::string table;
  std::vector<std::string> conditions;  // as parse_condition reads them; all must hold
  std::vector<std::string> columns;     // empty: all
  bool json = false;                    // the server's frames as they stand, one a line
};

// Ends only with an error that trying again cannot mend; a lost connection is made again, with growing pauses.
ExitCode run_watch(const WatchOptions& options, std::ostream& out);

}  // namespace leat::cli
