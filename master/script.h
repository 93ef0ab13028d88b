// Scripts (`/v1/sql/execute-multiple`): statements that commit one by one under one idempotency key.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/http.h"
#include "core/ids.h"
#include "master/ledger_rules.h"
#include "master/write.h"

namespace leat::master {

class Writer;

// How far a script has got, as its ledger row has it.
struct ScriptState {
  std::size_t steps_done = 0;
  std::optional<Cursor> cursor;  // of its last write that changed something
  std::string results;           // result objects of the steps done, comma-separated
  int status = 0;                // of the final answer; 0 while it is under way
  std::string reply;             // the final answer's body
};

// Submits the steps of a script one after the other, each when the one before it is answered, and answers with the
// last, or with the first that fails. A step that failed for good ends the script, and its failure is the outcome of
// the key; what may be tried again ends only this attempt.
class ScriptRun : public std::enable_shared_from_this<ScriptRun> {
 public:
  struct Request {
    IdempotencyKey key;
    Fingerprint fingerprint{};
    std::vector<std::string> statements;
    std::string request_id;
  };
  // The writer must outlive the run: it answers everything it takes.
  static void start(Writer& writer, Request request, HttpReply reply);

 private:
  class StepSink;
  ScriptRun(Writer& writer, Request request, HttpReply reply);
  void submit_step();
  void submit_end(int status, std::string answer);
  void submit(Body body);
  void on_answer(HttpResponse response);
  void on_step(HttpResponse response);

  Writer& writer_;
  Request request_;
  HttpReply reply_;
  std::shared_ptr<ScriptState> state_ = std::make_shared<ScriptState>();
  bool is_ending_ = false;
  HttpResponse end_;
};

}  // namespace leat::master
