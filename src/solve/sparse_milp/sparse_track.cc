#include "solve/sparse_milp/sparse_track.h"

#include <fmt/format.h>

#include <algorithm>

#include "checkmate/simulate.h"
#include "lp/safe_bound.h"
#include "solve/common/linear_options.h"
#include "solve/common/prune_recomputations.h"

namespace checkmate {
namespace {

using LinearStatus = LinearSolution::Status;

constexpr std::string_view kName = "sparse-milp";
constexpr std::size_t kMostMoments = 32;      // past it the relaxations get slow
constexpr std::size_t kMostColumns = 60'000;  // the same
constexpr std::size_t kMostFillOps = 2'000;
constexpr double kShortest = 0.02;  // seconds: less is not worth a start
// Where the same seed must give the same answer, these limits stand for time.
constexpr std::size_t kMostColumnsByMoves = 2'000;
constexpr std::size_t kMostBranchColumnsByMoves = 400;  // for HiGHS has no limit on what it does at the root
constexpr std::int32_t kIterationsByMoves = 5'000;
constexpr std::int32_t kNodesByMoves = 20;

double reruns_cost(const Graph& graph, Cost cost) {
  return static_cast<double>((cost - graph.keep_all_cost()).count());
}

/// HiGHS does not look up in presolve, whose time grows with the square of the memory rows, nor while it
/// separates cuts at the root: so long before the end of the search nothing is started any more.
double deaf_seconds(const LinearProgram& program, std::size_t columns_a_moment) {
  const auto row = static_cast<double>(columns_a_moment);
  return 1.2e-5 * static_cast<double>(program.entry_count()) + 6e-8 * row * row;
}

}  // namespace

SparseTrack::SparseTrack(const SearchContext& search, Incumbent& incumbent, Scope scope)
    : search_(search),
      graph_(search.graph),
      incumbent_(incumbent),
      scope_(scope),
      repeatable_(search.by_moves()),
      most_moments_(std::min(kMostMoments,
                             (repeatable_ ? kMostColumnsByMoves : kMostColumns) / columns_per_moment())) {}

SparseTrack SparseTrack::for_papers_class() const {
  SparseTrack track(search_, incumbent_, Scope::kPapersClass);
  track.moments_ = moments_;
  track.inner_ = inner_;
  track.cuts_ = cuts_;
  track.covers_ = covers_;
  return track;
}

std::size_t SparseTrack::columns_per_moment() const { return SparseModel::column_estimate(graph_, 1); }

bool SparseTrack::done() const {
  // What safe_bound() takes off for tolerances cannot be won back.
  constexpr double kLeastGap = 1.01e-6;
  const double gap = scope_ == Scope::kEveryPlan ? incumbent_.gap() : incumbent_.stage_gap();
  return exhausted_ || incumbent_.done() || search_.stopped() ||
         (incumbent_.has_plan() && gap <= std::max(search_.options.gap, kLeastGap));
}

double SparseTrack::time_until(double until) const {
  return repeatable_ ? search_.seconds_left() : std::min(until - search_.seconds(), search_.seconds_left());
}

Stage SparseTrack::apart() const {
  return static_cast<Stage>(std::max<std::size_t>(2, graph_.op_count() / 100));
}

bool SparseTrack::near_moment(Stage stage) const {
  const auto next = moments_.lower_bound(stage > apart() ? stage - apart() : 0);
  return next != moments_.end() && *next <= stage + apart();
}

std::size_t SparseTrack::add_moments(std::vector<Tight> tightest, std::size_t count, double least_share) {
  std::stable_sort(tightest.begin(), tightest.end(),
                   [](const Tight& a, const Tight& b) { return a.share > b.share; });
  const std::size_t before = moments_.size() + inner_.size();
  std::vector<Stage> taken;
  for (const Tight& tight : tightest) {
    if (taken.size() >= count || tight.share < least_share) break;
    const bool near = std::any_of(taken.begin(), taken.end(), [&](Stage other) {
      return std::max(other, tight.stage) - std::min(other, tight.stage) <= apart();
    });
    if (near || moments_.size() >= most_moments_) continue;
    taken.push_back(tight.stage);
    if (tight.stage < graph_.op_count()) moments_.insert(tight.stage);
    if (tight.op.value == tight.stage || tight.stage == 0) continue;
    // Memory inside a stage, or after all first runs: only the stage itself knows what is rerun there.
    moments_.insert(tight.stage - 1);
    inner_.insert({tight.stage, tight.op});
  }
  const std::size_t added = moments_.size() + inner_.size() - before;
  if (added > 0) relaxed_ = false;
  return added;
}

SparseModel SparseTrack::model() const {
  SparseModel model(graph_, {.budget = search_.options.budget,
                             .moments = {moments_.begin(), moments_.end()},
                             .inner = {inner_.begin(), inner_.end()},
                             .scope = scope_});
  for (const PathCut& cut : cuts_) model.add_row(row_of(model, cut));
  for (const CoverCut& cut : covers_) model.add_row(row_of(model, cut));
  return model;
}

void SparseTrack::raise_bound(const SparseModel& model, double objective) {
  const std::optional<Cost> bound = safe_bound(graph_, model.cost_of(objective));
  if (!bound || objective <= -LinearProgram::kInfinity) return;
  if (scope_ == Scope::kEveryPlan) {
    incumbent_.raise_bound(*bound, kName);
  } else {
    incumbent_.raise_stage_bound(*bound, kName);
  }
}

std::optional<LinearSolution> SparseTrack::relax_with_cuts(SparseModel& model, double until) {
  constexpr int kMostRounds = 25;
  constexpr std::size_t kCutsPerRound = 100;
  constexpr std::size_t kPatience = 4;  // rounds
  constexpr double kWorthwhile = 2e-5;  // of the cost, over that many rounds
  LinearSolver solver(model.program());
  std::optional<LinearSolution> last;
  std::vector<double> bounds;
  double longest = 0.2;
  const double deaf = deaf_seconds(model.program(), columns_per_moment()) / 2;
  for (int round = 0; round < kMostRounds && !done(); ++round) {
    // Now and then the simplex method loses its way from an old basis.
    double limit = repeatable_ || !last ? time_until(until) : std::min(time_until(until), 5 * longest);
    limit = std::min(limit, search_.seconds_left() - deaf);
    if (limit < kShortest) break;
    LinearOptions options{.relax = true, .time_limit = limit, .enough = [&] { return done(); }};
    options.stop = search_.stop_token();
    if (repeatable_) options.iteration_limit = kIterationsByMoves;
    LinearSolution solution = solver.solve(options);
    if (solution.status == LinearStatus::kInfeasible) check_infeasible(true);
    if (solution.status == LinearStatus::kFailed && !last) exhausted_ = true;
    if (solution.status != LinearStatus::kOptimal) break;
    raise_bound(model, solution.bound);
    longest = std::max(longest, solution.seconds);
    bounds.push_back(model.cost_of(solution.bound));
    last = std::move(solution);
    if (bounds.size() > kPatience &&
        bounds.back() - bounds[bounds.size() - 1 - kPatience] < kWorthwhile * bounds.back())
      break;
    std::vector<LinearRow> rows;
    for (PathCut& cut : broken_path_cuts(model, last->values, kCutsPerRound)) {
      rows.push_back(row_of(model, cut));
      model.add_row(rows.back());
      cuts_.push_back(std::move(cut));
    }
    for (CoverCut& cut : broken_cover_cuts(model, last->values)) {
      rows.push_back(row_of(model, cut));
      model.add_row(rows.back());
      covers_.push_back(std::move(cut));
    }
    if (rows.empty()) break;
    solver.add_rows(rows);
  }
  return last;
}

void SparseTrack::drop_slack_cuts(const SparseModel& model, std::span<const double> values) {
  constexpr double kSlack = 0.1;
  const auto slack = [&](const auto& cut) {
    const LinearRow row = row_of(model, cut);
    double sum = 0;
    for (const Term& term : row.terms)
      sum += term.coefficient * values[static_cast<std::size_t>(term.column)];
    return sum > row.lower + kSlack && sum < row.upper - kSlack;
  };
  std::erase_if(cuts_, slack);
  std::erase_if(covers_, slack);
}

std::size_t SparseTrack::drop_slack_moments(const SparseModel& model, std::span<const double> values) {
  constexpr double kFree = 1e-5;
  const auto stays = [&](Stage moment) {
    return model.free_share(model.block_of(moment), values) < kFree ||
           std::any_of(covers_.begin(), covers_.end(),
                       [&](const CoverCut& cut) { return cut.moment == moment; }) ||
           std::any_of(inner_.begin(), inner_.end(), [&](const InnerMoment& inner) {
             return moment == inner.stage || moment + 1 == inner.stage;
           });
  };
  // What comes back stays, or the search would go in circles.
  const std::size_t dropped =
      std::erase_if(moments_, [&](Stage moment) { return !stays(moment) && dropped_.insert(moment).second; });
  std::erase_if(cuts_, [&](PathCut& cut) {
    const auto end = moments_.lower_bound(cut.to);
    const Stage to = end == moments_.end() ? static_cast<Stage>(graph_.op_count()) : *end;
    const bool moved = std::exchange(cut.to, to) != to;
    return !moments_.contains(cut.from) || (moved && cut.demand == PathCut::Demand::kKept) ||
           (cut.demand == PathCut::Demand::kRerun && !moments_.contains(cut.user_from));
  });
  return dropped;
}

bool SparseTrack::relax(double seconds, bool more_moments) {
  constexpr std::size_t kMomentsAtOnce = 3;
  constexpr double kOverflow = 1 + 1e-6;
  const double until = search_.seconds() + seconds;
  bool solved = relaxed_;
  bool dropped = false;
  while (!relaxed_ && !done() && time_until(until) > kShortest) {
    SparseModel model = this->model();
    const std::optional<LinearSolution> solution = relax_with_cuts(model, until);
    if (!solution) break;
    solved = true;
    drop_slack_cuts(model, solution->values);
    if (more_moments && !dropped &&
        add_moments(tightest_first_runs(model, solution->values), kMomentsAtOnce, kOverflow) > 0)
      continue;
    // Every block lets the relaxation pay for a value in parts: moments that bind nothing make it weaker.
    relaxed_ = dropped || drop_slack_moments(model, solution->values) == 0;
    dropped = true;
  }
  return solved || done();
}

double SparseTrack::relative_gap() const {
  constexpr double kWithoutPlan = 0.1;
  constexpr double kMost = 0.05;
  if (!incumbent_.has_plan()) return gap_share_ * kWithoutPlan;
  const Cost bound = scope_ == Scope::kEveryPlan ? incumbent_.bound() : incumbent_.stage_bound();
  const double reruns = std::max(reruns_cost(graph_, bound), 1.0);
  return std::min(gap_share_ * (reruns_cost(graph_, incumbent_.cost()) - reruns_cost(graph_, bound)) / reruns,
                  kMost);
}

bool SparseTrack::branch(double seconds) {
  constexpr double kTightest = 1e-4;  // of the open gap
  const SparseModel model = this->model();
  if (model.program().column_count() == 0) {
    exhausted_ = true;
    return true;
  }
  if (repeatable_ && model.program().column_count() > kMostBranchColumnsByMoves) return false;
  LinearSolver solver(model.program());
  const std::vector<OpId> steps = incumbent_.steps();
  const std::vector<double> start = steps.empty() ? std::vector<double>{} : model.columns_of(steps);
  LinearOptions options = linear_options(search_);
  options.time_limit -= deaf_seconds(model.program(), columns_per_moment());
  if (options.time_limit < kShortest) return false;
  if (!repeatable_) options.time_limit = std::min(options.time_limit, seconds);
  options.relative_gap = relative_gap();
  options.start = start;
  options.enough = [&] { return done(); };
  options.on_progress = [&](const LinearProgress& progress) { raise_bound(model, progress.bound); };
  if (repeatable_) options.node_limit = kNodesByMoves;
  const LinearSolution solution = solver.solve(options);
  if (solution.status == LinearStatus::kInfeasible) check_infeasible(false);
  if (solution.status == LinearStatus::kInfeasible || solution.status == LinearStatus::kFailed) {
    exhausted_ = true;
    return true;
  }
  raise_bound(model, solution.bound);
  const bool complete = solution.status == LinearStatus::kOptimal;
  // Without a plan to start from, the solution of an unfinished search is not a useful guide.
  const bool telling = !solution.values.empty() && (complete || !start.empty());
  const std::size_t added = telling ? take_plan(model, solution.values) : 0;
  if (complete && added == 0) {
    exhausted_ = gap_share_ < kTightest;
    gap_share_ /= 8;
  }
  return complete;
}

std::size_t SparseTrack::take_plan(const SparseModel& model, std::span<const double> values) {
  constexpr std::size_t kMomentsAtOnce = 3;
  constexpr double kOverflow = 1 + 1e-12;
  const std::vector<OpId> steps = steps_of(model, values);
  if (incumbent_.offer(steps, kName) && graph_.op_count() < kMostFillOps)
    incumbent_.offer(prune_recomputations(search_, steps), kName);
  return add_moments(tightest_steps(graph_, search_.options.budget, steps), kMomentsAtOnce, kOverflow);
}

void SparseTrack::check_infeasible(bool relaxed) {
  // HiGHS decides within tolerances: only a budget beyond them proves anything.
  constexpr std::int64_t kShare = 10'000;
  exhausted_ = true;
  if (scope_ != Scope::kEveryPlan || incumbent_.has_plan()) return;
  const Bytes budget = search_.options.budget;
  const Bytes room = budget - graph_.fixed_bytes();
  const SparseModel model(graph_, {.budget = budget + Bytes{room.count() / kShare + 1},
                                   .moments = {moments_.begin(), moments_.end()}});
  LinearOptions options = linear_options(search_);
  options.relax = relaxed;
  if (LinearSolver(model.program()).solve(options).status != LinearStatus::kInfeasible) return;
  incumbent_.prove_infeasible(
      budget + Bytes{1},
      fmt::format("whatever is recomputed, memory exceeds the budget at one of {} moments", moments_.size()));
}

}  // namespace checkmate
