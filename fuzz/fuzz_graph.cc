// Any bytes: an error or a graph; and a graph survives its round trip.
#include <cstdint>
#include <string>

#include "checkmate/checkmate.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace checkmate;
  const Result<Graph> graph = parse_graph(std::string(reinterpret_cast<const char*>(data), size));
  if (!graph) {
    require(!graph.error().message.empty() && graph.error().message.find('\n') == std::string::npos);
    return 0;
  }
  const Result<Graph> again = parse_graph(graph_to_json(*graph));
  require(again.has_value() && *again == *graph);
  const Result<Simulation> run = simulate(*graph, keep_all_plan(*graph));
  require(run.has_value() && validate(*graph, keep_all_plan(*graph), run->peak).empty());
  return 0;
}
