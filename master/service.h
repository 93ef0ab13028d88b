// The master's planes: routes a request to the writer or to a reader, and answers it (WIRE).
#pragma once

#include <memory>
#include <string>

#include "changelog/shipper.h"
#include "core/clock.h"
#include "core/front_door.h"
#include "core/http.h"
#include "core/metrics.h"
#include "core/reader_pool.h"
#include "master/statement_classifier.h"
#include "master/writer.h"

namespace leat::master {

// Any thread. The writer and the metrics must outlive the service.
class MasterService {
 public:
  MasterService(Writer& writer, Clock& clock, MetricsRegistry& metrics);
  ~MasterService();  // stops

  // The plane a path belongs to, for the front door.
  static Plane plane_of(std::string_view path);
  // True for a method and path of the master.
  static bool serves(const HttpRequest& request);
  // Answers an admitted request; 404 for what it does not serve. Does not block.
  void handle(HttpRequest request, HttpReply reply);

  // The /subscribe connections of followers, checked against the front door.
  WebSocketAccept accept(const WebSocketUpgrade& upgrade, const FrontDoor& door);
  changelog::Shipper& shipper() { return shipper_; }
  ReaderPool& readers() { return readers_; }
  void stop();

 private:
  struct PendingSql;
  void execute_sql(HttpRequest& request, HttpReply reply, bool is_batch);
  void execute_script(HttpRequest& request, HttpReply reply);
  void migrate_public(HttpRequest& request, HttpReply reply);
  void migrate_control(HttpRequest& request, HttpReply reply);
  void execute_transaction(HttpRequest& request, HttpReply reply);
  void execute_read(HttpRequest& request, HttpReply reply);
  void reject_mutation(HttpRequest& request, HttpReply reply);

  void classify_and_read(std::shared_ptr<PendingSql> pending);
  Result<std::optional<std::string>> try_read(PendingSql& pending, sqlite::Connection& connection);
  void write_sql(PendingSql& pending);
  Result<void> check_session(const wire::SqlRequest& request) const;

  Writer& writer_;
  Clock& clock_;
  changelog::Shipper shipper_;
  ReaderPool readers_;
  StatementClassifier classifier_;
};

}  // namespace leat::master
