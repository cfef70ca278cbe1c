#include "layout/search.h"

#include <algorithm>
#include <cmath>

namespace checkmate {
namespace {

using Units = Problem::Units;

/// Items below this share of the peak are left out at first. There are many of them, and they fit in what
/// the others leave.
constexpr double kLargeShare = 1e-3;

/// The offsets that a placement of all items gives to some of them.
Placement part_of(const Placement& placement, const Problem& part) {
  Placement result;
  for (std::size_t i = 0; i < part.size(); ++i) {
    result.offsets.push_back(placement.offsets[part.block[i]]);
    result.size = std::max(result.size, result.offsets[i] + part.items[i].size);
  }
  return result;
}

}  // namespace

Search::Level::Level(Problem level_problem, std::uint64_t seed)
    : problem(std::move(level_problem)), conflicts(problem), repair(problem, conflicts, seed) {
  constexpr std::size_t kMostForTree = 4096;  // it keeps all conflicts, and goes as deep as there are items
  if (problem.size() <= kMostForTree) tree.emplace(problem, conflicts, seed);
}

Placement Search::run() {
  offer(place_by_time(problem_));
  if (finished()) return best_;
  Level all(problem_, options_.seed);
  all.best = best_;
  place_greedily(all);
  offer(all.best);
  if (finished()) return best_;
  const auto least = static_cast<Units>(kLargeShare * static_cast<double>(problem_.peak));
  Problem large_problem = large_items(problem_, least);
  if (large_problem.size() == 0 || large_problem.size() == problem_.size()) {
    improve_all(all);
  } else {
    Level large(std::move(large_problem), options_.seed);
    large.best = part_of(best_, large.problem);
    place_greedily(large);
    improve_large_first(large, all);
  }
  return best_;
}

void Search::place_greedily(Level& level) {
  for (const auto& order : greedy_orders(level.problem)) {
    for (const Fit fit : {Fit::kLowest, Fit::kTightest}) {
      std::optional<Placement> placement =
          place_in_order(level.problem, level.conflicts, order, fit, {}, [&] { return finished(); });
      if (!placement) return;
      if (placement->size < level.best.size) level.best = std::move(*placement);
      if (level.best.size <= goal()) return;
    }
  }
}

void Search::improve_all(Level& all) {
  while (!finished()) {
    if (tree_round(all) || repair_round(all, goal())) offer(all.best);
  }
}

/// The large items alone, as long as that succeeds; then all of them, to bring down what sticks out above.
void Search::improve_large_first(Level& large, Level& all) {
  fill_in(large, all);
  while (!finished()) {
    if (large.best.size > goal() && (tree_round(large) || repair_round(large, goal()))) {
      fill_in(large, all);
    } else if (best_.size > large.best.size) {
      all.best = best_;
      if (tree_round(all) || repair_round(all, std::max(large.best.size, goal()))) offer(all.best);
    }
  }
}

/// Halves the gap between the smallest size that is known to do and the largest for which nothing was found.
/// Where that is small, it begins anew from the goal, with more nodes. A capacity that the caller names is
/// the only goal.
bool Search::tree_round(Level& level) {
  if (!level.tree || finished()) return false;
  const Units closed = std::max<Units>(1, problem_.peak / 2000);
  const Units goal = this->goal();
  if (level.round == 0 || options_.capacity || level.best.size - level.refuted <= closed) {
    level.refuted = goal - 1;
    ++level.round;
  }
  const bool begins = level.refuted < goal;
  const Units capacity = begins ? goal : level.refuted + (level.best.size - level.refuted) / 2;
  std::uint64_t nodes = (2 * level.problem.size() + 1000) * level.round * level.round;
  for (std::uint64_t i = 0; i < TreeSearch::kOrders && !finished(); ++i) {
    if (options_.moves > 0) nodes = std::min(nodes, options_.moves - moves_);
    const TreeSearch::Outcome outcome = level.tree->run(capacity, nodes, [&] { return finished(); });
    moves_ += level.tree->nodes();
    if (outcome == TreeSearch::Outcome::kFound) {
      level.best = level.tree->placement();
      return true;
    }
    if (outcome == TreeSearch::Outcome::kNone) {
      bound_ = std::max(bound_, level.tree->needed());  // of all items, if of some
      break;
    }
  }
  level.refuted = capacity;
  return false;
}

/// Tries for a smaller placement, though none below `floor`, until nothing has got better for a while.
bool Search::repair_round(Level& level, Units floor) {
  if (finished()) return false;
  constexpr double kPatience = 3000, kMorePatience = 1.3, kMostPatience = 60'000;
  const auto excess = static_cast<double>(level.best.size - floor);
  const Units step = std::max<Units>(1, static_cast<Units>(level.share * excess));
  const auto patience = static_cast<std::uint64_t>(
      std::min(kPatience * std::pow(kMorePatience, std::min(level.failures, 100)), kMostPatience));
  level.repair.begin(level.best, level.best.size - step);
  std::int64_t least = level.repair.weight_out();
  for (std::uint64_t since = 0; since < patience; ++since) {
    ++moves_;
    if (level.repair.move()) {
      level.best = level.repair.placement();
      level.share = std::min(1.0, level.share * 1.5);
      level.failures = 0;
      return true;
    }
    if (level.repair.weight_out() < least) {
      least = level.repair.weight_out();
      since = 0;
    }
    if ((options_.moves > 0 && moves_ >= options_.moves) || (moves_ % 64 == 0 && finished())) return false;
  }
  ++level.failures;
  level.share *= 0.7;
  if (level.share < 0.05) level.share = 0.5;
  return false;
}

void Search::fill_in(const Level& large, const Level& all) {
  Placement start{std::vector<Units>(problem_.size(), Placement::kNowhere), large.best.size};
  for (std::size_t i = 0; i < large.problem.size(); ++i)
    start.offsets[large.problem.block[i]] = large.best.offsets[i];
  std::optional<Placement> filled = place_in_order(problem_, all.conflicts, by_size(problem_), Fit::kTightest,
                                                   std::move(start), [&] { return finished(); });
  if (filled) offer(std::move(*filled));
}

Units Search::goal() const {
  return options_.capacity ? std::max(bound_, options_.capacity->count() / options_.alignment.count())
                           : bound_;
}

void Search::offer(Placement placement) {
  if (!best_.offsets.empty() && placement.size >= best_.size) return;
  best_ = std::move(placement);
  if (options_.on_progress) options_.on_progress({seconds(), bytes(best_.size), bytes(problem_.peak)});
}

bool Search::finished() const {
  return best_.size <= goal() || (options_.moves > 0 && moves_ >= options_.moves) || stop_.stop_requested() ||
         seconds() >= options_.time_limit.count();
}

}  // namespace checkmate
