#include "solve/free_order/instance_moves.h"

#include <algorithm>
#include <cmath>

namespace checkmate {
namespace {

constexpr double kConeShare = 0.2;  // of the changes of order
constexpr double kLargestWindow = 300;
constexpr std::size_t kLargestCone = 40;
constexpr std::size_t kMostMade = 40;       // by one split, in addition to the op itself
constexpr std::size_t kMostRunsPerOp = 16;  // on average

}  // namespace

bool InstanceMoves::try_order(double limit) {
  return random_.share() < kConeShare ? move_cone(limit) : relocate(limit);
}

bool InstanceMoves::relocate(double limit) {
  const auto from = static_cast<Position>(random_.below(state_.size()));
  const Instance instance = state_.at(from);
  const Instances::Room room = state_.room(instance);
  if (room.first >= room.last) return false;
  Position to = from;
  const double kind = random_.share();
  if (kind < 0.5) {
    const auto distance = static_cast<std::uint32_t>(1 + random_.below(1 + random_.below(30)));
    to = random_.one_in(2) ? from - std::min(distance, from - room.first)
                           : from + std::min(distance, room.last - from);
  } else if (kind < 0.7) {
    to = random_.one_in(2) ? room.first : room.last;
  } else {
    to = static_cast<Position>(random_.between(room.first, room.last));
  }
  return to != from && state_.relocate(instance, to, limit);
}

/// Moves an instance with its descendants in a window behind the rest of it, or with its ancestors to its
/// front: always legal, and the only way to move a group whose members hold each other back one by one.
bool InstanceMoves::move_cone(double limit) {
  const std::uint32_t size = state_.size();
  const double widest = std::max(1.0, std::min(size / 2.0, kLargestWindow));
  const auto from = static_cast<Position>(random_.below(size));
  const std::uint32_t window = 2 + static_cast<std::uint32_t>(std::pow(widest, random_.share()));
  const bool down = random_.one_in(2);
  const std::size_t most = 3 + random_.below(kLargestCone);
  ahead_.clear();
  behind_.clear();
  ++mark_;
  return down ? move_descendants(from, window, most, limit) : move_ancestors(from, window, most, limit);
}

bool InstanceMoves::move_descendants(Position from, std::uint32_t window, std::size_t most, double limit) {
  const Position end = std::min(state_.size(), from + window + 1);
  marks_.resize(std::max(marks_.size(), state_.instance_count()));
  for (Position i = from; i < end; ++i) {
    const Instance instance = state_.at(i);
    if (i > from && !reads_marked(instance)) {
      ahead_.push_back(instance);
      continue;
    }
    if (behind_.size() == most) break;
    marks_[instance] = mark_;
    behind_.push_back(instance);
  }
  if (ahead_.empty()) return false;
  ahead_.insert(ahead_.end(), behind_.begin(), behind_.end());
  return state_.reorder(from, ahead_, limit);
}

bool InstanceMoves::move_ancestors(Position from, std::uint32_t window, std::size_t most, double limit) {
  const Position end = from - std::min(from, window);
  marks_.resize(std::max(marks_.size(), state_.instance_count()));
  // Both lists from the back.
  for (Position i = from + 1; i-- > end;) {
    const Instance instance = state_.at(i);
    if (i < from && !read_by_marked(instance)) {
      behind_.push_back(instance);
      continue;
    }
    if (ahead_.size() == most) break;
    marks_[instance] = mark_;
    ahead_.push_back(instance);
  }
  if (behind_.empty()) return false;
  behind_.insert(behind_.end(), ahead_.begin(), ahead_.end());
  std::reverse(behind_.begin(), behind_.end());
  return state_.reorder(from + 1 - static_cast<std::uint32_t>(behind_.size()), behind_, limit);
}

bool InstanceMoves::reads_marked(Instance instance) const {
  const std::span<const Value> inputs = state_.inputs(instance);
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](Value input) { return marks_[state_.maker(input)] == mark_; });
}

bool InstanceMoves::read_by_marked(Instance instance) const {
  const Value first = state_.first_value(instance);
  for (Value value = first; value < first + state_.value_count(instance); ++value) {
    for (const Instance consumer : state_.consumers(value))
      if (marks_[consumer] == mark_) return true;
  }
  return false;
}

bool InstanceMoves::change_runs(double price, double cost_limit) {
  price_ = price;
  cost_limit_ = cost_limit;
  const double kind = random_.share();
  only_split_ = kind < 0.92;
  if (kind < 0.12 && !state_.fits()) return repair();
  if (kind < 0.50) return remove_some();
  if (kind < 0.80) return split_some(false);
  if (kind < 0.92) return split_some(true);
  return swap();
}

