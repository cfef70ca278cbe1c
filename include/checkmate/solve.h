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

namespace checkmate {

/// How a search ended. An answer, not an error.
enum class Status : std::uint8_t {
  kOptimal,     ///< a plan, and no plan of that order is cheaper
  kFeasible,    ///< a plan within the budget
  kInfeasible,  ///< proven: no plan of that order fits the budget
  kUnknown,     ///< no plan, and no proof that there is none
};
std::string_view to_string(Status status);  ///< `optimal`, `feasible`, `infeasible`, `unknown`

/// How far the search is, reported while it goes on.
struct Progress {
  double seconds;
  std::optional<Cost> cost;              ///< of the best plan so far
  std::optional<Cost> bound;             ///< no plan of the order is cheaper
  std::string_view method;               ///< with `auto`, the one that found the plan or the bound
  std::optional<Cost> stage_bound = {};  ///< no plan of the paper's class is: what milp tells
};

struct SolveOptions {
  Bytes budget;                                  ///< for everything, the graph's fixed bytes included
  std::string method = "auto";                   ///< one of methods()
  Order order = Order::kFixed;                   ///< free: first runs may move, where the method can
  std::chrono::duration<double> time_limit{60};  ///< after it, the best so far
  int threads = 1;                               ///< maximum number of threads
  std::uint64_t seed = 1;                        ///< same seed, one thread, a limit of moves: same plan
  double gap = 1e-5;                             ///< stop when the relative gap is at most this
  std::uint64_t moves = 0;       ///< annealing: stop after so many moves, whatever the time; 0: by time alone
  bool free_stages = false;      ///< milp, lp-bound: the unpartitioned form, which moves first runs
  int samples = 32;              ///< lp-round: randomised roundings beside the fixed thresholds
  std::vector<OpId> start = {};  ///< the runs of a plan to begin with; ignored where they do not fit
  std::function<void(const Progress&)> on_progress = {};  ///< one call at a time, from any searching thread
};

struct SolveResult {
  Status status = Status::kUnknown;
  std::string detail;  ///< one sentence where the status alone does not explain itself
  std::string method;  ///< which one found the plan: with `auto`, the one that won
  std::optional<Plan> plan;
  Cost cost;                                   ///< of the plan
  Bytes peak;                                  ///< of the plan
  Cost lower_bound;                            ///< no plan of the order is cheaper
  std::optional<Cost> stage_lower_bound = {};  ///< no plan of the paper's class is: see docs/concepts.md
  std::optional<Bytes> sufficient = {};  ///< without a plan: a budget that has one, or has of the method
  std::optional<Bytes> needed = {};      ///< when infeasible: no budget below this has a plan
  double seconds = 0;
  double first_plan_seconds = 0;
  std::uint64_t moves = 0;  ///< that annealing tried
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
  bool plans = true;         ///< false: it only looks for a bound
};
/// All methods, `auto` first.
std::span<const MethodInfo> methods();

/// Finds a plan within the budget. Whatever a method returns has been replayed by simulate() and validate()
/// before it leaves here. Errors are wrong options only. Thread-safe; stops soon after the token or the time
/// limit asks.
Result<SolveResult> solve(const Graph& graph, const SolveOptions& options, std::stop_token stop = {});

}  // namespace checkmate
