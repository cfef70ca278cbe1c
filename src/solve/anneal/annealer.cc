#include "solve/anneal/annealer.h"

#include <algorithm>
#include <cmath>

namespace checkmate {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kMostOpsAMove = 60;

}  // namespace

Annealer::Annealer(const SearchGraph& graph, std::uint64_t seed)
    : graph_(graph),
      state_(graph),
      random_(seed),
      // A mean op's cost buys a twentieth of the budget, at one position.
      standard_price_(std::max(graph.base_cost, 1.0) / graph.ops / (std::max(graph.budget, 1.0) * 0.05)),
      price_(standard_price_) {
  record();
}

void Annealer::set_price(double price) {
  price_ = std::clamp(price, standard_price_ * 1e-4, standard_price_ * 1e4);
}

void Annealer::load(std::span<const Run> recomputations) {
  std::vector<Run> sorted(recomputations.begin(), recomputations.end());
  std::sort(sorted.begin(), sorted.end());
  state_.clear();
  for (const Run run : sorted) state_.insert(run);
  best_cost_ = std::numeric_limits<double>::infinity();
  record();
}

void Annealer::step(double temperature) {
  ++moves_;
  changes_.clear();
  extensions_.clear();
  const double before = energy();
  // The threshold is drawn first, so that a move can be given up as soon as its cost alone passes it.
  const double threshold = -temperature * std::log(1 - random_.share());
  cost_limit_ = before + threshold;
  aborted_ = false;
  const bool moved = random_move();
  if (moved && !aborted_ && energy() - before <= threshold) {
    record();
  } else {
    undo_to(0);
  }
  ++seen_;
  if (state_.overflow() == 0) ++fitting_;
}

bool Annealer::random_move() {
  const double draw = random_.share();
  if (draw < 0.12 && state_.overflow() > 0) return relieve();
  if (draw < 0.40) return remove_one();
  if (draw < 0.68) return drop_a_use(false);
  if (draw < 0.78) return drop_a_use(true);
  if (draw < 0.86) return shift_one();
  if (draw < 0.92) return move_stage();
  if (draw < 0.93) return rebuild_window();
  if (draw < 0.97) return swap_one();
  if (draw < 0.99) return clear_part_of_stage();
  return clear_op();
}

void Annealer::follow_feasibility(double progress) {
  constexpr std::uint32_t kWindow = 256;
  if (seen_ < kWindow) return;
  const double share = static_cast<double>(fitting_) / seen_;
  const bool ending = progress > 0.85;  // from here on the price only rises
  if (ending ? share < 0.95 : share < 0.3 + 0.4 * progress) {
    set_price(price_ * (ending ? 1.1 : 1.06));
  } else if (!ending) {
    set_price(price_ / 1.06);
  }
  fitting_ = seen_ = 0;
}

void Annealer::repair_greedily(const std::function<bool()>& stopped) {
  constexpr int kMostFailures = 2000;
  constexpr int kImpatient = 20;  // from then on, more expensive ways are taken
  const double price = price_;
  cost_limit_ = kNoLimit;
  int failures = 0;
  for (int step = 0; failures < kMostFailures && state_.overflow() > 0; ++step) {
    if (step % 16 == 0 && stopped()) break;
    const std::optional<Run> over = overflow_at(failures == 0 && random_.share() < 0.7);
    failures = relieve_well(*over, failures > kImpatient ? 5 : 1) ? 0 : failures + 1;
  }
  price_ = price;
  record();
}

/// Drops what is worth most, if that comes true.
bool Annealer::relieve_well(Run over, double patience) {
  constexpr std::uint64_t kSamples = 32;
  constexpr double kOptimism = 4;  // a way may cost this many times its estimate
  const Drop drop = best_drop(over, kSamples);
  if (!drop.again) return false;
  const double cost = state_.cost();
  const double overflow = state_.overflow();
  changes_.clear();
  extensions_.clear();
  aborted_ = false;
  price_ = patience / drop.worth;
  ops_left_ = kMostOpsAMove;
  recompute(*drop.again, 1);
  const double relieved = overflow - state_.overflow();
  if (relieved > 0 && (patience > 1 || state_.cost() - cost <= kOptimism * relieved / drop.worth))
    return true;
  undo_to(0);
  return false;
}

