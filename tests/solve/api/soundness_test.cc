#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "solve/api/least_budget.h"
#include "solve/brute/brute.h"
#include "solve/least_budget/cut_bound.h"
#include "support/graphs.h"

// Claims about small random graphs with all features, against exhaustive search: the least budget by each of
// its parts, and the bounds and verdicts of the methods that prove something. Some thousand graphs by
// default; CHECKMATE_SOUNDNESS_GRAPHS says how many, such as 100000 after a change to a bound.

namespace checkmate {
namespace {

using testing::below;
using testing::Features;
using testing::random_budget;
using testing::random_graph;
using testing::solved;

using Claim = std::optional<std::string>;

Features features_of(std::uint64_t seed) {
  Features features = seed % 5 == 0 ? Features{} : Features::all();
  if (seed % 5 == 1) features.run_once = false;
  if (seed % 2 == 0) features.an_output_in = 2;
  return features;
}

Claim unsound_least_budget(const SearchContext& search, Bytes truth) {
  const Bytes structural = search.graph.fixed_bytes() + structural_minimum(search.graph).bytes;
  const Bytes cut = cut_bound(search, structural, search.graph.fixed_bytes() + keep_all_peak(search.graph));
  if (cut > truth) return fmt::format("the cut bound says {}, but {} is enough", cut.count(), truth.count());
  PeakBoard board(search, {});
  search_least_budget(search, board);
  if (board.needed() > truth)
    return fmt::format("needed is said to be {}, but {} is enough", board.needed().count(), truth.count());
  if (board.peak() < truth) return fmt::format("a peak of {} is impossible", board.peak().count());
  const Plan plan = plan_from_steps(search.graph, board.steps()).value();
  if (!validate(search.graph, plan, board.peak(), search.options.order).empty())
    return "the plan of the least budget is not valid";
  return std::nullopt;
}

Claim unsound_method(const Graph& graph, std::string_view method, const SolveResult& best,
                     const SolveOptions& options) {
  SolveOptions with_method = options;
  with_method.method = method;
  with_method.moves = 200;
  const SolveResult result = solve(graph, with_method).value();
  if (result.status == Status::kInfeasible && best.plan)
    return fmt::format("{} says infeasible, but there is a plan", method);
  if (result.plan && !best.plan) return fmt::format("{} has a plan where none is possible", method);
  if (best.cost && result.lower_bound > *best.cost) {
    return fmt::format("{} has the bound {}, but {} is possible", method, result.lower_bound.count(),
                       best.cost->count());
  }
  return std::nullopt;
}

/// What is wrong with what is claimed about one graph at one budget, of the order that the seed says.
Claim unsound_claim(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const Graph graph = random_graph(seed, 3 + below(random, 5), features_of(seed));
  SolveOptions options{.budget = random_budget(graph, random),
                       .order = below(random, 2) == 0 ? Order::kFixed : Order::kFree,
                       .moves = 1};
  const SolveOptions of_nothing{.budget = Bytes{-1}, .order = options.order};
  const Bytes truth = *solve_brute(SearchContext(graph, of_nothing, {})).needed;
  if (Claim claim = unsound_least_budget(SearchContext(graph, options, {}), truth)) return claim;

  const SolveResult best = solved(graph, "brute", options.budget, options.order);
  if ((best.status == Status::kInfeasible) != (truth > options.budget))
    return "brute force contradicts itself";
  // A model to build and solve takes as long as a hundred of the others.
  const bool with_models = seed % 64 == 0;
  for (const std::string_view method : {"knapsack-bound", "anneal", "sparse-milp"}) {
    if (method == "sparse-milp" && !with_models) continue;
    if (Claim claim = unsound_method(graph, method, best, options)) return claim;
  }
  return std::nullopt;
}

std::uint64_t graphs_to_try() {
  constexpr std::uint64_t kGraphs = 4000;
  const char* const asked = std::getenv("CHECKMATE_SOUNDNESS_GRAPHS");
  return asked == nullptr ? testing::share_of(kGraphs) : std::strtoull(asked, nullptr, 10);
}

TEST(Soundness, NoClaimContradictsExhaustiveSearch) {
  for (std::uint64_t seed = 0; seed < graphs_to_try(); ++seed) {
    const Claim unsound = unsound_claim(seed);
    EXPECT_FALSE(unsound) << "graph " << seed << ": " << *unsound;
  }
}

}  // namespace
}  // namespace checkmate
