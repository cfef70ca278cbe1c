#include <checkmate/checkmate.h>

#include <iostream>

int main() {
  using namespace checkmate;
  using namespace checkmate::literals;

  const Result<Graph> graph = load_graph("zoo:unet?batch=32");  // a file, or what GraphBuilder builds
  const Result<SolveResult> result = graph ? solve(*graph, {.budget = 12_GiB}) : graph.error();
  if (!result || !result->plan) {
    std::cerr << (result ? result->detail : result.error().message) << "\n";
    return 1;
  }
  std::cout << to_string(result->status) << ", overhead " << overhead(*graph, *result->cost) << ", peak "
            << to_string(*result->peak) << "\n";
  for (const OpId op : result->plan->steps) std::cout << graph->name(op) << "\n";
}
