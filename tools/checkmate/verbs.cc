#include "verbs.h"

#include <fmt/format.h>

#include "text.h"

namespace checkmate::tool {

int report(const Error& error) {
  fmt::print(stderr, "checkmate: {}\n", error.message);
  return kBadInput;
}

void add_graph(Verb& verb, std::string& graph) {
  verb.argument("GRAPH", graph, "a graph file, or zoo:NAME?key=value&... (see checkmate zoo)");
}

void SolveFlags::add_to(Verb& verb) {
  verb.option("-b,--budget", budget,
              "bytes for everything (6GiB, 16GB, 12345), or a share of keep-all's peak (60%)",
              Verb::Need::kRequired);
  verb.option("--order", order, "fixed: first runs follow the graph's order; free: they may move");
  verb.option("--time-limit", time_limit, "seconds, then the best so far");
  verb.option("--threads", threads, "the most that run at once");
  verb.option("--seed", seed, "same seed, one thread: same plan");
}

Result<SolveOptions> SolveFlags::options(const Graph& graph) const {
  const Result<Bytes> bytes = parse_budget(graph, budget);
  if (!bytes) return bytes.error();
  const std::optional<Order> parsed = parse_order(order);
  if (!parsed) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("--order is fixed or free, got {}", in_quotes(order))};
  }
  return SolveOptions{.budget = *bytes,
                      .order = *parsed,
                      .time_limit = std::chrono::duration<double>(time_limit),
                      .threads = threads,
                      .seed = seed};
}

int exit_code_of(Status status) {
  switch (status) {
    case Status::kOptimal:
    case Status::kFeasible:
      return kDone;
    case Status::kInfeasible:
      return kInfeasible;
    case Status::kUnknown:
      return kNoPlan;
  }
  throw std::logic_error("every status has an exit code");
}

}  // namespace checkmate::tool
