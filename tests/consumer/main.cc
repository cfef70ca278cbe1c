#include <checkmate/checkmate.h>

#include <iostream>

int main() {
  using namespace checkmate;
  const Result<Graph> graph = zoo::build("linear?n=8");
  if (!graph) return 1;
  const Result<SolveResult> result = solve(*graph, {.budget = Bytes{9}});
  if (!result || !result->plan) return 1;
  std::cout << "cost " << result->cost.count() << " peak " << to_string(result->peak) << "\n";
  return simulate(*graph, *result->plan)->peak <= Bytes{9} ? 0 : 1;
}
