// Any bytes as a plan of a small graph: an error or a plan that survives its round trip, on which simulator
// and validator agree.
#include <cstdint>
#include <string>

#include "checkmate/checkmate.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace checkmate;
  static const Graph graph = zoo::build("random_dag?n=6&seed=3&features=full").value();
  const Result<PlanRecord> record = parse_plan(std::string(reinterpret_cast<const char*>(data), size), graph);
  if (!record) return 0;
  const Result<PlanRecord> again = parse_plan(plan_to_json(*record), graph);
  require(again.has_value() && *again == *record);
  const Result<Simulation> run = simulate(graph, record->plan);
  require(run.has_value() == validate(graph, record->plan, Bytes{INT64_MAX}, Order::kFree).empty());
  return 0;
}
