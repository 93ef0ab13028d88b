#include "changelog/block_payload.h"

#include <google/protobuf/arena.h>

#include <bit>
#include <limits>
#include <string>

#include "changelog.pb.h"
#include "changelog/limits.h"

namespace leat::changelog {

namespace {

constexpr std::size_t kArenaBytes = std::size_t{64} << 10;  // a usual group needs no allocation beyond this

google::protobuf::ArenaOptions arena_options() {
  alignas(16) thread_local char first_block[kArenaBytes];
  google::protobuf::ArenaOptions options;
  options.initial_block = first_block;
  options.initial_block_size = sizeof first_block;
  options.start_block_size = kArenaBytes;
  options.max_block_size = std::size_t{1} << 20;
  return options;
}

Error corrupt(const std::string& what) { return make_error(ErrorCode::kCorrupt, "block payload: " + what); }

// Bit for bit: -0.0 and 0.0 are two values.
bool same_bits(const Value& a, const Value& b) {
  const auto* x = std::get_if<double>(&a);
  const auto* y = std::get_if<double>(&b);
  if (x != nullptr && y != nullptr) return std::bit_cast<std::uint64_t>(*x) == std::bit_cast<std::uint64_t>(*y);
  return a == b;
}

class Encoder {
 public:
  explicit Encoder(format::Payload& payload) : payload_(payload) {}

  void add(const Transaction& transaction) {
    format::Transaction& into = *payload_.add_transactions();
    into.set_origin(static_cast<std::uint32_t>(transaction.origin));
    if (!transaction.request_id.empty()) into.set_request_id(transaction.request_id);
    into.mutable_records()->Reserve(static_cast<int>(transaction.records.size()));
    for (const ChangeRecord& record : transaction.records) {
      format::Record& entry = *into.add_records();
      if (const auto* row = std::get_if<RowChange>(&record)) {
        add(*row, *entry.mutable_row());
      } else if (const auto* schema = std::get_if<SchemaChange>(&record)) {
        entry.set_schema_sql(schema->sql);
      } else {
        const auto& sequence = std::get<SequenceChange>(record);
        entry.mutable_sequence()->set_table(table_index(sequence.table));
        entry.mutable_sequence()->set_value(sequence.value);
      }
    }
  }

 private:
  // Blocks name few tables, and neighbours mostly the same one.
  std::uint32_t table_index(const std::string& table) {
    if (last_index_ < payload_.tables_size() && payload_.tables(last_index_) == table) {
      return static_cast<std::uint32_t>(last_index_);
    }
    for (last_index_ = 0; last_index_ < payload_.tables_size(); ++last_index_) {
      if (payload_.tables(last_index_) == table) return static_cast<std::uint32_t>(last_index_);
    }
    payload_.add_tables(table);
    return static_cast<std::uint32_t>(last_index_);
  }

  static void add(const Value& value, format::Value& into) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      into.set_integer(*integer);
    } else if (const auto* real = std::get_if<double>(&value)) {
      into.set_real(*real);
    } else if (const auto* text = std::get_if<Text>(&value)) {
      into.set_text(text->bytes);
    } else if (const auto* blob = std::get_if<Blob>(&value)) {
      into.set_blob(blob->bytes);
    }
  }

  void add(const RowChange& change, format::RowChange& into) {
    into.set_table(table_index(change.table));
    into.set_operation(static_cast<std::uint32_t>(change.operation));
    if (change.old_rowid) into.set_old_rowid(*change.old_rowid);
    if (change.new_rowid) into.set_new_rowid(*change.new_rowid);
    into.mutable_old_values()->Reserve(static_cast<int>(change.old_row.size()));
    for (const Value& value : change.old_row) add(value, *into.add_old_values());
    into.mutable_new_values()->Reserve(static_cast<int>(change.new_row.size()));
    const bool comparable = change.operation == Operation::kUpdate && change.old_row.size() == change.new_row.size();
    for (std::size_t i = 0; i < change.new_row.size(); ++i) {
      const Value& value = change.new_row[i];
      format::Value& entry = *into.add_new_values();
      if (comparable && !is_null(value) && same_bits(change.old_row[i], value)) {
        entry.set_unchanged(true);
      } else {
        add(value, entry);
      }
    }
  }

  format::Payload& payload_;
  int last_index_ = 0;
};

class Decoder {
 public:
  explicit Decoder(format::Payload& payload) : payload_(payload) {}

