#include "solve/moments.h"

#include <algorithm>

#include "solve/fill.h"
#include "solve/moments_track.h"

namespace checkmate {
namespace {

constexpr double kFirstSlice = 1.2;  // seconds
constexpr double kLooseGap = 0.004;  // above it a bound for the paper's class is worth its time
constexpr int kRoundsByMoves = 2;
// Of the first model that is not grown from one moment: as many as its relaxation solves quickly.
constexpr std::size_t kSpreadMoments = 12;
constexpr std::size_t kSpreadColumns = 9'000;

/// Relaxation and branch and bound in turn, as long as both come to their ends in time.
void advance(const Search& search, MomentsTrack& track, double seconds, bool more_moments) {
  const bool by_moves = search.options.moves > 0;
  const double until = search.seconds() + seconds;
  for (int round = 0; !track.done(); ++round) {
    if (by_moves ? round == kRoundsByMoves : search.seconds() >= until) return;
    track.relax((until - search.seconds()) / 2, more_moments);
    if (track.done() || !track.branch(until - search.seconds())) return;
  }
}

/// `count` moments where the best plan is tightest.
void spread(const Search& search, const Incumbent& incumbent, MomentsTrack& track, std::size_t count) {
  const std::vector<OpId> steps = incumbent.steps();
  if (steps.empty() || count <= track.moment_count()) return;
  std::vector<Tight> tightest = tightest_steps(search.graph, search.options.budget, steps);
  std::erase_if(tightest, [&](const Tight& tight) { return track.near_moment(tight.stage); });
  track.add_moments(std::move(tightest), count - track.moment_count(), 0);
}

/// Moments inside stages, where the best plan is tightest.
void spread_inside(const Search& search, const Incumbent& incumbent, MomentsTrack& track) {
  constexpr double kTight = 0.95;
  const std::vector<OpId> steps = incumbent.steps();
  if (steps.empty()) return;
  for (const Tight& tight : tightest_steps(search.graph, search.options.budget, steps)) {
    if (tight.op.value != tight.stage) track.add_moments({tight}, 1, kTight);
  }
}

}  // namespace

void improve_bounds(const Search& search, Incumbent& incumbent) {
  if (search.options.order == Order::kFree) return;
  MomentsTrack every(search, incumbent, Scope::kEveryPlan);
  if (!every.takes_graph() || every.done()) return;
  const std::vector<OpId> keep_all = keep_all_plan(search.graph).steps;
  every.add_moments(tightest_steps(search.graph, search.options.budget, keep_all), 1, 0);
  advance(search, every, kFirstSlice, false);
  std::optional<MomentsTrack> stages;
  double slice = kFirstSlice;
  std::size_t moments = std::min(kSpreadMoments, kSpreadColumns / every.columns_per_moment());
  for (int round = 0; !incumbent.done(); ++round) {
    if (search.options.moves > 0 && round == kRoundsByMoves) return;
    slice = std::max(slice, search.seconds() / 2);
    if (!every.done()) spread(search, incumbent, every, moments);
    advance(search, every, 2 * slice, true);
    if (incumbent.stage_gap() > kLooseGap && !stages) {
      stages.emplace(every.for_papers_class());
      spread_inside(search, incumbent, *stages);
    }
    const bool loose = incumbent.stage_gap() > kLooseGap && !stages->done() && (stages->has_inner() || every.done());
    if (loose) advance(search, *stages, 3 * slice, false);
    if (every.done() && !loose) return;
    moments = every.moment_count() + std::max<std::size_t>(moments / 3, 1);
  }
}

Outcome solve_moments(const Search& search) {
  Incumbent incumbent(search);
  if (!search.options.start.empty()) incumbent.offer(search.options.start, "start");
  Outcome start = cheapest(search, baselines());
  if (start.steps) incumbent.offer(fill(search, std::move(*start.steps)), start.method);
  if (!incumbent.done()) improve_bounds(search, incumbent);
  return incumbent.outcome();
}

}  // namespace checkmate