/// Calls `found` with random values that are live but idle there, and the run that would bring each back:
/// up to `samples` of them, fewer where they are rare.
template <class Found>
void Annealer::for_random_drops(Run over, std::uint64_t samples, const Found& found) {
  constexpr std::uint64_t kTriesPerSample = 12;
  if (over.stage() == 0) return;
  for (std::uint64_t tries = samples * kTriesPerSample; tries > 0 && samples > 0; --tries) {
    const auto op = static_cast<std::uint32_t>(random_.below(over.stage()));
    const auto outputs = graph_.outputs[op];
    const std::uint32_t tensor = outputs[outputs.size() == 1 ? 0 : random_.below(outputs.size())];
    const std::optional<Run> again = way_to_drop(tensor, over);
    if (!again) continue;
    --samples;
    found(tensor, *again);
  }
}

/// Of some random values that are live but idle there, the one that is worth most to drop.
Annealer::Drop Annealer::best_drop(Run over, std::uint64_t samples) {
  Drop best;
  for_random_drops(over, samples, [&](std::uint32_t tensor, Run again) {
    if (const double worth = worth_of_dropping(tensor, over, again); worth > best.worth)
      best = {again, worth};
  });
  return best;
}

std::optional<Run> Annealer::way_to_drop(std::uint32_t tensor, Run over) const {
  const std::uint32_t op = graph_.producer[tensor];
  if (op == over.op() || !graph_.recomputable[op] || is_input(tensor, over.op())) return std::nullopt;
  const std::optional<Run> use = state_.use_after(tensor, over);
  if (!use || use->stage() <= op) return std::nullopt;
  const Run again{use->stage(), op};
  if (again < over || state_.contains(again)) return std::nullopt;
  return again;
}

double Annealer::worth_of_dropping(std::uint32_t tensor, Run over, Run again) {
  double cost = graph_.cost[again.op()] + 1e-9 * graph_.base_cost / graph_.ops;
  for (const std::uint32_t input : graph_.inputs[again.op()]) {
    if (state_.used_after(input, again)) continue;
    const Run touched = state_.touch_before(input, again);
    if (touched.stage() < again.stage() && state_.cost_of_keeping(input, touched, again) > 0)
      cost += graph_.cost[graph_.producer[input]];
  }
  return state_.gain_of_dropping(tensor, state_.touch_before(tensor, over), again) / cost;
}

void Annealer::remove_unneeded(const std::function<bool()>& stopped) {
  if (state_.overflow() > 0) return;
  std::vector<Run> runs(state_.all().begin(), state_.all().end());
  std::sort(runs.begin(), runs.end(), [&](Run a, Run b) {
    const double cost_a = graph_.cost[a.op()];
    const double cost_b = graph_.cost[b.op()];
    return cost_a != cost_b ? cost_a > cost_b : a > b;
  });
  for (std::size_t k = 0; k < runs.size(); ++k) {
    if (k % 16 == 0 && stopped()) break;
    if (!state_.contains(runs[k])) continue;
    changes_.clear();
    remove_with_feeders(runs[k]);
    if (state_.overflow() > 0) undo_to(0);
  }
  record();
}

std::optional<Run> Annealer::random_recomputation() {
  const auto all = state_.all();
  if (all.empty()) return std::nullopt;
  return all[random_.below(all.size())];
}

bool Annealer::remove_one() {
  const std::optional<Run> run = random_recomputation();
  if (!run) return false;
  remove_with_feeders(*run);
  return true;
}

bool Annealer::drop_a_use(bool earlier) {
  const std::uint64_t place = random_.below(state_.size());
  const Run user = place < graph_.ops ? Run::first_of(static_cast<std::uint32_t>(place))
                                      : state_.all()[place - graph_.ops];
  const auto inputs = graph_.inputs[user.op()];
  if (inputs.empty()) return false;
  const std::uint32_t tensor = inputs[random_.below(inputs.size())];
  const std::uint32_t op = graph_.producer[tensor];
  if (!graph_.recomputable[op]) return false;
  const Run touched = state_.touch_before(tensor, user);
  Stage stage = user.stage();
  if (touched.stage() >= stage || stage <= op || state_.contains({stage, op})) return false;
  if (earlier) {
    const Stage after = std::max(touched.stage(), op);
    stage = after + 1 + static_cast<Stage>(random_.below(stage - after));
    if (state_.contains({stage, op})) return false;
  }
  return start_recompute({stage, op}, kMostOpsAMove);
}

