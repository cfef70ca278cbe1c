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
  json.member("status", to_string(result.status)).member("stop_reason", to_string(result.stop_reason));
  json.member("method", result.method);
  json.member("order", to_string(options.order));
  const auto optional = [&](std::string_view name, const auto& known, const auto& value_of) {
    json.key(name);
    known ? json.value(value_of(*known)) : json.null();
  };
  const auto count = [](auto amount) { return amount.count(); };
  const auto gap_to = [&](Cost bound) { return [bound](Cost cost) { return relative_gap(cost, bound); }; };
  optional("cost", result.cost, count);
  json.member("keep_all_cost", graph.keep_all_cost().count()).member("cost_unit", graph.cost_unit());
  optional("overhead", result.cost, [&](Cost cost) { return overhead(graph, cost); });
  optional("peak_bytes", result.peak, count);
  json.member("budget_bytes", options.budget.count()).member("lower_bound", result.lower_bound.count());
  optional("gap", result.cost, gap_to(result.lower_bound));
  optional("stage_lower_bound", result.stage_lower_bound, count);
  const std::optional<Cost> staged = result.stage_lower_bound ? result.cost : std::nullopt;
  optional("stage_gap", staged, gap_to(result.stage_lower_bound.value_or(Cost{})));
  json.member("seconds", result.seconds);
  optional("first_plan_seconds", result.cost, [&](Cost) { return result.first_plan_seconds; });
  json.member("seed", options.seed);
  if (!result.plan && result.needed) json.member("needed_bytes", result.needed->count());
  if (!result.plan && result.sufficient) json.member("sufficient_bytes", result.sufficient->count());
  if (!result.detail.empty()) json.member("detail", result.detail);
}

}  // namespace checkmate::tool
