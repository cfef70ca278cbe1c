#include "solve/api/auto.h"

#include <deque>
#include <future>
#include <system_error>

#include "core/guarded.h"
#include "solve/anneal/anneal.h"
#include "solve/api/least_budget.h"
#include "solve/baselines/baselines.h"
#include "solve/baselines/keep_all.h"
#include "solve/brute/brute.h"
#include "solve/chain/chain_bound.h"
#include "solve/chain/chain_dp.h"
#include "solve/common/incumbent.h"
#include "solve/common/prune_recomputations.h"
#include "solve/free_order/free_order.h"
#include "solve/knapsack/knapsack.h"
#include "solve/least_peak/peak_search.h"
#include "solve/segment_heuristic/segment_heuristic.h"
#include "solve/sparse_milp/sparse_milp.h"

namespace checkmate {
namespace {

/// Quick methods first, then those that search for plans and those that search for bounds, in parallel and on
/// one blackboard. Each is a file of its own; this file only decides what runs when. A method that breaks is
/// left out: the others go on.
class Portfolio {
 public:
  explicit Portfolio(const SearchContext& search)
      : incumbent_(search),
        quiet_(search.options),
        search_(search.with_options(without_reports(quiet_)).with_stop(stop_.get_token())),
        on_stop_(search.stop_token(), [this] { stop_.request_stop(); }),
        on_enough_(incumbent_.enough(), [this] { stop_.request_stop(); }) {}

  Outcome run() {
    start();
    if (!incumbent_.done()) free_order() ? search_free_order() : search_fixed_order();
    return incumbent_.outcome();
  }

 private:
  static constexpr std::size_t kTiny = 12;
  static constexpr std::size_t kSmall = 2000;

  /// Only the incumbent reports progress.
  static const SolveOptions& without_reports(SolveOptions& options) {
    options.on_progress = {};
    return options;
  }
  bool free_order() const { return search_.options.order == Order::kFree; }
  bool by_moves() const { return search_.by_moves(); }
  std::size_t ops() const { return search_.graph.op_count(); }
  std::uint64_t threads() const { return static_cast<std::uint64_t>(search_.options.threads); }

  template <class Work>
  static void attempt(Incumbent& board, std::string_view method, const Work& work) {
    if (!board.done()) protect(board, method, work);
  }
  template <class Work>
  static void protect(Incumbent& board, std::string_view method, const Work& work) {
    const Result<void> done = guarded([&]() -> Result<void> {
      work();
      return {};
    });
    if (!done) board.note_failure(method, done.error());
  }

  void start() {
    Incumbent& board = incumbent_;
    protect(board, "keep-all", [&] { take(board, solve_keep_all(search_), "keep-all"); });
    protect(board, "start", [&] {
      if (!search_.options.start.empty()) board.offer(search_.options.start, "start");
    });
    attempt(board, "knapsack-bound", [&] { raise_knapsack_bound(search_, board); });
    attempt(board, "brute", [&] {
      if (ops() <= kTiny) take(board, solve_brute(search_), "brute");
    });
    attempt(board, "the segmented start", [&] { segmented_start(search_, board); });
    attempt(board, "eviction", [&] {
      if (ops() <= kSmall || !board.has_plan()) evict_within_budget(search_.part(0.05), board);
    });
    attempt(board, "baselines", [&] {
      if (ops() <= kSmall || !board.has_plan()) take(board, cheapest_baseline(search_.part(0.1)), {});
    });
  }

  /// A plan within the budget, whatever it costs, or a proof that there is none.
  void look_for_least_budget(Incumbent& board) {
    SolveOptions options = search_.options;
    options.threads = 1;  // the others have work
    const SearchContext here = search_.with_options(options).part(0.5);
    PeakBoard peaks(here, {.enough = options.budget});
    search_least_budget(here, peaks);
    if (peaks.needed() > search_.options.budget)
      return board.prove_infeasible(peaks.needed(), peaks.detail());
    board.raise_needed(peaks.needed());
    std::vector<OpId> steps = peaks.steps();
    // Its peak is small because it recomputes a lot, over and over.
    constexpr std::size_t kMostSteps = 4000;
    if (peaks.peak() <= search_.options.budget && steps.size() <= kMostSteps)
      steps = prune_recomputations(search_.part(0.1), std::move(steps));
    board.offer(std::move(steps), "least-budget");
  }

  /// Whether there is a plan at all, and methods for chains.
  void look_closer(Incumbent& board) {
    attempt(board, "least-budget", [&] {
      if (!board.has_plan()) look_for_least_budget(board);
    });
    attempt(board, "chain-dp", [&] {
      if (ops() <= kSmall) take(board, solve_chain_dp(search_.part(0.1)), "chain-dp");
    });
    attempt(board, "chain-bound", [&] {
      if (const std::optional<Cost> bound = chain_bound(search_.part(0.2)))
        board.raise_bound(*bound, "chain-bound");
    });
    // Where the others have not finished, and the graph is small enough to try everything.
    constexpr std::size_t kMostStates = 1'000'000;
    attempt(board, "brute", [&] { take(board, solve_brute(search_.part(0.2), kMostStates), "brute"); });
  }

