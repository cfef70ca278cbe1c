#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "checkmate/graph.h"
#include "checkmate/plan.h"
#include "checkmate/result.h"
#include "checkmate/units.h"

#pragma GCC visibility push(default)
namespace checkmate {

/// How a search ended. An answer, not an error.
enum class Status : std::uint8_t {
  kOptimal,     ///< a plan, and no plan of that order is cheaper
  kFeasible,    ///< a plan within the budget
  kInfeasible,  ///< proven: no plan of that order fits the budget
  kUnknown,     ///< no plan, and no proof that there is none
};
std::string_view to_string(Status status);  ///< `optimal`, `feasible`, `infeasible`, `unknown`

/// Why a search did not go on.
enum class StopReason : std::uint8_t {
  kGapClosed,   ///< the plan is within SolveOptions::gap of the lower bound
  kInfeasible,  ///< proven: there is nothing to find
  kCancelled,   ///< the caller asked for it
  kTimeLimit,   ///< SolveOptions::time_limit, or too little of it left for what the method does next
  kMovesLimit,  ///< SolveOptions::moves
  kExhausted,   ///< the method has done all that it does; more time would not help it
  kPatience,    ///< SolveOptions::patience
};
std::string_view to_string(
    StopReason reason);                        ///< `gap_closed`, `infeasible`, `cancelled`, `time_limit`, ...
std::string_view describe(StopReason reason);  ///< for people: `the time limit`

/// The state of a search, reported while it runs. Reports of a search only get better.
struct Progress {
  double seconds;
  std::optional<Cost> cost;              ///< of the best plan so far
  std::optional<Cost> bound;             ///< no plan of the order is cheaper
  std::string_view method;               ///< with `auto`, the one that found the plan or the bound
  std::optional<Cost> stage_bound = {};  ///< no plan of the paper's class is cheaper

  /// The best plan so far, which is within the budget; nothing without one. Only while the callback runs.
  /// O(steps + edges run), and nothing unless it is called.
  std::optional<Plan> plan() const;
  /// Ends the search as its stop token does: solve() returns the best plan so far. Only while the callback
  /// runs.
  void stop() const;

  struct Source;
  const Source* source = nullptr;  ///< what the two functions ask
};

struct SolveOptions {
  Bytes budget;                                  ///< for everything, the graph's fixed bytes included
  std::string method = "auto";                   ///< one of methods()
  Order order = Order::kFixed;                   ///< free: first runs may move, where the method can
  std::chrono::duration<double> time_limit{60};  ///< then the best plan so far is returned
  int threads = 1;                               ///< maximum number of threads
  std::uint64_t seed = 1;  ///< with a limit of moves, it and the threads determine the answer
  double gap = 1e-5;       ///< stop when the relative gap is at most this
  /// Stop when for this many seconds no plan was found that saves a thousandth of keep-all's cost more; 0:
  /// never. What the search could still gain is then worth less than its time. Not with a limit of moves.
  double patience = 0;
  std::uint64_t moves = 0;       ///< annealing: stop after this many moves a thread; 0: no limit
  bool free_stages = false;      ///< milp, lp-bound: the unpartitioned form, which moves first runs
  int samples = 32;              ///< lp-round: randomised roundings, in addition to fixed thresholds
  std::vector<OpId> start = {};  ///< the runs of a plan to start from; ignored if over the budget
  /// One call at a time, from any searching thread. It may be slow: reports are dropped then, but never the
  /// last, which has the answer's cost and bounds. It must not throw.
  std::function<void(const Progress&)> on_progress = {};
};

struct SolveResult {
  Status status = Status::kUnknown;
  StopReason stop_reason = StopReason::kExhausted;
  std::string detail;  ///< one sentence, where the status needs an explanation
  std::string method;  ///< the method that found the plan; with `auto`, the one that won
  std::optional<Plan> plan;
  std::optional<Cost> cost;                    ///< of the plan; absent without one
  std::optional<Bytes> peak;                   ///< of the plan; absent without one
  Cost lower_bound;                            ///< no plan of the order is cheaper
  std::optional<Cost> stage_lower_bound = {};  ///< no plan of the paper's class is cheaper
  std::optional<Bytes> sufficient = {};        ///< without a plan: a budget for which one is known
  std::optional<Plan> sufficient_plan = {};    ///< without a plan: that one, if it is at hand
  std::optional<Bytes> needed = {};            ///< without a plan: proven, no plan fits in less
  double seconds = 0;
  double first_plan_seconds = 0;
  std::uint64_t moves = 0;  ///< tried by annealing
};

/// cost / keep-all's cost; 1 for a graph that costs nothing.
double overhead(const Graph& graph, Cost cost);
/// (cost - bound) / cost; 0 when both are 0.
double relative_gap(Cost cost, Cost lower_bound);

struct MethodInfo {
  std::string_view name;
  std::string_view summary;
  bool exact = false;        ///< optimal, and `infeasible` proven, within its limits of size and time
  bool needs_chain = false;  ///< answers `unknown` unless the forward part is a chain
  bool free_order = false;   ///< can move first runs
  bool plans = true;         ///< false: it only computes a bound
};
/// All methods, `auto` first.
std::span<const MethodInfo> methods();

/// Finds a plan within the budget. Every plan has been replayed by simulate() and validate() before it is
/// returned. Nothing is thrown. The errors are invalid options, memory that ran out before there was a plan,
/// and bugs of ours (kInternal). Thread-safe; stops soon after the token or the time limit requests it.
Result<SolveResult> solve(const Graph& graph, const SolveOptions& options, std::stop_token stop = {});

}  // namespace checkmate
#pragma GCC visibility pop
