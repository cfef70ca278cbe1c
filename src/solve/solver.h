#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "checkmate/solve.h"

/// What a method sees of its caller, and what it answers. solve() does the rest, the same for all: options,
/// the structural test, replay, bounds, times.
namespace checkmate {

class Search {
 public:
  using Clock = std::chrono::steady_clock;
  Search(const Graph& search_graph, const SolveOptions& search_options, std::stop_token stop)
      : graph(search_graph),
        options(search_options),
        stop_(std::move(stop)),
        end_(search_options.time_limit.count()),
        moves_(search_options.moves) {}

  const Graph& graph;
  const SolveOptions& options;

  /// The same search, on the same clock, that another token can stop.
  Search with_stop(std::stop_token stop) const {
    Search other = *this;
    other.stop_ = std::move(stop);
    return other;
  }
  /// The same search, on the same clock, with other options; they must outlive it.
  Search with_options(const SolveOptions& others) const {
    Search other(graph, others, stop_);
    other.start_ = start_;
    other.end_ = end_;
    return other;
  }
  /// The same search for a share of what is left of its time, or of all its moves.
  Search part(double share) const {
    Search other = *this;
    other.end_ = seconds() + share * seconds_left();
    if (moves_ > 0) {
      const auto moves = static_cast<std::uint64_t>(share * static_cast<double>(moves_));
      other.moves_ = std::max(moves, std::uint64_t{1});
    }
    return other;
  }

  bool stopped() const { return stop_.stop_requested() || seconds_left() <= 0; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double seconds_left() const { return end_ - seconds(); }
  double end() const { return end_; }             ///< in seconds()
  std::uint64_t moves() const { return moves_; }  ///< of annealing; 0: by time alone
  bool by_moves() const { return moves_ > 0; }    ///< then nothing may depend on the clock
  const std::stop_token& stop_token() const { return stop_; }
  /// Tells the caller of a plan within the budget.
  void tell(Cost cost) const {
    if (options.on_progress) options.on_progress({seconds(), cost, std::nullopt, options.method});
  }

 private:
  std::stop_token stop_;
  Clock::time_point start_ = Clock::now();
  double end_;
  std::uint64_t moves_;
};

struct Outcome {
  std::optional<std::vector<OpId>> steps = {};  ///< within the budget with their tightest frees
  std::optional<Cost> lower_bound = {};         ///< for every plan of the order
  std::optional<Cost> stage_lower_bound = {};   ///< for the paper's class of plans
  std::optional<Bytes> least_peak = {};         ///< of the plans that were tried, where none fits
  std::optional<Bytes> min_feasible = {};       ///< set: proven infeasible below this
  std::optional<double> first_plan_seconds = {};
  std::string detail = {};
  std::string_view method = {};  ///< where a method asked others: who found the plan
  std::uint64_t moves = 0;       ///< of annealing
};

struct Solver {
  MethodInfo info;
  Outcome (*run)(const Search& search);
};

/// All of them, `auto` first.
std::span<const Solver> solvers();
/// Those of them that are quick and return plans of the paper's class.
std::span<const Solver> baselines();
/// The cheapest plan of the given methods, costed by the simulator; what they have proven otherwise.
Outcome cheapest(const Search& search, std::span<const Solver> methods);

// One source file each.
Outcome solve_auto(const Search& search);
Outcome solve_keep_all(const Search& search);
Outcome solve_last_node(const Search& search);
Outcome solve_chen_sqrt(const Search& search);
Outcome solve_chen_greedy(const Search& search);
Outcome solve_ap_sqrt(const Search& search);
Outcome solve_ap_greedy(const Search& search);
Outcome solve_linear_sqrt(const Search& search);
Outcome solve_linear_greedy(const Search& search);
Outcome solve_griewank(const Search& search);
Outcome solve_ap_griewank(const Search& search);
Outcome solve_lp_bound(const Search& search);
Outcome solve_lp_round(const Search& search);
Outcome solve_milp(const Search& search);
Outcome solve_knapsack_bound(const Search& search);
Outcome solve_moments(const Search& search);
Outcome solve_chain_dp(const Search& search);
Outcome solve_anneal(const Search& search);
Outcome solve_brute(const Search& search);
/// At about 100 bytes and a microsecond a state.
Outcome solve_brute(const Search& search, std::size_t most_states);
Outcome solve_brute_stages(const Search& search);

}  // namespace checkmate