bool InstanceMoves::remove_some() {
  const std::span<const std::uint32_t> repeated = state_.repeated();
  if (repeated.empty()) return false;
  const std::span<const Instance> runs = state_.runs(repeated[random_.below(repeated.size())]);
  // The first run is there for those who read it before the second.
  const auto first = std::min_element(runs.begin(), runs.end(), [&](Instance a, Instance b) {
    return state_.position(a) < state_.position(b);
  });
  const auto after_first = 1 + random_.below(runs.size() - 1);
  return remove(runs[(static_cast<std::size_t>(first - runs.begin()) + after_first) % runs.size()]);
}

/// Whoever reads the instance reads the run before it instead; what only it has read goes, too.
bool InstanceMoves::remove(Instance instance) {
  const std::uint32_t op = state_.op(instance);
  if (state_.runs(op).size() < 2) return false;
  for (std::uint32_t slot = 0; slot < state_.value_count(instance); ++slot) {
    const Value value = state_.first_value(instance) + slot;
    while (!state_.consumers(value).empty()) {
      const Instance consumer = state_.consumers(value).back();
      Instance other = Instances::kNobody;
      for (const Instance run : state_.runs(op)) {
        if (run == instance || state_.position(run) > state_.position(consumer)) continue;
        if (other == Instances::kNobody || state_.position(run) > state_.position(other)) other = run;
      }
      if (other == Instances::kNobody) return false;
      state_.rebind(consumer, state_.input_of(consumer, value), state_.first_value(other) + slot);
    }
  }
  // Its inputs outlive it: an erased instance keeps its number and what it read.
  state_.erase(instance);
  for (std::size_t i = 0; i < state_.inputs(instance).size(); ++i)
    remove_if_unread(state_.maker(state_.inputs(instance)[i]));
  return true;
}

void InstanceMoves::remove_if_unread(Instance instance) {
  if (state_.placed(instance) && !state_.read(instance)) remove(instance);
}

bool InstanceMoves::split_some(bool anywhere) {
  // The end, too, reads.
  const auto consumer = state_.at(static_cast<Position>(random_.below(state_.size() + 1ULL)));
  const std::span<const Value> inputs = state_.inputs(consumer);
  if (inputs.empty()) return false;
  return split({inputs[random_.below(inputs.size())], consumer}, anywhere);
}

/// Makes the value again for the consumer and all after it: right before it or, anywhere, at some point
/// after the use before.
bool InstanceMoves::split(const Use& use, bool anywhere) {
  const Instance source = state_.maker(use.value);
  if (!graph_.recomputable[state_.op(source)]) return false;
  const Position here = state_.position(use.consumer);
  Position before = state_.position(source);
  for (const Instance consumer : state_.consumers(use.value)) {
    const Position position = state_.position(consumer);
    if (position < here && position > before) before = position;
  }
  if (here - before < 2) return false;
  inputs_left_ = random_.below(kMostMade);
  appetite_ = 1 - std::pow(random_.share(), 2);
  needs_.clear();
  const Position place = anywhere ? static_cast<Position>(random_.between(before + 1, here)) : here;
  // All that a split can bring is room between here and the use before, unless the source goes for it.
  make_limit_ = cost_limit_;
  if (only_split_ && before > state_.position(source) && state_.value_count(source) == 1)
    make_limit_ -= price_ * (state_.overflow() - state_.relief(use.value, before + 1, place));
  const Instance made = make(state_.op(source), place);
  if (made == Instances::kNobody) return false;
  hand_over(source, made);
  remove_if_unread(source);
  return true;
}

/// Whoever reads `from` after `to` has run reads `to`.
void InstanceMoves::hand_over(Instance from, Instance to) {
  for (std::uint32_t slot = 0; slot < state_.value_count(from); ++slot) {
    const Value value = state_.first_value(from) + slot;
    for (std::size_t i = state_.consumers(value).size(); i-- > 0;) {
      const Instance consumer = state_.consumers(value)[i];
      if (state_.position(consumer) < state_.position(to)) continue;
      state_.rebind(consumer, state_.input_of(consumer, value), state_.first_value(to) + slot);
    }
  }
}

