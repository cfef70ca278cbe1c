#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "console.h"
#include "core/try.h"
#include "flags.h"

namespace checkmate::tool {
namespace {

struct Flags {
  GraphFlags graph;
  std::string format = "json";
  std::string budget;
  std::string stages = "frontier";
  std::string output = "-";
};

Result<std::string> converted(const Flags& flags, const Graph& graph) {
  if (flags.format == "json") return graph_to_json(graph);
  if (flags.format == "dot") return graph_to_dot(graph);
  if (flags.format == "node-link") return graph_to_node_link(graph);
  if (flags.budget.empty())
    return Error{ErrorCode::kInvalidArgument, "mps and lp need a --budget, for example 60%"};
  CHECKMATE_TRY(const Bytes budget, parse_budget(graph, flags.budget));
  return milp_text(graph, {.budget = budget, .free_stages = flags.stages == "free"}, flags.format);
}

Result<int> run(const Flags& flags) {
  CHECKMATE_TRY(const Graph graph, flags.graph.load());
  CHECKMATE_TRY(const std::string text, converted(flags, graph));
  CHECKMATE_TRY(write_output(flags.output, text));
  return kDone;
}

}  // namespace

void add_convert(Parser& parser) {
  auto flags = std::make_shared<Flags>();
  Verb verb = parser.add("convert", "Writes a graph in another format", [flags] { return run(*flags); });
  verb.example("checkmate convert 'zoo:vgg16?batch=64' --to dot -o vgg16.dot");
  flags->graph.add_to(verb);
  verb.choice(
      "--to", flags->format, {"json", "node-link", "dot", "mps", "lp"},
      "json (our format), node-link (networkx), dot (Graphviz); mps or lp: the paper's MILP at a budget");
  verb.option("-b,--budget", flags->budget, "for mps and lp");
  verb.choice("--stages", flags->stages, {"frontier", "free"}, "for mps and lp");
  verb.option("-o,--output", flags->output, "output file; - for the standard output");
}

}  // namespace checkmate::tool
