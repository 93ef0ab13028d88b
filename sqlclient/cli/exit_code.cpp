#include "sqlclient/cli/exit_code.h"

#include <iostream>

namespace leat::cli {

ExitCode report(const Error& error) {
  std::cerr << "leat: " << error.message << '\n';
  switch (error.code) {
    case ErrorCode::kConfigInvalid:
      return kUsage;
    case ErrorCode::kUnavailable:
      return kUnreachable;
    default:
      return kRefused;
  }
}

}  // namespace leat::cli