bool Annealer::shift_one() {
  const std::optional<Run> run = random_recomputation();
  if (!run) return false;
  const std::uint32_t op = run->op();
  const Run next = state_.run_after(op, *run);
  const std::int64_t low = std::int64_t{std::max(state_.run_before(op, *run).stage(), op)} + 1;
  const std::int64_t high = std::int64_t{next == Run::end() ? graph_.ops : next.stage()} - 1;
  std::int64_t stage = run->stage();
  if (random_.share() < 0.7) {
    const auto distance = static_cast<std::int64_t>(1 + random_.below(3));
    stage += random_.one_in(2) ? distance : -distance;
  } else {
    stage = random_.between(low, high);
  }
  if (stage < low || stage > high || stage == run->stage()) return false;
  if (random_.one_in(2)) {
    remove_with_feeders(*run);
  } else {
    erase(*run);
  }
  const Run there{static_cast<Stage>(stage), op};
  return state_.contains(there) || start_recompute(there, kMostOpsAMove / 2);
}

bool Annealer::move_stage() {
  const std::optional<Run> run = random_recomputation();
  if (!run) return false;
  const Stage from = run->stage();
  const std::int64_t direction = random_.one_in(2) ? 1 : -1;
  std::int64_t to = from;
  if (random_.one_in(2)) {
    to += direction * static_cast<std::int64_t>(1 + random_.below(3));
  } else {
    constexpr int kFar = 256;
    bool skip = random_.one_in(2);
    for (int distance = 0; distance < kFar; ++distance) {
      to += direction;
      if (to < 0 || to >= graph_.ops) return false;
      if (!state_.in_stage(static_cast<Stage>(to)).empty() && !std::exchange(skip, false)) break;
    }
  }
  if (to < 0 || to >= graph_.ops) return false;
  const auto target = static_cast<Stage>(to);
  const auto ops = state_.in_stage(from);
  std::size_t first = 0;
  std::size_t count = ops.size();
  if (count > 1 && random_.one_in(2)) {
    first = random_.below(count);
    count = 1 + random_.below(count - first);
  }
  const std::vector<std::uint32_t> moved(ops.begin() + static_cast<std::ptrdiff_t>(first),
                                         ops.begin() + static_cast<std::ptrdiff_t>(first + count));
  for (std::size_t k = moved.size(); k-- > 0;) erase({from, moved[k]});
  for (const std::uint32_t op : moved) {
    if (op < target && !state_.contains({target, op})) insert({target, op});
  }
  return true;
}

bool Annealer::swap_one() {
  if (!remove_one()) return false;
  relieve_worst(1 + random_.below(3));
  return true;
}

bool Annealer::clear_part_of_stage() {
  const std::optional<Run> run = random_recomputation();
  if (!run) return false;
  const auto ops = state_.in_stage(run->stage());
  std::vector<std::uint32_t> cleared(ops.begin(), ops.end());
  if (cleared.size() > 1 && random_.share() < 0.8) {
    const std::size_t first = random_.below(cleared.size());
    const std::size_t most = random_.share() < 0.7 ? 4 : cleared.size() - first;
    const std::size_t end = std::min(cleared.size(), first + 1 + random_.below(most));
    cleared.assign(ops.begin() + static_cast<std::ptrdiff_t>(first),
                   ops.begin() + static_cast<std::ptrdiff_t>(end));
  }
  for (std::size_t k = cleared.size(); k-- > 0;) {
    const Run gone{run->stage(), cleared[k]};
    if (state_.contains(gone)) remove_with_feeders(gone);
  }
  relieve_worst(random_.below(7));
  return true;
}

bool Annealer::clear_op() {
  const std::optional<Run> run = random_recomputation();
  if (!run) return false;
  const auto stages = state_.stages_of(run->op());
  const std::vector<Stage> again(stages.begin() + 1, stages.end());
  for (const Stage stage : again) {
    if (state_.contains({stage, run->op()})) remove_with_feeders({stage, run->op()});
  }
  relieve_worst(random_.below(4));
  return true;
}

/// Removes most recomputations of some stages in a row and builds them anew, by what is worth most. This is
/// what changes the choice between expensive ops, around each of which many cheap ones have to change.
bool Annealer::rebuild_window() {
  constexpr std::uint64_t kMostStages = 10;
  constexpr int kMostDrops = 20;
  constexpr std::uint64_t kSamples = 16;
  const std::optional<Run> run = random_recomputation();
  if (!run) return false;
  const auto length = static_cast<Stage>(1 + random_.below(kMostStages));
  for (Stage stage = run->stage(); stage < std::min(graph_.ops, run->stage() + length); ++stage) {
    const auto ops = state_.in_stage(stage);
    const std::vector<std::uint32_t> cleared(ops.begin(), ops.end());
    for (std::size_t k = cleared.size(); k-- > 0;) {
      const Run gone{stage, cleared[k]};
      if (state_.contains(gone) && random_.share() < 0.9) remove_with_feeders(gone);
    }
  }
  for (int k = 0; k < kMostDrops && !aborted_; ++k) {
    const std::optional<Run> over = overflow_at(random_.one_in(2));
    if (!over) break;
    const Drop drop = best_drop(*over, kSamples);
    if (!drop.again) break;
    ops_left_ = kMostOpsAMove;
    recompute(*drop.again, 1);  // which gives up where the cost is past the limit
  }
  return true;
}

