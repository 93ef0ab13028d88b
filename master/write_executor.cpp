#include "master/write_executor.h"

#include "master/limits.h"
#include "master/script.h"
#include "master/system_schema.h"

namespace leat::master {

namespace {

template <class... Cases>
struct Match : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Match(Cases...) -> Match<Cases...>;

}  // namespace

WriteExecutor::WriteExecutor(sqlite::Connection& connection, changelog::Capture& capture, Clock& clock)
    : capture_(capture),
      clock_(clock),
      ledgers_(connection),
      statements_(connection, capture),
      migrations_(connection, capture, value_rules_, clock) {}

Result<WriteExecutor::Executed> WriteExecutor::execute(const Write& write, Cursor cursor, Cursor head) {
  Executed executed;
  LEAT_ASSIGN(executed.answer, run(write, cursor, head));
  LEAT_TRY(capture_.status());
  executed.bytes = capture_.position().bytes;
  LEAT_ASSIGN(executed.records, capture_.take());
  if (!executed.records.empty()) {
    LEAT_ASSIGN(const auto catalog, capture_.catalog());
    LEAT_TRY(value_rules_.check(executed.records, catalog));
  }
  return executed;
}

Result<WriteExecutor::Answer> WriteExecutor::run(const Write& write, Cursor cursor, Cursor head) {
  LEAT_ASSIGN(auto absorbed, absorb(write.guard));
  if (absorbed) return std::move(*absorbed);
  auto answer = std::visit(Match{
                               [&](const StatementsBody& body) { return run_body(write, body, cursor); },
                               [&](const MigrationsBody& body) { return run_body(write, body, cursor, head); },
                               [&](const ScriptEndBody& body) { return end_script(write, body); },
                               [&](const SystemSchemaBody&) { return make_system_tables(); },
                               [&](const SweepBody&) { return run_sweep(); },
                           },
                           write.body);
  if (answer.has_error()) return answer;
  LEAT_TRY(keep(write.guard, *answer));
  return answer;
}

Result<WriteExecutor::Answer> WriteExecutor::run_body(const Write& write, const StatementsBody& body, Cursor cursor) {
  const std::size_t before = capture_.position().records;
  std::size_t index = 0;
  LEAT_ASSIGN(const std::string results, statements_.run(body, index));
  const bool changed = capture_.position().records > before;
  const auto commit_cursor = changed ? std::optional<Cursor>(cursor) : std::nullopt;
  if (write.style == AnswerStyle::kExecute) return execute_answer(results, commit_cursor);
  if (const auto* script = std::get_if<ScriptGuard>(&write.guard)) {
    ScriptState& state = *script->state;
    ++state.steps_done;
    if (changed) state.cursor = cursor;
    if (!state.results.empty()) state.results += ',';
    state.results += results;
    return Answer("{}");
  }
  if (write.style == AnswerStyle::kBatch) return batch_answer(results, commit_cursor);
  ControlReceipt receipt{changed, commit_cursor, std::nullopt};
  if (!std::holds_alternative<std::monostate>(write.guard)) {  // its ledger row moves, so it has a cursor in any case
    receipt.applied = true;
    receipt.cursor = cursor;
  }
  if (const auto* mutation = std::get_if<wire::Mutation>(&write.guard)) receipt.mutation = *mutation;
  return control_answer(receipt);
}

Result<WriteExecutor::Answer> WriteExecutor::run_body(const Write& write, const MigrationsBody& body, Cursor cursor,
                                                      Cursor head) {
  const bool is_public = write.style == AnswerStyle::kPublicMigration || write.style == AnswerStyle::kExecute;
  const auto surface = is_public ? MigrationRunner::Surface::kPublic : MigrationRunner::Surface::kControl;
  LEAT_ASSIGN(const auto outcome, migrations_.run(body.migrations, surface, cursor));
  if (outcome.failure && write.style != AnswerStyle::kMigrationList) return *outcome.failure;
  return migration_answer(write.style, outcome, head);
}

Result<WriteExecutor::Answer> WriteExecutor::end_script(const Write& write, const ScriptEndBody& body) {
  ScriptState& state = *std::get<ScriptGuard>(write.guard).state;
  state.status = body.status;
  state.reply = body.reply;
  return Answer("{}");
}

Result<WriteExecutor::Answer> WriteExecutor::make_system_tables() {
  LEAT_ASSIGN(const auto catalog, capture_.catalog());
  for (const SystemTable& table : system_schema()) {
    if (catalog->find(table.name) == nullptr) LEAT_TRY(capture_.run_schema_change(std::string(table.sql)));
  }
  return Answer("{}");
}

Result<WriteExecutor::Answer> WriteExecutor::run_sweep() {
  const std::int64_t oldest_ms = clock_.now().value - outcome_kept_ms;
  LEAT_TRY(ledgers_.sweep_outcomes(oldest_ms));
  LEAT_TRY(ledgers_.sweep_control_keys(oldest_ms));
  return Answer("{}");
}

Result<std::optional<WriteExecutor::Answer>> WriteExecutor::absorb(const Guard& guard) {
  using Absorbed = std::optional<Answer>;
  return std::visit(
      Match{
          [](std::monostate) -> Result<Absorbed> { return Absorbed{}; },
          [&](const OutcomeGuard& outcome) -> Result<Absorbed> {
            LEAT_ASSIGN(const std::int64_t floor_ms, ledgers_.outcome_floor());
            LEAT_TRY(admit_key(outcome.key, clock_.now(), floor_ms));
            LEAT_ASSIGN(auto stored, ledgers_.find_outcome(outcome.key));
            if (!stored) return Absorbed{};
            LEAT_TRY(judge_outcome(outcome.key, stored->fingerprint, outcome.fingerprint));
            return Absorbed(std::move(stored->reply));
          },
          [&](const ScriptGuard& script) -> Result<Absorbed> {
            LEAT_ASSIGN(const std::int64_t floor_ms, ledgers_.outcome_floor());
            LEAT_TRY(admit_key(script.key, clock_.now(), floor_ms));
            LEAT_ASSIGN(auto stored, ledgers_.find_outcome(script.key));
            if (!stored) return Absorbed{};
            LEAT_TRY(judge_outcome(script.key, stored->fingerprint, script.fingerprint));
            auto& [steps_done, cursor, results, status, reply] = *script.state;
            steps_done = stored->steps_done;
            cursor = stored->cursor;
            status = stored->status;
            (status == 0 ? results : reply) = std::move(stored->reply);
            return status != 0 || steps_done > script.step ? Absorbed("{}") : Absorbed{};
          },
          [&](const wire::ControlKey& key) -> Result<Absorbed> {
            LEAT_ASSIGN(const bool used, ledgers_.has_control_key(key));
            return used ? Absorbed(control_answer({})) : Absorbed{};
          },
          [&](const wire::Producer& producer) -> Result<Absorbed> {
            LEAT_ASSIGN(const auto last, ledgers_.last_seq(producer.id));
            LEAT_ASSIGN(const Verdict verdict, judge_producer(producer.id, last, producer.seq));
            return verdict == Verdict::kAbsorb ? Absorbed(control_answer({})) : Absorbed{};
          },
          [&](const wire::Mutation& mutation) -> Result<Absorbed> {
            LEAT_ASSIGN(const auto last, ledgers_.last_mid(mutation.client));
            LEAT_ASSIGN(const Verdict verdict, judge_mutation(mutation.client, last, mutation.mid));
            if (verdict == Verdict::kApply) return Absorbed{};
            return Absorbed(control_answer({false, std::nullopt, wire::Mutation{mutation.client, *last}}));
          },
      },
      guard);
}

Result<void> WriteExecutor::keep(const Guard& guard, const Answer& answer) {
  return std::visit(
      Match{
          [](std::monostate) { return Result<void>(); },
          [&](const OutcomeGuard& outcome) {
            return ledgers_.keep_outcome(outcome.key, {outcome.fingerprint, 200, 0, std::nullopt, answer});
          },
          [&](const ScriptGuard& script) {
            const auto& [steps_done, cursor, results, status, reply] = *script.state;
            return ledgers_.keep_outcome(
                script.key, {script.fingerprint, status, steps_done, cursor, status == 0 ? results : reply});
          },
          [&](const wire::ControlKey& key) { return ledgers_.keep_control_key(key, clock_.now()); },
          [&](const wire::Producer& producer) { return ledgers_.advance(producer); },
          [&](const wire::Mutation& mutation) { return ledgers_.advance(mutation); },
      },
      guard);
}

}  // namespace leat::master
