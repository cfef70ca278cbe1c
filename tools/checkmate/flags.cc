#include "flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "core/try.h"

namespace checkmate::tool {

void GraphFlags::add_to(Verb& verb) {
  verb.argument("GRAPH", graph, "a graph file, or zoo:NAME?key=value&... (see checkmate zoo)");
  verb.option("--costs", costs,
              "file, flops, roofline:DEVICE[:TYPE] or profile:FILE (see docs/cost_models.md)");
}

Result<Graph> GraphFlags::load() const {
  CHECKMATE_TRY(Graph loaded, load_graph(graph));
  return with_cost_model(std::move(loaded), costs);
}

void SearchFlags::add_to(Verb& verb) {
  verb.option("--order", order, "fixed: first runs keep the graph's order; free: they may move");
  verb.option(
      "--stages", stages,
      "for milp and lp-bound: frontier (op t first runs in stage t) or free (the unpartitioned form)");
  verb.option("--time-limit", time_limit, "seconds; then the best plan so far is returned");
  verb.option("--gap", gap, "stop when the relative gap is at most this");
  verb.option(
      "--patience", patience,
      "stop when for so many seconds the plan has not become much cheaper (0.1% of keep-all; 0 = never)");
  verb.option("--threads", threads, "maximum number of threads");
  verb.option("--samples", samples, "for lp-round: number of randomised roundings");
  verb.option("--seed", seed,
              "seed of the random numbers; with --moves, the same seed and threads give the same plan");
  verb.option("--moves", moves, "for annealing: stop after N moves (0 = no limit)");
}

Result<SolveOptions> SearchFlags::options() const {
  const auto wrong = [](std::string message) {
    return Error{ErrorCode::kInvalidArgument, std::move(message)};
  };
  const std::optional<Order> parsed = parse_order(order);
  if (!parsed) return wrong(fmt::format("--order must be fixed or free, got {}", in_quotes(order)));
  if (stages != "frontier" && stages != "free")
    return wrong(fmt::format("--stages must be frontier or free, got {}", in_quotes(stages)));
  if (seed < 0) return wrong(fmt::format("--seed must be 0 or more, got {}", seed));
  if (moves < 0) return wrong(fmt::format("--moves must be 0 or more, got {}", moves));
  SolveOptions options;
  options.order = *parsed;
  options.free_stages = stages == "free";
  options.time_limit = std::chrono::duration<double>(time_limit);
  options.gap = gap;
  options.patience = patience;
  options.threads = threads;
  options.samples = samples;
  options.seed = static_cast<std::uint64_t>(seed);
  options.moves = static_cast<std::uint64_t>(moves);
  return options;
}

void ProblemFlags::add_to(Verb& verb) {
  graph.add_to(verb);
  verb.option("-b,--budget", budget,
              "bytes for everything (6GiB, 16GB, 12345), or a share of keep-all's peak (60%)",
              Verb::Need::kRequired);
  search.add_to(verb);
}

Result<Problem> ProblemFlags::load() const {
  CHECKMATE_TRY(Graph loaded, graph.load());
  CHECKMATE_TRY(SolveOptions options, search.options());
  CHECKMATE_TRY(const Bytes bytes, parse_budget(loaded, budget));
  options.budget = bytes;
  return Problem{std::move(loaded), std::move(options)};
}

Result<std::function<Result<Graph>(std::int64_t batch)>> by_batch(const std::string& network,
                                                                  const std::string& costs) {
  constexpr std::string_view kZoo = "zoo:";
  if (!network.starts_with(kZoo)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} is not a network of the zoo, so its batch is fixed; write zoo:NAME",
                             in_quotes(network))};
  }
  const std::string spec = network.substr(kZoo.size());
  CHECKMATE_TRY(zoo::with_batch(spec, 1));
  return std::function([=](std::int64_t batch) -> Result<Graph> {
    CHECKMATE_TRY(Graph graph, zoo::build(*zoo::with_batch(spec, batch)));
    return with_cost_model(std::move(graph), costs);
  });
}

Result<std::vector<std::string>> parse_methods(std::string_view text) {
  std::vector<std::string> names;
  if (text.empty()) {
    for (const MethodInfo& method : methods()) {
      const bool tiny_only = method.name.starts_with("brute");
      if (method.name != "auto" && method.plans && !tiny_only) names.emplace_back(method.name);
    }
    names.emplace_back("auto");
    return names;
  }
  while (true) {
    const std::string_view name = text.substr(0, text.find(','));
    const auto known = [&](const MethodInfo& method) { return method.name == name; };
    if (std::none_of(methods().begin(), methods().end(), known)) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("unknown method {}; checkmate solve --help lists them", in_quotes(name))};
    }
    names.emplace_back(name);
    if (name.size() == text.size()) return names;
    text.remove_prefix(name.size() + 1);
  }
}

}  // namespace checkmate::tool