/// Runs the op at the position. For each input that is not there any more, keeping it until then is weighed
/// against making it again, in the same way.
InstanceMoves::Instance InstanceMoves::make(std::uint32_t op, Position position) {
  const auto inputs = graph_.inputs[op];
  if (state_.cost() + graph_.cost[op] > make_limit_) return Instances::kNobody;
  if (state_.size() > kMostRunsPerOp * graph_.cost.size()) return Instances::kNobody;
  const std::size_t first_need = needs_.size();
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(inputs.size()); ++i) {
    const std::uint32_t tensor = inputs[i];
    const Instance source = state_.latest_before(graph_.producer[tensor], position);
    if (source == Instances::kNobody) return Instances::kNobody;
    const Value value = state_.first_value(source) + graph_.slot[tensor];
    if (graph_.recomputable[graph_.producer[tensor]] && state_.last_use(value) < position)
      needs_.push_back({i, source, state_.extension_overflow(value, position)});
  }
  const Instance made = state_.insert(op, position);
  for (; needs_.size() > first_need; needs_.pop_back())
    if (!remake_input(made, Need(needs_.back()))) return Instances::kNobody;
  return made;
}

bool InstanceMoves::remake_input(Instance instance, const Need& need) {
  const Instance source = need.source;
  // Another output of the same op may have brought it along.
  if (state_.maker(state_.inputs(instance)[need.input]) != source) return true;
  const double cost = graph_.cost[state_.op(source)];
  const bool worth_it = need.overflow * price_ > cost * (0.2 + 2 * random_.share());
  if (random_.share() >= (worth_it ? appetite_ : 0.1 * appetite_) || inputs_left_ == 0) return true;
  --inputs_left_;
  const Instance made = make(state_.op(source), state_.position(instance));
  if (made == Instances::kNobody) return false;
  hand_over(source, made);
  remove_if_unread(source);
  return true;
}

bool InstanceMoves::repair() {
  const Position position = random_.one_in(2) ? worst() : some_overfull();
  return drop_at(position, 1 + random_.below(4));
}

/// One recomputation less, and others where that is missed most.
bool InstanceMoves::swap() {
  if (!remove_some()) return false;
  const auto most = static_cast<std::uint32_t>(1 + random_.below(3));
  for (std::uint32_t i = 0; i < most && !state_.fits(); ++i)
    if (!drop_at(worst(), 1 + random_.below(4))) break;
  return true;
}

/// Frees the position of a value that it does not need: the best of a few.
bool InstanceMoves::drop_at(Position position, std::size_t most_candidates) {
  find_idle(position, most_candidates);
  if (idle_.empty()) return false;
  if (idle_.size() == 1) return split(idle_[0], false);
  const std::size_t mark = state_.mark();
  double least = INFINITY;
  std::size_t best = 0;
  Random best_random = random_;
  for (std::size_t i = 0; i < idle_.size(); ++i) {
    const Random before = random_;
    const bool done = split(idle_[i], false);
    const double score = state_.cost() + price_ * state_.overflow();
    if (done && score < least) {
      least = score;
      best = i;
      best_random = before;
    }
    state_.undo(mark);
  }
  if (least == INFINITY) return false;
  // The same draws give the same split.
  std::swap(random_, best_random);
  const bool done = split(idle_[best], false);
  std::swap(random_, best_random);
  return done;
}

/// Values that are in memory at the position only for a later reader.
void InstanceMoves::find_idle(Position position, std::size_t most) {
  idle_.clear();
  if (position == 0) return;
  for (std::size_t tries = 0; tries < 15 * most && idle_.size() < most; ++tries) {
    const Instance instance = state_.at(static_cast<Position>(random_.below(position)));
    const std::uint32_t count = state_.value_count(instance);
    const Value value =
        state_.first_value(instance) + (count == 1 ? 0 : static_cast<std::uint32_t>(random_.below(count)));
    Instance next = Instances::kNobody;
    bool used_here = false;
    for (const Instance consumer : state_.consumers(value)) {
      const Position use = state_.position(consumer);
      used_here = used_here || use == position;
      if (use > position && (next == Instances::kNobody || use < state_.position(next))) next = consumer;
    }
    if (next != Instances::kNobody && !used_here) idle_.push_back({value, next});
  }
}

InstanceMoves::Position InstanceMoves::worst() const {
  Position worst = 0;
  for (Position i = 1; i < state_.size(); ++i)
    if (state_.memory(i) > state_.memory(worst)) worst = i;
  return worst;
}

InstanceMoves::Position InstanceMoves::some_overfull() {
  const auto size = state_.size();
  const auto start = static_cast<Position>(random_.below(size));
  for (Position i = start; i < state_.size(); ++i)
    if (state_.penalty(state_.memory(i)) > 0) return i;
  for (Position i = 0; i < start; ++i)
    if (state_.penalty(state_.memory(i)) > 0) return i;
  return start;
}

}  // namespace checkmate
