#include "master/config.h"

#include "changelog/limits.h"
#include "master/limits.h"

namespace leat::master {

namespace {

constexpr std::int64_t transaction_bytes_min = 1 << 20;
constexpr std::int64_t transaction_bytes_max = 128LL << 20;
// A write joins a group that may be nearly full, and what is captured as 9 bytes a value is encoded as up to 13: the
// group's block must still be one that can be written, or the write's neighbours would fail with it.
static_assert((transaction_bytes_max + group_bytes_max) * 13 / 9 < changelog::block_bytes_max);

}  // namespace

WriterOptions default_writer_options(const ServerConfig& server) {
  WriterOptions options;
  options.store.database_path = server.database_path;
  options.store.log_directory = server.log_directory;
  options.store.segment_bytes = server.segment_bytes;
  options.group.disk_reserve_bytes = disk_reserve_bytes_default;
  return options;
}

Result<MasterConfig> load_master_config(const std::string& path) {
  LEAT_ASSIGN(auto reader, ConfigReader::load(path));
  MasterConfig config;
  config.server = read_server_config(reader, "leat-master");
  config.writer = default_writer_options(config.server);
  auto& group = config.writer.group;
  group.excluded_tables = reader.string_list("excludedTables");
  group.transaction_bytes_max = static_cast<std::size_t>(
      reader.integer("transactionBytesMax", static_cast<std::int64_t>(group.transaction_bytes_max),
                     transaction_bytes_min, transaction_bytes_max));
  group.disk_reserve_bytes = static_cast<std::uint64_t>(
      reader.integer("diskReserveBytes", static_cast<std::int64_t>(group.disk_reserve_bytes), 0));
  config.writer.log_retention_bytes = static_cast<std::uint64_t>(reader.integer("logRetentionBytes", 0, 0));
  // Keys of the ecosystem's own servers that say nothing to this one: every table with a key is replicated.
  reader.ignore("tables");
  reader.ignore("localRetention");
  LEAT_TRY(reader.finish());
  return config;
}

}  // namespace leat::master
