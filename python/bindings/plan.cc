#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bindings.h"
#include "ids.h"

namespace checkmate::python {
namespace {

using namespace nb::literals;
using Numbers = std::vector<std::uint32_t>;
using Unlocked = nb::call_guard<nb::gil_scoped_release>;

std::vector<Numbers> frees_of(const Plan& plan) {
  std::vector<Numbers> frees;
  frees.reserve(plan.frees.step_count());
  for (std::size_t step = 0; step < plan.frees.step_count(); ++step)
    frees.push_back(numbers_of(plan.frees.after(step)));
  return frees;
}

Plan plan_of(const Numbers& steps, const std::vector<Numbers>& frees) {
  Plan plan{.steps = ids_of<OpId>(steps), .frees = {}};
  for (const Numbers& freed : frees) plan.frees.push_step(ids_of<TensorId>(freed));
  return plan;
}

/// cost, peak, memory per step
std::tuple<std::int64_t, std::int64_t, std::vector<std::int64_t>> simulated(const Graph& graph,
                                                                            const Plan& plan) {
  const Simulation run = value_or_raise(simulate(graph, plan));
  std::vector<std::int64_t> memory;
  memory.reserve(run.memory.size());
  for (const Bytes bytes : run.memory) memory.push_back(bytes.count());
  return {run.cost.count(), run.peak.count(), std::move(memory)};
}

std::vector<std::string> violations(const Graph& graph, const Plan& plan, std::int64_t budget,
                                    std::string_view order) {
  std::vector<std::string> texts;
  for (const Violation& violation : validate(graph, plan, Bytes{budget}, order_of(order)))
    texts.push_back(describe(graph, violation));
  return texts;
}

/// op, times, cost
std::vector<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>> recomputed(const Graph& graph,
                                                                               const Plan& plan) {
  std::vector<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>> rows;
  for (const Recomputation& again : value_or_raise(explain(graph, plan)).recomputed)
    rows.emplace_back(again.op.value, again.times, again.cost.count());
  return rows;
}

/// the first step at the peak; the tensors then
std::pair<std::uint32_t, Numbers> at_peak(const Graph& graph, const Plan& plan) {
  const Explanation explanation = value_or_raise(explain(graph, plan));
  Numbers tensors;
  for (const LiveInterval& stay : explanation.at_peak) tensors.push_back(stay.tensor.value);
  return {explanation.peak_steps.front(), std::move(tensors)};
}

using Triples = std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>>;

/// stages; op by place; (stage, place) of each recomputation; (place, first stage, last stage) of each stay
std::tuple<std::uint32_t, Numbers, std::vector<std::pair<std::uint32_t, std::uint32_t>>, Triples> mapped(
    const Graph& graph, const Plan& plan) {
  const StageMap map = value_or_raise(stage_map(graph, plan));
  std::vector<std::pair<std::uint32_t, std::uint32_t>> again;
  for (const StageMap::Run& run : map.recomputed) again.emplace_back(run.stage, run.place);
  Triples kept;
  for (const StageMap::Stay& stay : map.kept) kept.emplace_back(stay.place, stay.first, stay.last);
  return {map.stages, numbers_of(std::span<const OpId>(map.ops)), std::move(again), std::move(kept)};
}

std::string to_json(const Graph& graph, const Plan& plan, std::int64_t budget, std::string_view order,
                    std::int64_t cost, std::int64_t peak, std::int64_t lower_bound, std::string method,
                    std::uint64_t seed) {
  return plan_to_json({.plan = plan,
                       .graph_name = std::string(graph.name()),
                       .graph_sha256 = graph_sha256(graph),
                       .budget = Bytes{budget},
                       .order = order_of(order),
                       .cost = Cost{cost},
                       .peak = Bytes{peak},
                       .lower_bound = Cost{lower_bound},
                       .method = std::move(method),
                       .seed = seed});
}

/// budget, method, status, cost, lower bound
using PointRow = std::tuple<std::int64_t, std::string, std::string, std::optional<std::int64_t>,
                            std::optional<std::int64_t>>;

Status status_of(std::string_view text) {
  for (const Status status : {Status::kOptimal, Status::kFeasible, Status::kInfeasible, Status::kUnknown}) {
    if (to_string(status) == text) return status;
  }
  throw Raised{{ErrorCode::kInvalidArgument, "unknown status '" + std::string(text) + "'"}};
}

std::string to_html(const Graph& graph, const Plan& plan, std::int64_t budget, std::string_view order,
                    std::string method, std::int64_t lower_bound, std::optional<std::int64_t> arena,
                    std::optional<std::int64_t> resident, const std::vector<PointRow>& points) {
  const auto bytes_of = [](const std::optional<std::int64_t>& count) {
    return count ? std::optional(Bytes{*count}) : std::nullopt;
  };
  const auto cost_of = [](const std::optional<std::int64_t>& count) {
    return count ? std::optional(Cost{*count}) : std::nullopt;
  };
  ReportOptions options{.budget = Bytes{budget},
                        .order = order_of(order),
                        .method = std::move(method),
                        .lower_bound = Cost{lower_bound},
                        .arena = bytes_of(arena),
                        .resident = bytes_of(resident),
                        .points = {}};
  for (const auto& [point_budget, point_method, status, cost, bound] : points) {
    options.points.push_back({.budget = Bytes{point_budget},
                              .method = point_method,
                              .status = status_of(status),
                              .cost = cost_of(cost),
                              .lower_bound = cost_of(bound)});
  }
  return value_or_raise(report_html(graph, plan, options));
}

}  // namespace

void bind_plan(nb::module_& module) {
  nb::class_<Plan>(module, "Plan")
      .def_prop_ro("steps", [](const Plan& plan) { return numbers_of(std::span<const OpId>(plan.steps)); })
      .def_prop_ro("frees", frees_of)
      .def("step_count", [](const Plan& plan) { return plan.steps.size(); })
      .def(
          "__eq__", [](const Plan& plan, const Plan& other) { return plan == other; }, nb::is_operator(),
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__getstate__",
           [](const Plan& plan) {
             return std::make_tuple(numbers_of(std::span<const OpId>(plan.steps)), frees_of(plan));
           })
      .def("__setstate__", [](Plan& plan, const std::tuple<Numbers, std::vector<Numbers>>& state) {
        new (&plan) Plan(plan_of(std::get<0>(state), std::get<1>(state)));
      });

  nb::class_<PlanRecord>(module, "PlanRecord")
      .def_prop_ro("plan", [](const PlanRecord& record) { return record.plan; })
      .def_prop_ro("budget", [](const PlanRecord& record) { return count_of(record.budget); })
      .def_prop_ro("order", [](const PlanRecord& record) { return to_string(record.order); })
      .def_prop_ro("cost", [](const PlanRecord& record) { return count_of(record.cost); })
      .def_prop_ro("peak", [](const PlanRecord& record) { return count_of(record.peak); })
      .def_prop_ro("lower_bound", [](const PlanRecord& record) { return count_of(record.lower_bound); })
      .def_ro("method", &PlanRecord::method)
      .def_ro("seed", &PlanRecord::seed);

  module.def("keep_all_plan", keep_all_plan, "graph"_a);
  module.def(
      "plan_from_steps",
      [](const Graph& graph, const Numbers& steps) {
        return value_or_raise(plan_from_steps(graph, ids_of<OpId>(steps)));
      },
      "graph"_a, "steps"_a);
  module.def("simulate", simulated, "graph"_a, "plan"_a);
  module.def("violations", violations, "graph"_a, "plan"_a, "budget"_a, "order"_a);
  module.def("recomputed", recomputed, "graph"_a, "plan"_a);
  module.def("at_peak", at_peak, "graph"_a, "plan"_a);
  module.def("stage_map", mapped, "graph"_a, "plan"_a);
  module.def("plan_to_json", to_json, "graph"_a, "plan"_a, "budget"_a, "order"_a, "cost"_a, "peak"_a,
             "lower_bound"_a, "method"_a, "seed"_a, Unlocked());
  module.def("report_html", to_html, "graph"_a, "plan"_a, "budget"_a, "order"_a, "method"_a, "lower_bound"_a,
             "arena"_a.none(), "resident"_a.none(), "points"_a, Unlocked());
  module.def(
      "read_plan",
      [](const std::string& path, const Graph& graph) { return value_or_raise(read_plan(path, graph)); },
      "path"_a, "graph"_a, Unlocked());
  module.def(
      "parse_plan",
      [](std::string text, const Graph& graph) { return value_or_raise(parse_plan(std::move(text), graph)); },
      "text"_a, "graph"_a, Unlocked());
}

}  // namespace checkmate::python
