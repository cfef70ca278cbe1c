#include <fmt/format.h>

#include <memory>

#include "console.h"
#include "verbs.h"

namespace checkmate::tool {
namespace {

struct Flags {
  std::string graph;
  std::string format = "json";
  std::string output = "-";
};

int run(const Flags& flags) {
  const Result<Graph> graph = load_graph(flags.graph);
  if (!graph) return report(graph.error());
  const Result<void> written =
      write_output(flags.output, flags.format == "dot" ? graph_to_dot(*graph) : graph_to_json(*graph));
  return written ? kDone : report(written.error());
}

}  // namespace

void add_convert(Parser& parser) {
  auto flags = std::make_shared<Flags>();
  Verb verb = parser.add("convert", "Writes a graph in another format", [flags] { return run(*flags); });
  verb.example("checkmate convert graph.json --to dot -o graph.dot");
  add_graph(verb, flags->graph);
  verb.choice("--to", flags->format, {"json", "dot"}, "json (ours) or dot (Graphviz)");
  verb.option("-o,--output", flags->output, "the file; - for the standard output");
}

}  // namespace checkmate::tool
