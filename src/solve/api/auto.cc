#include "solve/api/auto.h"

#include <future>

#include "solve/anneal/anneal.h"
#include "solve/baselines/baselines.h"
#include "solve/baselines/keep_all.h"
#include "solve/brute/brute.h"
#include "solve/chain/chain_bound.h"
#include "solve/chain/chain_dp.h"
#include "solve/common/incumbent.h"
#include "solve/common/prune_recomputations.h"
#include "solve/free_order/free_order.h"
#include "solve/knapsack/knapsack.h"
#include "solve/least_budget/least_budget.h"
#include "solve/segment_heuristic/segment_heuristic.h"
#include "solve/sparse_milp/sparse_milp.h"

namespace checkmate {
namespace {

/// Quick methods first, then those that search for plans and those that search for bounds, in parallel and on
/// one blackboard. Each is a file of its own; this file only decides what runs when.
class Portfolio {
 public:
  explicit Portfolio(const SearchContext& search)
      : incumbent_(search),
        quiet_(search.options),
        search_(search.with_options(quiet_).with_stop(stop_.get_token())),
        on_stop_(search.stop_token(), [this] { stop_.request_stop(); }),
        on_enough_(incumbent_.enough(), [this] { stop_.request_stop(); }) {}

  Outcome run() {
    quiet_.on_progress = {};  // only the incumbent reports progress
    start();
    if (!incumbent_.done()) free_order() ? search_free_order() : search_fixed_order();
    return incumbent_.outcome();
  }

 private:
  static constexpr std::size_t kTiny = 12;
  static constexpr std::size_t kSmall = 2000;

  bool free_order() const { return search_.options.order == Order::kFree; }
  std::size_t ops() const { return search_.graph.op_count(); }

  void start() {
    take(solve_keep_all(search_), "keep-all");
    if (!search_.options.start.empty()) incumbent_.offer(search_.options.start, "start");
    if (!incumbent_.done()) raise_knapsack_bound(search_, incumbent_);
    if (!incumbent_.done() && ops() <= kTiny) take(solve_brute(search_), "brute");
    if (!incumbent_.done()) segmented_start(search_, incumbent_);
    if (!incumbent_.done() && (ops() <= kSmall || !incumbent_.has_plan())) {
      take(cheapest_baseline(search_.part(0.1)), {});
    }
  }

  void look_for_least_budget() {
    const std::size_t most_sets = search_.by_moves() ? 10'000 : 500'000;
    LeastBudget least = least_budget(search_.part(0.3), most_sets, search_.options.budget);
    if (least.needed > search_.options.budget)
      incumbent_.prove_infeasible(least.needed, std::move(least.detail));
    if (least.sufficient) incumbent_.note_peak(*least.sufficient);
    // The plan has a small peak because it recomputes nearly everything, over and over.
    constexpr std::size_t kMostSteps = 4000;
    if (least.steps && least.steps->size() <= kMostSteps)
      least.steps = prune_recomputations(search_, std::move(*least.steps));
    if (least.steps) incumbent_.offer(std::move(*least.steps), "least-budget");
  }

  /// Methods for chains, and those that determine whether there is a plan at all.
  void look_closer() {
    if (!incumbent_.done() && ops() <= kSmall) take(solve_chain_dp(search_.part(0.1)), "chain-dp");
    if (!incumbent_.done()) {
      if (const std::optional<Cost> bound = chain_bound(search_.part(0.2)))
        incumbent_.raise_bound(*bound, "chain-bound");
    }
    if (!incumbent_.done() && !incumbent_.has_plan()) look_for_least_budget();
    // Where the others have not finished, and the graph is small enough to try everything.
    constexpr std::size_t kMostStates = 1'000'000;
    if (!incumbent_.done()) take(solve_brute(search_.part(0.2), kMostStates), "brute");
  }

  void take(Outcome outcome, std::string_view source) {
    if (outcome.steps) incumbent_.offer(std::move(*outcome.steps), source.empty() ? outcome.method : source);
    if (outcome.needed) incumbent_.prove_infeasible(*outcome.needed, outcome.detail);
    if (outcome.lower_bound) incumbent_.raise_bound(*outcome.lower_bound, source);
    if (outcome.sufficient) incumbent_.note_peak(*outcome.sufficient);
  }

  void search_fixed_order() {
    const std::uint64_t seed = search_.options.seed;
    if (search_.options.threads == 1) return take_turns();
    side_by_side([&](std::uint64_t member) {
      if (member == 1) {
        look_closer();
        improve_bounds(search_, incumbent_);
      }
      anneal(search_, incumbent_, seed + member);
    });
  }

  /// Plans and bounds in turn, each turn longer than the one before.
  void take_turns() {
    std::uint64_t seed = search_.options.seed;
    anneal(search_.part(0.005), incumbent_, seed++);
    look_closer();
    const std::vector<double> turns =
        search_.by_moves() ? std::vector{0.45} : std::vector{0.01, 0.05, 0.2, 0.5};
    for (const double share : turns) {
      anneal(search_.part(share), incumbent_, seed++);
      if (!incumbent_.done()) improve_bounds(search_.part(2 * share), incumbent_);
    }
    anneal(search_.part(search_.by_moves() ? 0.5 : 1), incumbent_, seed);
  }

  /// A plan of the fixed order is a plan of the free order too, and the better start on tight training
  /// graphs.
  void search_free_order() {
    const std::uint64_t seed = search_.options.seed;
    side_by_side([&](std::uint64_t member) {
      if (member + 1 == static_cast<std::uint64_t>(search_.options.threads)) {
        anneal(search_.part(0.2), incumbent_, seed + member);
        look_closer();
      }
      anneal_free_order(search_.part(search_.by_moves() ? 0.8 : 1), incumbent_, seed + member);
    });
  }

  template <class Member>
  void side_by_side(const Member& member) {
    std::vector<std::future<void>> others;
    for (int other = 1; other < search_.options.threads; ++other) {
      others.push_back(std::async(std::launch::async, member, static_cast<std::uint64_t>(other)));
    }
    member(0);
    for (std::future<void>& other : others) other.get();
  }

  Incumbent incumbent_;
  SolveOptions quiet_;
  std::stop_source stop_;
  SearchContext search_;
  std::stop_callback<std::function<void()>> on_stop_, on_enough_;
};

}  // namespace

Outcome solve_auto(const SearchContext& search) { return Portfolio(search).run(); }

}  // namespace checkmate
