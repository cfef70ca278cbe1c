#include "solve/api/solvers.h"

#include <array>
#include <vector>

#include "solve/anneal/anneal.h"
#include "solve/api/auto.h"
#include "solve/baselines/baselines.h"
#include "solve/brute/brute.h"
#include "solve/chain/chain_dp.h"
#include "solve/knapsack/knapsack.h"
#include "solve/paper/lp_round.h"
#include "solve/paper/milp.h"
#include "solve/sparse_milp/sparse_milp.h"

namespace checkmate {
namespace {

constexpr Solver kAuto = {
    {.name = "auto", .summary = "runs the methods that help, in parallel", .free_order = true}, solve_auto};

constexpr std::array kSearches = std::to_array<Solver>({
    {{.name = "lp-bound", .summary = "lower bound from the paper's LP relaxation", .plans = false},
     solve_lp_bound},
    {{.name = "lp-round",
      .summary = "the paper's two-phase rounding of the relaxation, with a search for the slack"},
     solve_lp_round},
    {{.name = "milp", .summary = "the paper's MILP, solved by HiGHS", .free_order = true}, solve_milp},
    {{.name = "chain-dp", .summary = "dynamic program over a chain of layers, as in rotor"}, solve_chain_dp},
    {{.name = "anneal", .summary = "annealing on sets of recomputations"}, solve_anneal},
    {{.name = "sparse-milp", .summary = "a MILP over memory at a few moments: bounds and plans"},
     solve_sparse_milp},
    {{.name = "knapsack-bound",
      .summary = "lower bound from what cannot be in memory at one moment",
      .plans = false},
     solve_knapsack_bound},
    {{.name = "brute",
      .summary = "exact, for tiny graphs: any recomputation at any step",
      .exact = true,
      .free_order = true},
     solve_brute},
    {{.name = "brute-stages", .summary = "exact over the paper's class of plans, for tiny graphs"},
     solve_brute_stages},
});

}  // namespace

std::span<const Solver> solvers() {
  static const std::vector<Solver> all = [] {
    std::vector<Solver> rows = {kAuto};
    rows.insert(rows.end(), baselines().begin(), baselines().end());
    rows.insert(rows.end(), kSearches.begin(), kSearches.end());
    return rows;
  }();
  return all;
}

std::span<const MethodInfo> methods() {
  static const std::vector<MethodInfo> kept = [] {
    std::vector<MethodInfo> infos;
    infos.reserve(solvers().size());
    for (const Solver& solver : solvers()) infos.push_back(solver.info);
    return infos;
  }();
  return kept;
}

}  // namespace checkmate
