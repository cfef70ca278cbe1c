// The same reader, but every input starts as a node-link graph, so that the fuzzer spends its time there.
#include <cstdint>
#include <string>

#include "checkmate/checkmate.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace checkmate;
  const std::string nodes =
      R"({"nodes": [{"id": 0, "duration": 1.5, "out_cost": 2}, {"id": "a", "cost_cpu": 3, "cost_ram": 4)";
  const Result<Graph> graph = parse_graph(nodes + std::string(reinterpret_cast<const char*>(data), size));
  if (!graph) return 0;
  const Result<Graph> again = parse_graph(graph_to_json(*graph));
  require(again.has_value() && *again == *graph);
  return 0;
}
