#include "report/report_data.h"

#include <algorithm>
#include <map>
#include <set>

#include "checkmate/explain.h"
#include "io/json_writer.h"

namespace checkmate::report {
namespace {

template <class Items, class Number>
void write_numbers(JsonWriter& json, std::string_view key, const Items& items, const Number& number) {
  json.key(key).begin_array();
  for (const auto& item : items) json.value(number(item));
  json.end_array();
}

void write_optional(JsonWriter& json, std::string_view key, bool known, auto value) {
  json.key(key);
  known ? json.value(value) : json.null();
}

void write_graph(JsonWriter& json, const Graph& graph) {
  json.key("graph").begin_object().member("name", graph.name()).member("unit", graph.cost_unit());
  json.member("ops", graph.op_count()).member("tensors", graph.tensor_count());
  json.member("edges", graph.edge_count()).member("fixed", graph.fixed_bytes().count());
  json.member("cost", graph.keep_all_cost().count()).end_object();
}

void write_ops(JsonWriter& json, const Graph& graph) {
  std::map<std::string_view, std::size_t> kinds;
  for (const OpId op : graph.ops()) kinds.emplace(graph.kind(op), 0);
  std::size_t next = 0;
  for (auto& [kind, index] : kinds) index = next++;
  std::string phases;
  for (const OpId op : graph.ops()) phases += static_cast<char>('0' + static_cast<int>(graph.phase(op)));

  json.key("ops").begin_object();
  write_numbers(json, "names", graph.ops(), [&](OpId op) { return graph.name(op); });
  write_numbers(json, "kinds", kinds, [](const auto& kind) { return kind.first; });
  write_numbers(json, "kind", graph.ops(), [&](OpId op) { return kinds.at(graph.kind(op)); });
  write_numbers(json, "cost", graph.ops(), [&](OpId op) { return graph.cost(op).count(); });
  json.member("phase", phases).end_object();
}

/// A tensor that is called as the op that makes it, as most are, has the op's index in place of its name.
void write_tensors(JsonWriter& json, const Graph& graph) {
  json.key("tensors").begin_object().key("names").begin_array();
  for (const TensorId tensor : graph.tensors()) {
    const std::optional<OpId> maker = graph.producer(tensor);
    if (maker && graph.name(*maker) == graph.name(tensor)) {
      json.value(maker->value);
    } else {
      json.value(graph.name(tensor));
    }
  }
  json.end_array();
  write_numbers(json, "bytes", graph.tensors(), [&](TensorId t) { return graph.bytes(t).count(); });
  write_numbers(json, "maker", graph.tensors(), [&](TensorId t) -> std::int64_t {
    const std::optional<OpId> maker = graph.producer(t);
    return maker ? static_cast<std::int64_t>(maker->value) : -1;
  });
  json.end_object();
}

/// Stays end to end: tensor, first step, last step.
void write_stays(JsonWriter& json, std::string_view key, const std::vector<LiveInterval>& stays) {
  json.key(key).begin_array();
  for (const LiveInterval& stay : stays) json.value(stay.tensor.value).value(stay.first).value(stay.last);
  json.end_array();
}

void write_run(JsonWriter& json, std::string_view key, const Plan& plan, const Simulation& run) {
  json.key(key).begin_object();
  write_numbers(json, "steps", plan.steps, [](OpId op) { return op.value; });
  write_numbers(json, "memory", run.memory, [](Bytes bytes) { return bytes.count(); });
  write_stays(json, "stays", run.intervals);
  json.member("peak", run.peak.count()).member("cost", run.cost.count()).end_object();
}

void write_answer(JsonWriter& json, const Graph& graph, const Simulation& run, const ReportOptions& options,
                  Cost bound) {
  const double gap = relative_gap(run.cost, bound);
  json.key("answer").begin_object().member("method", options.method);
  json.member("order", to_string(options.order));
  write_optional(json, "budget", options.budget.has_value(), options.budget.value_or(Bytes{}).count());
  write_optional(json, "arena", options.arena.has_value(), options.arena.value_or(Bytes{}).count());
  write_optional(json, "resident", options.resident.has_value(), options.resident.value_or(Bytes{}).count());
  json.member("overhead", overhead(graph, run.cost)).member("bound", bound.count());
  json.member("boundOverhead", overhead(graph, bound)).member("gap", gap);
  json.member("optimal", gap <= 1e-9).end_object();
}

void write_explanation(JsonWriter& json, const Explanation& explanation) {
  json.member("recomputedCost", explanation.recomputed_cost.count());
  json.key("recomputed").begin_array();
  for (const Recomputation& again : explanation.recomputed)
    json.value(again.op.value).value(again.times).value(again.cost.count());
  json.end_array().key("peak").begin_object();
  write_numbers(json, "steps", explanation.peak_steps, [](std::uint32_t step) { return step; });
  json.member("workspace", explanation.peak_workspace.count());
  write_stays(json, "stays", explanation.at_peak);
  json.end_object();
}

/// Between the best bound and the best plan that are known at a budget, whoever found them. A bound for more
/// memory holds for less, a plan for less memory serves with more.
void write_band(JsonWriter& json, const Graph& graph, const std::vector<ReportPoint>& points) {
  std::set<Bytes> budgets;
  for (const ReportPoint& point : points) budgets.insert(point.budget);
  json.key("band").begin_array();
  for (const Bytes budget : budgets) {
    Cost bound = graph.keep_all_cost();
    std::optional<Cost> best;
    for (const ReportPoint& point : points) {
      if (point.budget >= budget && point.lower_bound) bound = std::max(bound, *point.lower_bound);
      if (point.budget <= budget && point.cost) best = std::min(best.value_or(*point.cost), *point.cost);
    }
    json.begin_object().member("budget", budget.count()).member("bound", overhead(graph, bound));
    write_optional(json, "best", best.has_value(), overhead(graph, best.value_or(Cost{})));
    json.end_object();
  }
  json.end_array();
}

void write_tradeoff(JsonWriter& json, const Graph& graph, const Simulation& run, const ReportOptions& options,
                    Cost bound) {
  json.key("tradeoff");
  if (options.points.empty()) {
    json.null();
    return;
  }
  json.begin_object().key("points").begin_array();
  for (const ReportPoint& point : options.points) {
    json.begin_object().member("method", point.method).member("budget", point.budget.count());
    json.member("status", to_string(point.status));
    write_optional(json, "overhead", point.cost.has_value(), overhead(graph, point.cost.value_or(Cost{})));
    json.end_object();
  }
  json.end_array();
  std::vector<ReportPoint> all = options.points;
  all.push_back({.budget = options.budget.value_or(run.peak),
                 .method = options.method,
                 .status = Status::kFeasible,
                 .cost = run.cost,
                 .lower_bound = bound});
  write_band(json, graph, all);
  json.end_object();
}

/// Pairs of a producing and a using op, end to end; null for a network that is too large to draw.
void write_edges(JsonWriter& json, const Graph& graph) {
  json.key("edges");
  if (graph.op_count() > kDrawnOps) {
    json.null();
    return;
  }
  json.begin_array();
  for (const OpId op : graph.ops()) {
    std::set<OpId> users;
    for (const TensorId tensor : graph.outputs(op))
      users.insert(graph.users(tensor).begin(), graph.users(tensor).end());
    for (const OpId user : users) json.value(op.value).value(user.value);
  }
  json.end_array();
}

}  // namespace

std::string report_json(const Graph& graph, const Plan& plan, const Simulation& run,
                        const ReportOptions& options) {
  const Plan keep_all = keep_all_plan(graph);
  const Cost bound = std::max(graph.keep_all_cost(), options.lower_bound.value_or(Cost{}));
  JsonWriter json(JsonWriter::Spacing::kCompact);
  json.begin_object();
  write_graph(json, graph);
  write_answer(json, graph, run, options, bound);
  write_ops(json, graph);
  write_tensors(json, graph);
  write_run(json, "plan", plan, run);
  write_run(json, "keepAll", keep_all, simulate(graph, keep_all).value());
  write_explanation(json, explain(graph, plan).value());
  write_tradeoff(json, graph, run, options, bound);
  write_edges(json, graph);
  json.end_object();
  return json.take();
}

std::string inside_script(std::string_view json) {
  // All of these are found in strings only, where JSON lets any character be written as an escape.
  std::string text;
  text.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string_view three = json.substr(i, 3);
    if (json[i] == '<') {
      text += "\\u003c";
    } else if (json[i] == '>') {
      text += "\\u003e";
    } else if (json[i] == '&') {
      text += "\\u0026";
    } else if (three == "\xE2\x80\xA8" || three == "\xE2\x80\xA9") {
      text += three.back() == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      text += json[i];
    }
  }
  return text;
}

}  // namespace checkmate::report
