// How the `leat` program ends.
#pragma once

#include "core/error.h"

namespace leat::cli {

enum ExitCode : int {
  kDone = 0,
  kRefused = 1,      // the server answered with an error
  kUsage = 2,        // the command line is wrong
  kUnreachable = 3,  // no server answered
};

// Prints the error to standard error and says how to end.
ExitCode report(const Error& error);

}  // namespace leat::cli
