#include "tests/support/server_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/json.hpp>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace leat::testing {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kReadyMax{30};
constexpr std::chrono::seconds kStopMax{20};
constexpr std::size_t kLogTailBytes = 4096;

int milliseconds_until(steady_clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

int exit_code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

}  // namespace

std::string built_program(const std::string& name) {
  if (const char* folder = std::getenv("LEAT_BIN"); folder != nullptr) return std::string(folder) + "/" + name;
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / name).string();
}

Result<ServerProcess> ServerProcess::start(const std::string& program, const std::string& folder,
                                           const std::string& name, const std::string& config_json) {
  const std::string config_file = folder + "/" + name + ".json";
  std::ofstream(config_file) << config_json << '\n';

  ServerProcess process;
  process.log_file_ = folder + "/" + name + ".log";
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return make_error(ErrorCode::kIo, std::strerror(errno));
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, process.log_file_.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                     0644);
  ::posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  std::string config_flag = "--config";
  std::string program_argument = program;
  std::string file_argument = config_file;
  std::array<char*, 4> arguments{program_argument.data(), config_flag.data(), file_argument.data(), nullptr};
  const int failed = ::posix_spawn(&process.pid_, program.c_str(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[1]);
  process.output_ = pipe[0];
  if (failed != 0) {
    process.pid_ = -1;
    return make_error(ErrorCode::kUnavailable, program + ": " + std::strerror(failed));
  }
  LEAT_TRY(process.wait_until_ready(pipe[0]));
  return process;
}

Result<void> ServerProcess::wait_until_ready(int output) {
  const auto deadline = steady_clock::now() + kReadyMax;
  std::string line;
  while (line.find('\n') == std::string::npos) {
    pollfd waiting{output, POLLIN, 0};
    std::array<char, 1024> buffer{};
    const ssize_t length =
        ::poll(&waiting, 1, milliseconds_until(deadline)) > 0 ? ::read(output, buffer.data(), buffer.size()) : 0;
    if (length <= 0) return make_error(ErrorCode::kUnavailable, "no ready line; the log ends with:\n" + log_tail());
    line.append(buffer.data(), static_cast<std::size_t>(length));
  }
  boost::system::error_code failed;
  const boost::json::value ready = boost::json::parse(line.substr(0, line.find('\n')), failed);
  const boost::json::object* object = failed ? nullptr : ready.if_object();
  const auto port = [&](const char* name) -> std::uint16_t {
    const boost::json::value* field = object == nullptr ? nullptr : object->if_contains(name);
    return field != nullptr && field->is_number() ? field->to_number<std::uint16_t>() : std::uint16_t{0};
  };
  http_port_ = port("httpPort");
  ws_port_ = port("wsPort");
  if (http_port_ == 0) return make_error(ErrorCode::kUnavailable, "not a ready line: " + line);
  return boost::system::in_place_value;
}

ServerProcess::~ServerProcess() {
  kill();
  if (output_ >= 0) ::close(output_);
}

ServerProcess::ServerProcess(ServerProcess&& other) noexcept { *this = std::move(other); }

ServerProcess& ServerProcess::operator=(ServerProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(exit_code_, other.exit_code_);
  std::swap(output_, other.output_);
  std::swap(http_port_, other.http_port_);
  std::swap(ws_port_, other.ws_port_);
  std::swap(log_file_, other.log_file_);
  return *this;
}

void ServerProcess::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  wait();
}

int ServerProcess::stop() {
  if (pid_ < 0) return exit_code_;
  ::kill(pid_, SIGTERM);
  // The process's end closes its standard output.
  const auto deadline = steady_clock::now() + kStopMax;
  std::array<char, 1024> buffer{};
  for (;;) {
    pollfd waiting{output_, POLLIN, 0};
    if (::poll(&waiting, 1, milliseconds_until(deadline)) <= 0) break;
    if (::read(output_, buffer.data(), buffer.size()) <= 0) return wait();
  }
  ::kill(pid_, SIGKILL);
  return wait();
}

bool ServerProcess::is_running() {
  if (pid_ < 0) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == 0) return true;
  exit_code_ = exit_code_of(status);
  pid_ = -1;
  return false;
}

int ServerProcess::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  exit_code_ = exit_code_of(status);
  pid_ = -1;
  return exit_code_;
}

std::string ServerProcess::log_tail() const {
  std::ifstream file(log_file_);
  const std::string log((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return log.size() <= kLogTailBytes ? log : log.substr(log.size() - kLogTailBytes);
}

}  // namespace leat::testing
