#include "solve/sparse_milp/sparse_milp.h"

#include <algorithm>
#include <optional>

#include "core/guarded.h"
#include "solve/baselines/baselines.h"
#include "solve/common/prune_recomputations.h"
#include "solve/sparse_milp/sparse_track.h"

namespace checkmate {
namespace {

constexpr double kFirstSlice = 1.2;  // seconds; later ones grow with the time spent
constexpr double kEveryPlanSlices = 2;
constexpr double kPapersClassSlices = 4;
constexpr double kLooseGap = 0.004;  // above it a bound for the paper's class is worth its time
constexpr int kRoundsByMoves = 2;
constexpr double kHopeless = 0.015;
constexpr double kPatience = 0.25;  // of the time
// Of the first model that is not grown from one moment: as many as its relaxation solves quickly.
constexpr std::size_t kSpreadMoments = 12;
constexpr std::size_t kSpreadColumns = 9'000;

/// Relaxation and branch and bound in turn, as long as both come to their ends in time. False if the time was
/// too short for the relaxation alone: more moments would not help then.
bool advance(const SearchContext& search, SparseTrack& track, double seconds, bool more_moments) {
  const bool by_moves = search.by_moves();
  const double until = search.seconds() + seconds;
  for (int round = 0; !track.done(); ++round) {
    if (by_moves ? round == kRoundsByMoves : search.seconds() >= until) break;
    if (!track.relax((until - search.seconds()) / 2, more_moments)) return false;
    if (track.done() || !track.branch(until - search.seconds())) break;
  }
  return true;
}

/// `count` moments where the best plan is tightest.
void spread(const SearchContext& search, const Incumbent& incumbent, SparseTrack& track, std::size_t count) {
  const std::vector<OpId> steps = incumbent.steps();
  if (steps.empty() || count <= track.moment_count()) return;
  std::vector<Tight> tightest = tightest_steps(search.graph, search.options.budget, steps);
  std::erase_if(tightest, [&](const Tight& tight) { return track.near_moment(tight.stage); });
  track.add_moments(std::move(tightest), count - track.moment_count(), 0);
}

/// Moments inside stages, where the best plan is tightest.
void spread_inside(const SearchContext& search, const Incumbent& incumbent, SparseTrack& track) {
  constexpr double kTight = 0.95;
  const std::vector<OpId> steps = incumbent.steps();
  if (steps.empty()) return;
  for (const Tight& tight : tightest_steps(search.graph, search.options.budget, steps)) {
    if (tight.op.value != tight.stage) track.add_moments({tight}, 1, kTight);
  }
}

}  // namespace

void improve_bounds(const SearchContext& search, Incumbent& incumbent) {
  if (search.options.order == Order::kFree) return;
  SparseTrack every(search, incumbent, Scope::kEveryPlan);
  if (!every.takes_graph() || every.done()) return;
  const std::vector<OpId> keep_all = keep_all_plan(search.graph).steps;
  every.add_moments(tightest_steps(search.graph, search.options.budget, keep_all), 1, 0);
  bool solved = advance(search, every, kFirstSlice, false);
  std::optional<SparseTrack> stages;
  double slice = kFirstSlice;
  std::size_t moments = std::min(kSpreadMoments, kSpreadColumns / every.columns_per_moment());
  for (int round = 0; !incumbent.done() && !search.stopped(); ++round) {
    if (search.by_moves() && round == kRoundsByMoves) return;
    // Far from closing the gap, the time is better spent on plans.
    if (!search.by_moves() && incumbent.gap() > kHopeless && search.seconds() > search.end() * kPatience)
      return;
    slice = std::max(slice, search.seconds() / 2);
    if (!every.done() && solved) spread(search, incumbent, every, moments);
    solved = advance(search, every, kEveryPlanSlices * slice, true);
    moments = every.moment_count() + std::max<std::size_t>(moments / 3, 1);

    const bool loose = incumbent.has_plan() && incumbent.stage_gap() > kLooseGap;
    if (loose && !stages) {
      stages.emplace(every.for_papers_class());
      spread_inside(search, incumbent, *stages);
    }
    const bool worth_it = loose && !stages->done() && (stages->has_inner() || every.done());
    if (worth_it) advance(search, *stages, kPapersClassSlices * slice, false);
    if (every.done() && !worth_it) return;
  }
}

Outcome solve_sparse_milp(const SearchContext& search) {
  Incumbent incumbent(search);
  if (!search.options.start.empty()) incumbent.offer(search.options.start, "start");
  Outcome start = cheapest_baseline(search);
  if (start.steps) {
    constexpr std::size_t kMostFillOps = 2'000;  // on more it takes too long
    const bool small = search.graph.op_count() < kMostFillOps;
    incumbent.offer(small ? prune_recomputations(search, std::move(*start.steps)) : std::move(*start.steps),
                    start.method);
  }
  const Result<void> improved = guarded([&]() -> Result<void> {
    if (!incumbent.done()) improve_bounds(search, incumbent);
    return {};
  });
  if (!improved) incumbent.note_failure("bounds", improved.error());
  Outcome outcome = incumbent.outcome();
  if (search.by_moves()) outcome.stop_reason = StopReason::kMovesLimit;
  return outcome;
}

}  // namespace checkmate
