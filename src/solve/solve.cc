#include "checkmate/solve.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "checkmate/bound.h"
#include "checkmate/simulate.h"
#include "checkmate/validate.h"
#include "solve/least_budget/least_budget.h"
#include "solve/solver.h"
#include "text.h"

namespace checkmate {
namespace {

constexpr std::array<Solver, 20> kSolvers = {{
    {{.name = "auto", .summary = "all of the following that help, side by side", .free_order = true},
     solve_auto},
    {{.name = "keep-all", .summary = "every op once, nothing recomputed"}, solve_keep_all},
    {{.name = "chen-sqrt", .summary = "Chen et al.: sqrt(n) segments of a chain", .needs_chain = true},
     solve_chen_sqrt},
    {{.name = "chen-greedy", .summary = "Chen et al.: segments of a chain by bytes", .needs_chain = true},
     solve_chen_greedy},
    {{.name = "ap-sqrt", .summary = "sqrt(n) segments between articulation points"}, solve_ap_sqrt},
    {{.name = "ap-greedy", .summary = "segments between articulation points by bytes"}, solve_ap_greedy},
    {{.name = "linear-sqrt", .summary = "sqrt(n) segments of the linearized forward part"},
     solve_linear_sqrt},
    {{.name = "linear-greedy", .summary = "segments of the linearized forward part by bytes"},
     solve_linear_greedy},
    {{.name = "griewank", .summary = "Griewank and Walther's revolve on a chain", .needs_chain = true},
     solve_griewank},
    {{.name = "ap-griewank", .summary = "revolve on the chain of articulation points"}, solve_ap_griewank},
    {{.name = "last-node", .summary = "keeps only the latest value, recomputes all else each time"},
     solve_last_node},
    {{.name = "lp-bound", .summary = "the paper's relaxation, as a bound", .plans = false}, solve_lp_bound},
    {{.name = "lp-round", .summary = "the paper's two-phase rounding of the relaxation, slack searched"},
     solve_lp_round},
    {{.name = "milp", .summary = "the paper's MILP, solved by HiGHS", .free_order = true}, solve_milp},
    {{.name = "chain-dp", .summary = "dynamic program over a chain of layers, as rotor's"}, solve_chain_dp},
    {{.name = "anneal", .summary = "annealing on sets of recomputations"}, solve_anneal},
    {{.name = "moments", .summary = "a MIP over few moments of the plan: bounds, and plans"}, solve_moments},
    {{.name = "knapsack-bound",
      .summary = "what cannot be in memory at a moment, as a bound",
      .plans = false},
     solve_knapsack_bound},
    {{.name = "brute",
      .summary = "exact, for tiny graphs: any recomputation, anywhere",
      .exact = true,
      .free_order = true},
     solve_brute},
    {{.name = "brute-stages", .summary = "exact over the paper's class of plans, for tiny graphs"},
     solve_brute_stages},
}};

constexpr std::array<std::string_view, 4> kStatusNames = {"optimal", "feasible", "infeasible", "unknown"};

Result<const Solver*> find_solver(const SolveOptions& options) {
  const auto invalid = [](std::string message) {
    return Error{ErrorCode::kInvalidArgument, std::move(message)};
  };
  if (options.budget <= Bytes{0})
    return invalid(fmt::format("budget must be positive, got {}", options.budget.count()));
  if (!(options.time_limit.count() > 0)) return invalid("the time limit must be positive");
  if (options.threads < 1) return invalid(fmt::format("threads must be at least 1, got {}", options.threads));
  constexpr int kMostThreads = 256;
  if (options.threads > kMostThreads)
    return invalid(fmt::format("threads must be at most {}, got {}", kMostThreads, options.threads));
  if (!(options.gap >= 0)) return invalid("the gap must be 0 or more");
  constexpr int kMostSamples = 1'000'000;
  if (options.samples < 0 || options.samples > kMostSamples)
    return invalid(fmt::format("samples must be from 0 to {}, got {}", kMostSamples, options.samples));
  if (options.free_stages && options.order == Order::kFixed) {
    return invalid("free stages let first runs move: ask for free order as well");
  }

  const auto* const solver = std::find_if(kSolvers.begin(), kSolvers.end(),
                                          [&](const Solver& s) { return s.info.name == options.method; });
  if (solver == kSolvers.end()) {
    std::vector<std::string_view> known;
    for (const MethodInfo& method : methods()) known.push_back(method.name);
    return invalid(
        fmt::format("unknown method {}; known are {}", in_quotes(options.method), fmt::join(known, ", ")));
  }
  return solver;
}

/// Runs the plan anew, knowing nothing of how it was found. A plan or bound that does not hold is our own
/// bug.
void replay(const Graph& graph, const SolveOptions& options, std::vector<OpId> steps, SolveResult& result) {
  const auto require = [&](bool holds, const auto& complaint) {
    if (!holds) throw std::logic_error(fmt::format("{} is wrong: {}", result.method, complaint()));
  };
  Result<Plan> plan = plan_from_steps(graph, std::move(steps));
  require(plan.has_value(), [&] { return plan.error().message; });
  const Result<Simulation> simulation = simulate(graph, *plan);
  require(simulation.has_value(), [&] { return simulation.error().message; });
  const std::vector<Violation> violations = validate(graph, *plan, options.budget, options.order);
  require(violations.empty(), [&] { return describe(graph, violations.front()); });
  require(result.lower_bound <= simulation->cost, [] { return "its bound is above its plan's cost"; });

  result.cost = simulation->cost;
  result.peak = simulation->peak;
  result.plan = std::move(*plan);
  result.status = result.cost == result.lower_bound ? Status::kOptimal : Status::kFeasible;
}

/// Where there is no plan: how much would be enough, as far as a short search can tell.
void bracket_least_budget(const Search& search, SolveResult& result) {
  const std::size_t most_sets = search.by_moves() ? 10'000 : 500'000;
  constexpr double kSeconds = 2;
  const double share = std::min(0.2, kSeconds / std::max(search.seconds_left(), kSeconds));
  const LeastBudget least = least_budget(search.part(share), most_sets);
  result.min_feasible = std::max(result.min_feasible, std::optional(least.lower));
  if (least.upper) result.least_peak = std::min(*least.upper, result.least_peak.value_or(*least.upper));
}

}  // namespace

std::string_view to_string(Status status) { return kStatusNames.at(static_cast<std::size_t>(status)); }

double overhead(const Graph& graph, Cost cost) {
  const auto base = static_cast<double>(graph.keep_all_cost().count());
  return base == 0 ? 1 : static_cast<double>(cost.count()) / base;
}

double relative_gap(Cost cost, Cost lower_bound) {
  return cost == lower_bound
             ? 0
             : static_cast<double>((cost - lower_bound).count()) / static_cast<double>(cost.count());
}

std::span<const Solver> solvers() { return kSolvers; }

std::span<const Solver> baselines() {
  const auto named = [](std::string_view name) {
    return std::find_if(kSolvers.begin(), kSolvers.end(),
                        [&](const Solver& s) { return s.info.name == name; });
  };
  return {named("keep-all"), named("lp-bound")};
}

Outcome cheapest(const Search& search, std::span<const Solver> methods) {
  Outcome best{.detail = "no method found a plan within the budget"};
  Cost best_cost;
  for (const Solver& solver : methods) {
    if (search.stopped()) {
      if (!best.steps) best.detail = "stopped before the first plan";
      break;
    }
    Outcome outcome = solver.run(search);
    if (outcome.min_feasible) return outcome;
    best.lower_bound = std::max(best.lower_bound, outcome.lower_bound);
    best.stage_lower_bound = std::max(best.stage_lower_bound, outcome.stage_lower_bound);
    if (outcome.least_peak && !outcome.steps) {
      best.least_peak = std::min(*outcome.least_peak, best.least_peak.value_or(*outcome.least_peak));
    }
    if (!outcome.steps) continue;
    const Cost cost = simulate(search.graph, *plan_from_steps(search.graph, *outcome.steps))->cost;
    if (!best.first_plan_seconds) best.first_plan_seconds = outcome.first_plan_seconds;
    if (best.steps && cost >= best_cost) continue;
    best.steps = std::move(outcome.steps);
    best.method = solver.info.name;
    best.detail.clear();
    best_cost = cost;
    if (cost == search.graph.keep_all_cost()) break;  // nothing is cheaper
  }
  return best;
}

std::span<const MethodInfo> methods() {
  static const std::vector<MethodInfo> kept = [] {
    std::vector<MethodInfo> infos;
    infos.reserve(kSolvers.size());
    for (const Solver& solver : kSolvers) infos.push_back(solver.info);
    return infos;
  }();
  return kept;
}

Result<SolveResult> solve(const Graph& graph, const SolveOptions& options, std::stop_token stop) {
  const Result<const Solver*> solver = find_solver(options);
  if (!solver) return solver.error();
  const Search search(graph, options, std::move(stop));
  SolveResult result;
  result.method = options.method;
  result.lower_bound = graph.keep_all_cost();

  const StructuralMinimum minimum = structural_minimum(graph);
  if (graph.fixed_bytes() + minimum.bytes > options.budget) {
    result.status = Status::kInfeasible;
    result.min_feasible = graph.fixed_bytes() + minimum.bytes;
    result.detail = why_structural(graph, minimum);
    bracket_least_budget(search, result);
    if (*result.min_feasible > graph.fixed_bytes() + minimum.bytes)
      result.detail += fmt::format("; all that must be there at once needs {}", exact(*result.min_feasible));
    result.seconds = search.seconds();
    return result;
  }
  Outcome outcome = (*solver)->run(search);
  result.first_plan_seconds = outcome.first_plan_seconds.value_or(search.seconds());
  result.detail = std::move(outcome.detail);
  if (!outcome.method.empty()) result.method = outcome.method;
  if (outcome.lower_bound) result.lower_bound = std::max(result.lower_bound, *outcome.lower_bound);
  result.least_peak = outcome.least_peak;
  result.moves = outcome.moves;
  result.min_feasible = outcome.min_feasible;
  if (outcome.steps) {
    replay(graph, options, std::move(*outcome.steps), result);
    // A plan of the class costs no less than the bound: what a float says beyond it is tolerance.
    if (outcome.stage_lower_bound)
      outcome.stage_lower_bound = std::min(*outcome.stage_lower_bound, result.cost);
    if (options.on_progress)
      options.on_progress({search.seconds(), result.cost, std::nullopt, result.method});
  } else if (outcome.min_feasible) {
    result.status = Status::kInfeasible;
    bracket_least_budget(search, result);
  }
  result.stage_lower_bound = outcome.stage_lower_bound;
  result.seconds = search.seconds();
  return result;
}

}  // namespace checkmate