  Result<Transaction> take(format::Transaction& from, Cursor cursor) {
    Transaction transaction;
    transaction.cursor = cursor;
    if (from.origin() > static_cast<std::uint32_t>(Origin::kLedger)) return corrupt("unknown origin");
    transaction.origin = static_cast<Origin>(from.origin());
    transaction.request_id = std::move(*from.mutable_request_id());
    transaction.records.reserve(static_cast<std::size_t>(from.records_size()));
    for (format::Record& record : *from.mutable_records()) {
      switch (record.kind_case()) {
        case format::Record::kRow: {
          LEAT_ASSIGN(RowChange change, take(*record.mutable_row()));
          transaction.records.emplace_back(std::move(change));
          break;
        }
        case format::Record::kSchemaSql:
          transaction.records.emplace_back(SchemaChange{std::move(*record.mutable_schema_sql())});
          break;
        case format::Record::kSequence: {
          LEAT_ASSIGN(std::string table, table_name(record.sequence().table()));
          transaction.records.emplace_back(SequenceChange{std::move(table), record.sequence().value()});
          break;
        }
        case format::Record::KIND_NOT_SET:
          return corrupt("a record of no known kind");
      }
    }
    return transaction;
  }

 private:
  Result<std::string> table_name(std::uint32_t index) const {
    if (index >= static_cast<std::uint32_t>(payload_.tables_size())) return corrupt("unknown table index");
    return payload_.tables(static_cast<int>(index));
  }

  static Value take(format::Value& from) {
    switch (from.kind_case()) {
      case format::Value::kInteger:
        return from.integer();
      case format::Value::kReal:
        return from.real();
      case format::Value::kText:
        return Text{std::move(*from.mutable_text())};
      case format::Value::kBlob:
        return Blob{std::move(*from.mutable_blob())};
      default:
        return Null{};
    }
  }

  Result<RowChange> take(format::RowChange& from) {
    RowChange change;
    LEAT_ASSIGN(change.table, table_name(from.table()));
    if (from.operation() < static_cast<std::uint32_t>(Operation::kInsert) ||
        from.operation() > static_cast<std::uint32_t>(Operation::kDelete)) {
      return corrupt("unknown operation");
    }
    change.operation = static_cast<Operation>(from.operation());
    const bool has_old = change.operation != Operation::kInsert;
    const bool has_new = change.operation != Operation::kDelete;
    if ((!has_old && (from.old_values_size() != 0 || from.has_old_rowid())) ||
        (!has_new && (from.new_values_size() != 0 || from.has_new_rowid()))) {
      return corrupt("a row image that its operation does not have");
    }
    if (from.has_old_rowid()) change.old_rowid = from.old_rowid();
    if (from.has_new_rowid()) change.new_rowid = from.new_rowid();
    change.old_row.reserve(static_cast<std::size_t>(from.old_values_size()));
    for (format::Value& value : *from.mutable_old_values()) {
      if (value.kind_case() == format::Value::kUnchanged) return corrupt("an unchanged value in an old row");
      change.old_row.push_back(take(value));
    }
    change.new_row.reserve(static_cast<std::size_t>(from.new_values_size()));
    for (format::Value& value : *from.mutable_new_values()) {
      if (value.kind_case() != format::Value::kUnchanged) {
        change.new_row.push_back(take(value));
        continue;
      }
      if (change.operation != Operation::kUpdate || from.old_values_size() != from.new_values_size() ||
          !value.unchanged()) {
        return corrupt("an unchanged value without an old one");
      }
      change.new_row.push_back(change.old_row[change.new_row.size()]);
    }
    return change;
  }

  format::Payload& payload_;
};

}  // namespace

Result<void> encode_payload(const std::vector<Transaction>& transactions, std::size_t room, std::string& into) {
  google::protobuf::Arena arena(arena_options());
  auto& payload = *google::protobuf::Arena::CreateMessage<format::Payload>(&arena);
  payload.mutable_transactions()->Reserve(static_cast<int>(transactions.size()));
  Encoder encoder(payload);
  for (const Transaction& transaction : transactions) encoder.add(transaction);
  const std::size_t size = payload.ByteSizeLong();
  if (size > block_bytes_max) {
    return make_error(ErrorCode::kLimit, "a block of " + std::to_string(size) + " bytes exceeds block_bytes_max (" +
                                             std::to_string(block_bytes_max) + ")");
  }
  into.resize(room + size);
  payload.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(into.data()) + room);
  return {};
}

Result<std::vector<Transaction>> decode_payload(std::string_view bytes, Cursor first, Cursor last) {
  google::protobuf::Arena arena(arena_options());
  auto& payload = *google::protobuf::Arena::CreateMessage<format::Payload>(&arena);
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !payload.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return corrupt("not Protobuf");
  }
  if (static_cast<std::uint64_t>(payload.transactions_size()) != last.value() - first.value() + 1) {
    return corrupt("the number of transactions disagrees with the cursors");
  }
  std::vector<Transaction> transactions;
  transactions.reserve(static_cast<std::size_t>(payload.transactions_size()));
  Decoder decoder(payload);
  Cursor cursor = first;
  for (format::Transaction& from : *payload.mutable_transactions()) {
    LEAT_ASSIGN(Transaction transaction, decoder.take(from, cursor));
    transactions.push_back(std::move(transaction));
    cursor = cursor.next();
  }
  return transactions;
}

}  // namespace leat::changelog
