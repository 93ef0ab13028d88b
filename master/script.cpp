#include "master/script.h"

#include <utility>

#include "master/answers.h"
#include "master/writer.h"
#include "sqlclient/wire/errors.h"

namespace leat::master {

class ScriptRun::StepSink final : public HttpReply::Sink {
 public:
  explicit StepSink(std::shared_ptr<ScriptRun> run) : run_(std::move(run)) {}
  void send(HttpResponse response) override { run_->on_answer(std::move(response)); }

 private:
  std::shared_ptr<ScriptRun> run_;
};

void ScriptRun::start(Writer& writer, Request request, HttpReply reply) {
  const std::shared_ptr<ScriptRun> run(new ScriptRun(writer, std::move(request), std::move(reply)));
  run->submit_step();
}

ScriptRun::ScriptRun(Writer& writer, Request request, HttpReply reply)
    : writer_(writer), request_(std::move(request)), reply_(std::move(reply)) {}

void ScriptRun::submit_step() {
  wire::Statement statement;
  statement.sql = request_.statements[state_->steps_done];
  statement.wants_rows = false;
  submit(StatementsBody{{std::move(statement)}, false});
}

void ScriptRun::submit_end(int status, std::string answer) {
  is_ending_ = true;
  end_.status = status;
  end_.body = answer;
  submit(ScriptEndBody{status, std::move(answer)});
}

void ScriptRun::submit(Body body) {
  writer_.submit(Write{changelog::Origin::kSystem, request_.request_id,
                       ScriptGuard{request_.key, request_.fingerprint, state_->steps_done, state_}, std::move(body),
                       AnswerStyle::kScriptStep, 0, HttpReply(std::make_shared<StepSink>(shared_from_this()))});
}

void ScriptRun::on_answer(HttpResponse response) {
  if (response.status == 200 && state_->status != 0) {  // over: by this run, or by another one of the same key
    end_.status = state_->status;
    end_.body = state_->reply;
    return reply_.send(std::move(end_));
  }
  if (is_ending_) return reply_.send(std::move(response));
  on_step(std::move(response));
}

void ScriptRun::on_step(HttpResponse response) {
  if (response.status == 200) {
    if (state_->steps_done < request_.statements.size()) return submit_step();
    return submit_end(200, script_answer(state_->cursor));
  }
  const bool ran = response.status == 400 || response.status == 413;
  std::string answer = script_failure(std::move(response.body), state_->steps_done, state_->results);
  if (ran) return submit_end(response.status, std::move(answer));
  response.body = std::move(answer);
  reply_.send(std::move(response));
}

}  // namespace leat::master
