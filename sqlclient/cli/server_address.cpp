#include "sqlclient/cli/server_address.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace leat::cli {
namespace {

namespace json = boost::json;

std::string server_file(const std::string& folder) { return folder + "/leat.json"; }

Result<ServerOptions> read_server_file(const std::string& folder) {
  const std::string path = server_file(folder);
  std::ifstream file(path);
  if (!file) {
    return make_error(ErrorCode::kConfigInvalid, path + " cannot be read: has `leat up " + folder + "` been started?");
  }
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  boost::system::error_code failed;
  const json::value parsed = json::parse(text, failed);
  const json::object* object = failed ? nullptr : parsed.if_object();
  const json::value* url = object == nullptr ? nullptr : object->if_contains("url");
  if (url == nullptr || !url->is_string()) {
    return make_error(ErrorCode::kConfigInvalid, path + " should hold a JSON object with a \"url\"");
  }
  ServerOptions options;
  options.url = url->as_string();
  if (const json::value* token = object->if_contains("token"); token != nullptr && token->is_string()) {
    options.token = token->as_string();
  }
  return options;
}

Error system_error(const std::string& path) { return make_error(ErrorCode::kIo, path + ": " + std::strerror(errno)); }

}  // namespace

HttpHeaders ServerAddress::headers() const {
  HttpHeaders headers{{"Content-Type", "application/json"}};
  if (!token.empty()) headers.emplace_back("Authorization", "Bearer " + token);
  return headers;
}

Url ServerAddress::web_socket() const {
  Url socket = url;
  socket.scheme = url.scheme == "https" ? "wss" : "ws";
  return socket;
}

Result<ServerAddress> resolve(const ServerOptions& options) {
  ServerOptions chosen = options;
  if (chosen.url.empty() && !options.folder.empty()) {
    LEAT_ASSIGN(ServerOptions from_file, read_server_file(options.folder));
    chosen.url = from_file.url;
    if (chosen.token.empty()) chosen.token = from_file.token;
  }
  if (chosen.url.empty()) chosen.url = kDefaultUrl;
  Result<Url> url = Url::parse(chosen.url);
  if (url.has_error() || (url->scheme != "http" && url->scheme != "https")) {
    return make_error(ErrorCode::kConfigInvalid, "not the URL of a server: " + chosen.url);
  }
  url->path = "/";
  return ServerAddress{*url, chosen.token};
}

Result<void> write_server_file(const std::string& folder, std::string_view url, std::string_view token) {
  json::object object{{"url", url}};
  if (!token.empty()) object["token"] = token;
  const std::string text = json::serialize(object) + "\n";
  const std::string path = server_file(folder);
  const std::string written = path + ".new";
  const int descriptor = ::open(written.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor < 0) return system_error(written);
  const bool is_written = ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(descriptor);
  if (!is_written || ::rename(written.c_str(), path.c_str()) != 0) return system_error(path);
  return boost::system::in_place_value;
}

}  // namespace leat::cli
