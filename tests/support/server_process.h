// A server as users run it: a program with a configuration file, in a process of its own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "core/error.h"

namespace leat::testing {

// The path of a program that was built with this test: in $LEAT_BIN, else beside the running program.
std::string built_program(const std::string& name);

// One thread at a time.
class ServerProcess {
 public:
  // Starts `program --config FILE` in `folder`, with the configuration written to `folder`/`name`.json and standard
  // error appended to `folder`/`name`.log, and waits for the ready line. Errors: kUnavailable with the end of the log.
  static Result<ServerProcess> start(const std::string& program, const std::string& folder, const std::string& name,
                                     const std::string& config_json);
  ~ServerProcess();  // SIGKILL, if it still runs
  ServerProcess(ServerProcess&& other) noexcept;
  ServerProcess& operator=(ServerProcess&& other) noexcept;

  std::uint16_t http_port() const { return http_port_; }
  std::uint16_t ws_port() const { return ws_port_; }
  pid_t pid() const { return pid_; }

  // SIGKILL, and wait until it is gone.
  void kill();
  // SIGTERM, and wait. The exit code; 128 + the signal's number if a signal ended it (SIGKILL after `stop_ms_max`).
  int stop();
  // True while the process has not ended.
  bool is_running();
  // The end of its standard error.
  std::string log_tail() const;

 private:
  ServerProcess() = default;
  Result<void> wait_until_ready(int output);
  int wait();

  pid_t pid_ = -1;  // -1: ended and waited for
  int exit_code_ = -1;
  int output_ = -1;
  std::uint16_t http_port_ = 0;
  std::uint16_t ws_port_ = 0;
  std::string log_file_;
};

}  // namespace leat::testing
