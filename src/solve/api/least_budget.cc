#include "solve/api/least_budget.h"

#include <fmt/format.h>

#include <future>
#include <system_error>

#include "checkmate/simulate.h"
#include "checkmate/solve.h"
#include "checkmate/validate.h"
#include "core/guarded.h"
#include "core/text.h"
#include "core/try.h"
#include "solve/api/check_options.h"
#include "solve/brute/brute.h"
#include "solve/least_budget/cut_bound.h"
#include "solve/least_budget/set_bracket.h"
#include "solve/least_peak/peak_search.h"

namespace checkmate {
namespace {

/// Shares of the time that is left when each begins.
constexpr double kSetsShare = 0.7;
constexpr double kCutsShare = 0.5;
constexpr double kFirstPlansShare = 0.3;  // with one thread

/// Tiny graphs: everything is tried.
void try_everything(const SearchContext& search, PeakBoard& board) {
  constexpr std::size_t kTiny = 12;
  if (search.graph.op_count() > kTiny) return;
  SolveOptions options = search.options;
  options.budget = Bytes{-1};
  Outcome all = solve_brute(search.with_options(options).part(kSetsShare));
  if (all.needed) board.raise(*all.needed, all.detail);
  if (all.sufficient_steps) board.offer(std::move(*all.sufficient_steps), "brute");
}

void prove(const SearchContext& search, PeakBoard& board, std::optional<Bytes> enough) {
  if (board.done()) return;
  const Bytes most = enough ? std::min(board.peak(), *enough + Bytes{1}) : board.peak();
  const Bytes needed = cut_bound(search.part(kCutsShare), board.needed(), most);
  board.raise(needed, fmt::format("the outputs, and what the last runs of large ops leave for them, need {}",
                                  exact(needed)));
  if (board.done()) return;
  const std::size_t most_sets = search.by_moves() ? 10'000 : 500'000;
  SetBracket sets = bracket_by_sets(search.part(kSetsShare), most_sets, enough);
  board.raise(sets.needed, std::move(sets.detail));
  if (sets.steps) board.offer(std::move(*sets.steps), "sets");
}

}  // namespace

void search_least_budget(const SearchContext& search, PeakBoard& board) {
  const std::uint64_t seed = search.options.seed;
  const std::optional<Bytes> enough = board.goal().enough;
  if (!search.by_moves()) try_everything(search, board);
  const auto alone = [&] {
    search_small_peaks(search.part(kFirstPlansShare), board, seed);
    prove(search, board, enough);
    if (!search.by_moves()) search_small_peaks(search, board, seed + 1);
  };
  if (search.options.threads == 1 || search.by_moves()) return alone();
  std::future<void> other;
  try {
    other = std::async(std::launch::async, [&] {
      prove(search, board, enough);
      search_small_peaks(search, board, seed + 1);
    });
  } catch (const std::system_error&) {  // no second thread
    return alone();
  }
  search_small_peaks(search, board, seed);
  other.get();
}

Result<LeastBudget> least_budget(const Graph& graph, const LeastBudgetOptions& options,
                                 std::stop_token stop) {
  return guarded([&]() -> Result<LeastBudget> {
    const SolveOptions search_options{.budget = graph.fixed_bytes() + keep_all_peak(graph),
                                      .order = options.order,
                                      .time_limit = options.time_limit,
                                      .threads = options.threads,
                                      .seed = options.seed,
                                      .gap = options.gap};
    CHECKMATE_TRY(check_search_options(search_options));
    const SearchContext search(graph, search_options, std::move(stop));
    PeakBoard board(search, {.gap = options.gap});
    if (!options.start.empty()) board.offer(options.start, "start");
    if (!board.done()) search_least_budget(search, board);
    Result<Plan> plan = plan_from_steps(graph, board.steps());
    if (!plan) throw std::logic_error("the plan of the least budget is wrong: " + plan.error().message);
    const auto violations = validate(graph, *plan, board.peak(), options.order);
    if (!violations.empty() || board.needed() > board.peak())
      throw std::logic_error("the least budget is wrong: its plan does not fit, or less than it is needed");
    return LeastBudget{.needed = board.needed(),
                       .sufficient = board.peak(),
                       .plan = std::move(*plan),
                       .cost = board.cost(),
                       .method = board.source(),
                       .detail = board.detail(),
                       .seconds = search.seconds()};
  });
}

}  // namespace checkmate
