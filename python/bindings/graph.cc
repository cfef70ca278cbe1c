#include <nanobind/operators.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "bindings.h"
#include "ids.h"

namespace checkmate::python {
namespace {

using namespace nb::literals;
using Numbers = std::vector<std::uint32_t>;
/// name, bytes, resident, output
using TensorRow = std::tuple<std::string, std::int64_t, bool, bool>;
/// name, cost, inputs, outputs, kind, workspace, phase, recomputable
using OpRow =
    std::tuple<std::string, std::int64_t, Numbers, Numbers, std::string, std::int64_t, std::string, bool>;

Phase phase_of(std::string_view text) {
  const std::optional<Phase> phase = parse_phase(text);
  if (!phase) {
    throw Raised{{ErrorCode::kInvalidGraph,
                  "phase must be forward, loss, backward or update, got '" + std::string(text) + "'"}};
  }
  return *phase;
}

Graph build(std::string name, const std::vector<TensorRow>& tensors, const std::vector<OpRow>& ops,
            std::string cost_unit, std::int64_t reserved_bytes) {
  GraphBuilder builder(std::move(name), std::move(cost_unit));
  builder.set_reserved_bytes(Bytes{reserved_bytes});
  for (const auto& [tensor, bytes, resident, output] : tensors)
    builder.add_tensor({.name = tensor, .bytes = Bytes{bytes}, .resident = resident, .output = output});
  for (const auto& [op, cost, inputs, outputs, kind, workspace, phase, recomputable] : ops) {
    builder.add_op({.name = op,
                    .kind = kind,
                    .cost = Cost{cost},
                    .inputs = ids_of<TensorId>(inputs),
                    .outputs = ids_of<TensorId>(outputs),
                    .workspace = Bytes{workspace},
                    .phase = phase_of(phase),
                    .recomputable = recomputable});
  }
  return value_or_raise(std::move(builder).build());
}

std::vector<TensorRow> tensors_of(const Graph& graph) {
  std::vector<TensorRow> rows;
  rows.reserve(graph.tensor_count());
  for (const TensorId tensor : graph.tensors()) {
    rows.emplace_back(graph.name(tensor), graph.bytes(tensor).count(), graph.resident(tensor),
                      graph.output(tensor));
  }
  return rows;
}

std::vector<OpRow> ops_of(const Graph& graph) {
  std::vector<OpRow> rows;
  rows.reserve(graph.op_count());
  for (const OpId op : graph.ops()) {
    rows.emplace_back(graph.name(op), graph.cost(op).count(), numbers_of(graph.inputs(op)),
                      numbers_of(graph.outputs(op)), graph.kind(op), graph.workspace(op).count(),
                      to_string(graph.phase(op)), graph.recomputable(op));
  }
  return rows;
}

Graph with_costs(const Graph& graph, const std::vector<std::int64_t>& costs, std::string cost_unit) {
  std::vector<Cost> typed;
  typed.reserve(costs.size());
  for (const std::int64_t cost : costs) typed.emplace_back(cost);
  return value_or_raise(graph.with_costs(typed, std::move(cost_unit)));
}

/// From numbers as text: whole costs and their unit.
std::pair<std::vector<std::int64_t>, std::string> whole_costs_of(const std::vector<std::string>& texts,
                                                                 std::string_view unit) {
  std::vector<DecimalCost> decimals;
  decimals.reserve(texts.size());
  for (const std::string& text : texts) decimals.push_back(value_or_raise(parse_decimal_cost(text)));
  WholeCosts whole = value_or_raise(whole_costs(decimals, unit));
  std::vector<std::int64_t> counts;
  counts.reserve(whole.costs.size());
  for (const Cost cost : whole.costs) counts.push_back(cost.count());
  return {std::move(counts), std::move(whole.unit)};
}

std::pair<std::int64_t, std::uint32_t> structural_minimum_of(const Graph& graph) {
  const StructuralMinimum minimum = structural_minimum(graph);
  return {minimum.bytes.count(), minimum.op.value};
}

std::vector<std::int64_t> budgets_of(const Graph& graph, std::string_view text) {
  std::vector<std::int64_t> counts;
  for (const Bytes bytes : value_or_raise(parse_budgets(graph, text))) counts.push_back(bytes.count());
  return counts;
}

using ParameterRow = std::tuple<std::string_view, std::string_view, std::string_view>;
std::vector<std::tuple<std::string_view, std::string_view, std::vector<ParameterRow>>> zoo_networks() {
  std::vector<std::tuple<std::string_view, std::string_view, std::vector<ParameterRow>>> rows;
  for (const zoo::Network& network : zoo::networks()) {
    std::vector<ParameterRow> parameters;
    for (const zoo::Parameter& parameter : network.parameters)
      parameters.emplace_back(parameter.name, parameter.fallback, parameter.description);
    rows.emplace_back(network.name, network.description, std::move(parameters));
  }
  return rows;
}

}  // namespace

void bind_graph(nb::module_& module) {
  using Unlocked = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<Graph>(module, "Graph")
      .def_prop_ro("name", [](const Graph& graph) { return graph.name(); })
      .def_prop_ro("cost_unit", [](const Graph& graph) { return graph.cost_unit(); })
      .def_prop_ro("op_count", &Graph::op_count)
      .def_prop_ro("tensor_count", &Graph::tensor_count)
      .def_prop_ro("edge_count", &Graph::edge_count)
      .def_prop_ro("fixed_bytes", [](const Graph& graph) { return graph.fixed_bytes().count(); })
      .def_prop_ro("reserved_bytes", [](const Graph& graph) { return graph.reserved_bytes().count(); })
      .def_prop_ro("keep_all_cost", [](const Graph& graph) { return graph.keep_all_cost().count(); })
      .def(
          "keep_all_peak", [](const Graph& graph) { return keep_all_peak(graph).count(); }, Unlocked())
      .def("structural_minimum", structural_minimum_of, Unlocked())
      .def("tensors", tensors_of)
      .def("ops", ops_of)
      .def("op_name", [](const Graph& graph, std::uint32_t op) { return graph.name(OpId{op}); })
      .def("with_costs", with_costs, "costs"_a, "cost_unit"_a)
      .def(
          "with_cost_model",
          [](const Graph& graph, std::string_view spec) {
            return value_or_raise(with_cost_model(graph, spec));
          },
          "spec"_a, Unlocked())
      .def(
          "parse_budget",
          [](const Graph& graph, std::string_view text) {
            return value_or_raise(parse_budget(graph, text)).count();
          },
          "budget"_a, Unlocked())
      .def(
          "parse_budget",
          [](const Graph& graph, std::int64_t bytes) {
            return value_or_raise(value_or_raise(Budget::of(Bytes{bytes})).bytes_for(graph)).count();
          },
          "budget"_a)
      .def("parse_budgets", budgets_of, "text"_a)
      .def("to_json", graph_to_json, Unlocked())
      .def("sha256", graph_sha256, Unlocked())
      .def(
          "equals", [](const Graph& graph, const Graph& other) { return graph == other; }, "other"_a,
          Unlocked());

  module.def("whole_costs", whole_costs_of, "costs"_a, "unit"_a);
  module.def("build_graph", build, "name"_a, "tensors"_a, "ops"_a, "cost_unit"_a, "reserved_bytes"_a);
  module.def(
      "load_graph", [](std::string_view argument) { return value_or_raise(load_graph(argument)); },
      "argument"_a, Unlocked());
  module.def(
      "parse_graph", [](std::string text) { return value_or_raise(parse_graph(std::move(text))); }, "text"_a,
      Unlocked());
  module.def(
      "parse_bytes", [](std::string_view text) { return value_or_raise(parse_bytes(text)).count(); },
      "text"_a);
  module.def(
      "bytes_text", [](std::int64_t bytes) { return to_string(Bytes{bytes}); }, "bytes"_a);
  module.def(
      "write_file",
      [](const std::string& path, std::string_view text) { raise_if_failed(write_file(path, text)); },
      "path"_a, "text"_a, Unlocked());
  module.def("zoo_networks", zoo_networks);
  module.def(
      "zoo_with_batch",
      [](std::string_view spec, std::int64_t batch) { return value_or_raise(zoo::with_batch(spec, batch)); },
      "spec"_a, "batch"_a);
}

}  // namespace checkmate::python
