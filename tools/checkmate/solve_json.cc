#include "solve_json.h"

#include "commands.h"

namespace checkmate::tool {

void write_answer(JsonWriter& json, const Graph& graph, const SolveOptions& options,
                  const SolveResult& result) {
  json.begin_object();
  write_answer_members(json, graph, options, result);
  json.end_object();
}

void write_answer_members(JsonWriter& json, const Graph& graph, const SolveOptions& options,
                          const SolveResult& result) {
  json.member("status", to_string(result.status)).member("method", result.method);
  json.member("order", to_string(options.order));
  const auto optional = [&](std::string_view name, bool known, auto value) {
    json.key(name);
    known ? json.value(value) : json.null();
  };
  const bool planned = result.plan.has_value();
  optional("cost", planned, result.cost.count());
  json.member("keep_all_cost", graph.keep_all_cost().count());
  optional("overhead", planned, overhead(graph, result.cost));
  optional("peak_bytes", planned, result.peak.count());
  json.member("budget_bytes", options.budget.count()).member("lower_bound", result.lower_bound.count());
  optional("gap", planned, planned ? relative_gap(result.cost, result.lower_bound) : 0);
  const Cost stage_bound = result.stage_lower_bound.value_or(Cost{0});
  const bool staged = result.stage_lower_bound.has_value();
  optional("stage_lower_bound", staged, stage_bound.count());
  optional("stage_gap", staged && planned, staged && planned ? relative_gap(result.cost, stage_bound) : 0);
  json.member("seconds", result.seconds);
  optional("first_plan_seconds", planned, result.first_plan_seconds);
  json.member("seed", options.seed);
  if (result.status == Status::kInfeasible) json.member("needed_bytes", result.needed->count());
  if (!planned && result.sufficient) json.member("sufficient_bytes", result.sufficient->count());
  if (!result.detail.empty()) json.member("detail", result.detail);
}

}  // namespace checkmate::tool
