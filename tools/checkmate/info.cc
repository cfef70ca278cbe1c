#include <fmt/format.h>

#include <array>
#include <memory>
#include <unordered_set>

#include "commands.h"
#include "console.h"
#include "core/text.h"
#include "core/try.h"
#include "flags.h"
#include "io/json_writer.h"

namespace checkmate::tool {
namespace {

struct Flags {
  GraphFlags graph;
  bool json = false;
};

struct PhaseTotals {
  std::size_t ops = 0;
  Cost cost;
  Bytes made;
};

std::array<PhaseTotals, kPhaseCount> totals_by_phase(const Graph& graph) {
  std::array<PhaseTotals, kPhaseCount> totals;
  for (const OpId op : graph.ops()) {
    PhaseTotals& phase = totals.at(static_cast<std::size_t>(graph.phase(op)));
    ++phase.ops;
    phase.cost += graph.cost(op);
    for (const TensorId tensor : graph.outputs(op)) phase.made += graph.bytes(tensor);
  }
  return totals;
}

std::size_t repeated_names(const Graph& graph) {
  std::unordered_set<std::string_view> names;
  std::size_t repeated = 0;
  for (const OpId op : graph.ops())
    repeated += !graph.name(op).empty() && !names.insert(graph.name(op)).second ? 1 : 0;
  return repeated;
}

void print_json(const Graph& graph, const Simulation& keep_all, const StructuralMinimum& minimum) {
  JsonWriter json;
  json.begin_object()
      .member("name", graph.name())
      .member("ops", graph.op_count())
      .member("edges", graph.edge_count());
  json.member("tensors", graph.tensor_count()).member("cost_unit", graph.cost_unit());
  json.member("keep_all_cost", graph.keep_all_cost().count())
      .member("fixed_bytes", graph.fixed_bytes().count());
  json.member("keep_all_peak_bytes", (keep_all.peak - graph.fixed_bytes()).count());
  json.member("keep_all_peak_op", graph.name(OpId{static_cast<std::uint32_t>(keep_all.peak_step)}));
  json.member("structural_min_bytes", minimum.bytes.count())
      .member("structural_min_op", graph.name(minimum.op));
  json.key("phases").begin_object();
  const auto totals = totals_by_phase(graph);
  for (std::size_t i = 0; i < kPhaseCount; ++i) {
    json.key(to_string(static_cast<Phase>(i))).begin_object().member("ops", totals.at(i).ops);
    json.member("cost", totals.at(i).cost.count()).member("bytes", totals.at(i).made.count()).end_object();
  }
  json.end_object().end_object();
  print_json_line(json.text());
}

void print_text(const Graph& graph, std::size_t unknown_kinds, const Simulation& keep_all,
                const StructuralMinimum& minimum) {
  const auto label = [&](OpId op) { return fmt::format("op {} {}", op.value, in_quotes(graph.name(op))); };
  print_fact("graph", printable(graph.name()));
  print_fact("ops", grouped(static_cast<std::int64_t>(graph.op_count())));
  print_fact("edges", grouped(static_cast<std::int64_t>(graph.edge_count())));
  print_fact("tensors", grouped(static_cast<std::int64_t>(graph.tensor_count())));
  print_fact("cost, each op once", to_string(graph.keep_all_cost(), graph.cost_unit()));
  print_fact("fixed", exact(graph.fixed_bytes()));
  print_fact("keep-all peak", exact(keep_all.peak - graph.fixed_bytes()) + " in addition to fixed memory");
  print_fact("  at", label(OpId{static_cast<std::uint32_t>(keep_all.peak_step)}));
  print_fact("structural minimum", exact(minimum.bytes) + " in addition to fixed memory");
  print_fact("  set by", label(minimum.op));
  if (const auto [unit, power] = scaled_unit(graph.cost_unit()); power > 0) {
    print_fact("note", fmt::format("costs have fractions: plans, JSON and the table below count in {}",
                                   printable(graph.cost_unit())));
  }
  if (const std::size_t repeated = repeated_names(graph); repeated > 0) {
    print_fact("note",
               fmt::format("{} the same name as an earlier one; that is allowed",
                           repeated == 1 ? "1 op has" : fmt::format("{} have", counted(repeated, "op"))));
  }
  if (unknown_kinds > 0) {
    print_fact("note", fmt::format("the cost model does not know the kind of {}; they count as element-wise",
                                   counted(unknown_kinds, "op")));
  }
  fmt::print("\n");
  Table table({"phase", "ops", "cost", "of all", "makes"});
  const auto totals = totals_by_phase(graph);
  for (std::size_t i = 0; i < kPhaseCount; ++i) {
    if (totals.at(i).ops == 0) continue;
    const double share = overhead(graph, totals.at(i).cost);
    table.add({std::string(to_string(static_cast<Phase>(i))),
               grouped(static_cast<std::int64_t>(totals.at(i).ops)), grouped(totals.at(i).cost.count()),
               percent(graph.keep_all_cost() == Cost{0} ? 0 : share), to_string(totals.at(i).made)});
  }
  table.print();
}

Result<int> run(const Flags& flags) {
  CHECKMATE_TRY(const Graph graph, flags.graph.load());
  CHECKMATE_TRY(const Simulation keep_all, simulate(graph, keep_all_plan(graph)));
  const StructuralMinimum minimum = structural_minimum(graph);
  if (flags.json) {
    print_json(graph, keep_all, minimum);
  } else {
    const bool by_kind = flags.graph.costs.starts_with("roofline");
    print_text(graph, by_kind ? unknown_kind_count(graph) : 0, keep_all, minimum);
  }
  return kDone;
}

}  // namespace

void add_info(Parser& parser) {
  auto flags = std::make_shared<Flags>();
  Verb verb = parser.add("info", "Summarizes a graph: ops, bytes and costs", [flags] { return run(*flags); });
  verb.example("checkmate info 'zoo:resnet50?batch=256'");
  flags->graph.add_to(verb);
  verb.flag("--json", flags->json, "print one JSON object");
}

}  // namespace checkmate::tool