  static void take(Incumbent& board, Outcome outcome, std::string_view source) {
    if (outcome.steps) board.offer(std::move(*outcome.steps), source.empty() ? outcome.method : source);
    if (outcome.needed && *outcome.needed > board.search().options.budget)
      board.prove_infeasible(*outcome.needed, outcome.detail);
    if (outcome.lower_bound) board.raise_bound(*outcome.lower_bound, source);
    if (outcome.sufficient) board.note_peak(*outcome.sufficient);
  }

  void look_for_plans(Incumbent& board, double share, std::uint64_t seed) {
    attempt(board, "anneal", [&] { anneal(search_.part(share), board, seed); });
  }
  void look_for_bounds(Incumbent& board, double share) {
    attempt(board, "sparse-milp", [&] { improve_bounds(search_.part(share), board); });
  }

  void search_fixed_order() {
    const std::uint64_t seed = search_.options.seed;
    const double half = by_moves() ? 0.5 : 1;
    const bool shared = threads() > 1 && side_by_side([&](std::uint64_t member, Incumbent& board) {
                          if (member == 1) {
                            look_closer(board);
                            look_for_bounds(board, 1);
                          }
                          look_for_plans(board, half, seed + member);
                        });
    if (!shared) return take_turns();
    if (!by_moves()) return;
    side_by_side([&](std::uint64_t member, Incumbent& board) {
      look_for_plans(board, half, seed + threads() + member);
    });
  }

  /// Plans and bounds in turn, each turn longer than the one before.
  void take_turns() {
    std::uint64_t seed = search_.options.seed;
    look_for_plans(incumbent_, 0.005, seed++);
    look_closer(incumbent_);
    const std::vector<double> turns = by_moves() ? std::vector{0.45} : std::vector{0.01, 0.05, 0.2, 0.5};
    for (const double share : turns) {
      look_for_plans(incumbent_, share, seed++);
      look_for_bounds(incumbent_, 2 * share);
    }
    look_for_plans(incumbent_, by_moves() ? 0.5 : 1, seed);
  }

  /// A plan of the fixed order is a plan of the free order too, and the better start on tight training
  /// graphs.
  void search_free_order() {
    const std::uint64_t seed = search_.options.seed;
    const auto move_first_runs = [&](Incumbent& board, double share, std::uint64_t member) {
      attempt(board, "anneal", [&] { anneal_free_order(search_.part(share), board, seed + member); });
    };
    const auto begin = [&](std::uint64_t member, Incumbent& board) {
      look_for_plans(board, 0.2, seed + member);
      look_closer(board);
    };
    const auto alone = [&] {
      begin(0, incumbent_);
      move_first_runs(incumbent_, by_moves() ? 0.8 : 1, 0);
    };
    if (threads() == 1) return alone();
    const double half = by_moves() ? 0.4 : 1;
    const bool shared = side_by_side([&](std::uint64_t member, Incumbent& board) {
      if (member == 1) begin(member, board);
      move_first_runs(board, half, member);
    });
    if (!shared) return alone();
    if (!by_moves()) return;
    side_by_side(
        [&](std::uint64_t member, Incumbent& board) { move_first_runs(board, half, threads() + member); });
  }

  /// Runs the members on a thread each. With a limit of moves, each works on a board of its own, and what
  /// they found is put together when all have ended, one after the other: so the same seed gives the same
  /// answer, whoever was faster. False, with nothing done, where the system gives no second thread.
  template <class Member>
  bool side_by_side(const Member& member) {
    std::deque<Incumbent> boards;
    for (std::uint64_t index = 0; by_moves() && index < threads(); ++index)
      boards.emplace_back(search_).take_over(incumbent_);
    const auto work = [&](std::uint64_t index) {
      member(index, boards.empty() ? incumbent_ : boards[index]);
    };
    std::vector<std::future<void>> others;
    try {
      while (others.size() + 1 < threads())
        others.push_back(std::async(std::launch::async, work, std::uint64_t{others.size() + 1}));
    } catch (const std::system_error&) {  // fewer threads than asked for are better than no plan
      if (others.empty() && boards.empty()) return false;
    }
    work(0);
    for (std::size_t index = others.size() + 1; index < boards.size(); ++index) work(index);
    for (std::future<void>& other : others) other.get();
    for (const Incumbent& board : boards) {
      incumbent_.take_over(board);
      incumbent_.count_moves(board.outcome().moves);
    }
    return true;
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
