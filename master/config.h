// The master's configuration (ops/docs/operations.md lists the keys).
#pragma once

#include <string>

#include "core/error.h"
#include "core/server_config.h"
#include "master/writer.h"

namespace leat::master {

struct MasterConfig {
  ServerConfig server;
  WriterOptions writer;
};

// Error: kConfigInvalid naming file and key.
Result<MasterConfig> load_master_config(const std::string& path);
// What a server's shared keys mean for the writer, everything else by default.
WriterOptions default_writer_options(const ServerConfig& server);

}  // namespace leat::master