std::optional<Run> Annealer::overflow_at(bool worst) {
  return worst ? state_.worst() : state_.any_over(random_);
}

bool Annealer::relieve() {
  const std::optional<Run> over = overflow_at(random_.one_in(2));
  return over && relieve_at(*over, 1 + random_.below(4));
}

void Annealer::relieve_worst(std::uint64_t most) {
  for (std::uint64_t k = 0; k < most && !aborted_; ++k) {
    const std::optional<Run> over = state_.worst();
    if (!over || !relieve_at(*over, 1 + random_.below(4))) return;
    aborted_ = state_.cost() > cost_limit_;
  }
}

/// Drops one of a few random values that are live but idle there: the one that helps most.
bool Annealer::relieve_at(Run over, std::uint64_t samples) {
  const std::size_t mark = changes_.size();
  const double before = energy();
  double best_change = std::numeric_limits<double>::infinity();
  std::vector<Change> best;
  for_random_drops(over, samples, [&](std::uint32_t /*tensor*/, Run again) {
    start_recompute(again, kMostOpsAMove);
    if (const double change = energy() - before; !aborted_ && change < best_change) {
      best_change = change;
      best.assign(changes_.begin() + static_cast<std::ptrdiff_t>(mark), changes_.end());
    }
    aborted_ = false;
    undo_to(mark);
  });
  for (const Change& change : best) {
    if (change.inserted) {
      insert(change.run);
    } else {
      erase(change.run);
    }
  }
  return !best.empty();
}

bool Annealer::start_recompute(Run run, std::uint64_t most_ops) {
  ops_left_ = 1 + random_.below(most_ops);
  const double lazy = random_.share();
  recompute(run, 1 - lazy * lazy);
  return true;
}

void Annealer::recompute(Run run, double eagerness) {
  if (ops_left_ == 0) return;
  --ops_left_;
  if (state_.cost() + graph_.cost[run.op()] > cost_limit_) {
    aborted_ = true;
    return;
  }
  const std::size_t first = extensions_.size();
  for (const std::uint32_t tensor : graph_.inputs[run.op()]) {
    const std::uint32_t op = graph_.producer[tensor];
    if (!graph_.recomputable[op] || state_.used_after(tensor, run)) continue;
    const Run touched = state_.touch_before(tensor, run);
    if (touched.stage() < run.stage())
      extensions_.push_back({op, state_.cost_of_keeping(tensor, touched, run)});
  }
  insert(run);
  while (extensions_.size() > first) {
    const Extension extension = extensions_.back();
    extensions_.pop_back();
    const Run again{run.stage(), extension.op};
    if (aborted_ || state_.contains(again)) continue;
    const bool expensive =
        extension.overflow * price_ > graph_.cost[extension.op] * (0.2 + 2 * random_.share());
    if (random_.share() < eagerness * (expensive ? 1.0 : 0.1)) recompute(again, eagerness);
  }
}

void Annealer::remove_with_feeders(Run run) {
  erase(run);
  for (const std::uint32_t tensor : graph_.inputs[run.op()]) {
    const Run feeder = state_.run_before(graph_.producer[tensor], run);
    if (!feeder.first() && state_.useless(feeder)) remove_with_feeders(feeder);
  }
}

bool Annealer::is_input(std::uint32_t tensor, std::uint32_t op) const {
  const auto inputs = graph_.inputs[op];
  return std::find(inputs.begin(), inputs.end(), tensor) != inputs.end();
}

void Annealer::insert(Run run) {
  state_.insert(run);
  changes_.push_back({run, true});
}

void Annealer::erase(Run run) {
  state_.erase(run);
  changes_.push_back({run, false});
}

void Annealer::undo_to(std::size_t mark) {
  while (changes_.size() > mark) {
    const Change change = changes_.back();
    changes_.pop_back();
    if (change.inserted) {
      state_.erase(change.run);
    } else {
      state_.insert(change.run);
    }
  }
}

void Annealer::record() {
  if (state_.cost() >= best_cost_ || state_.overflow() > 0) return;
  best_cost_ = state_.cost();
  best_.assign(state_.all().begin(), state_.all().end());
}

}  // namespace checkmate
