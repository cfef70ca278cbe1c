#include "solve/least_peak/eviction.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/random.h"

namespace checkmate {
namespace {

constexpr std::uint32_t kNever = UINT32_MAX;

class Evicting {
 public:
  Evicting(const SearchContext& search, const Lifetimes& graph, std::int64_t room,
           const EvictionWeights& weights, std::size_t most_steps)
      : search_(search),
        graph_(graph),
        room_(room),
        weights_(weights),
        most_steps_(most_steps),
        random_(weights.seed),
        values_(graph.bytes.size()) {
    find_last_needs();
    for (Value& value : values_) value.luck = weights.luck * random_.share();
  }

  std::optional<std::vector<OpId>> run() {
    for (stage_ = 0; stage_ < graph_.ops; ++stage_) {
      if (search_.stopped()) return std::nullopt;
      look_ahead();
      if (!run_op(stage_)) return std::nullopt;
    }
    return std::move(steps_);
  }

 private:
  struct Value {
    bool there = false;
    bool lost = false;              // it could not be made again
    bool in_use = false;            // by the op that runs now
    std::uint32_t waiting = 0;      // how many ops have it as an input and wait for others
    std::uint32_t needed = kNever;  // the stage that needs it next, itself or for what is missing then
    double cost = 0;                // of making it again
    double luck = 0;
    std::size_t place = 0;  // in there_
  };

  /// The last stage in which the tensor, or anything made from it, can be read.
  void find_last_needs() {
    last_need_.assign(values_.size(), 0);
    for (std::uint32_t op = graph_.real_ops; op-- > 0;) {
      for (const std::uint32_t tensor : graph_.outputs[op]) {
        for (const std::uint32_t user : graph_.users[tensor]) {
          std::uint32_t& last = last_need_[tensor];
          last = std::max(last, user);
          if (user == graph_.end() || !graph_.recomputable[user]) continue;
          for (const std::uint32_t output : graph_.outputs[user]) last = std::max(last, last_need_[output]);
        }
      }
    }
  }

  /// Whether op `user` has yet to run for the first time.
  bool to_come(std::uint32_t user) const { return user >= stage_; }

  /// Exact at the beginning of a stage. Within a stage, only needs that arise are followed.
  void look_ahead() {
    for (std::uint32_t op = graph_.real_ops; op-- > 0;) {
      for (const std::uint32_t tensor : graph_.outputs[op]) values_[tensor].needed = next_need(tensor);
    }
    for (std::uint32_t op = 0; op < std::min(stage_, graph_.real_ops); ++op) {
      const auto [cost, lost] = again(op);
      for (const std::uint32_t tensor : graph_.outputs[op]) {
        values_[tensor].cost = cost;
        values_[tensor].lost = lost;
      }
    }
  }

  std::uint32_t next_need(std::uint32_t tensor) const {
    std::uint32_t next = kNever;
    for (const std::uint32_t user : graph_.users[tensor]) {
      if (to_come(user)) {
        next = std::min(next, user);
        continue;
      }
      for (const std::uint32_t output : graph_.outputs[user]) {
        if (!values_[output].there) next = std::min(next, values_[output].needed);
      }
    }
    return next;
  }

  /// The cost of running the op again, with a share of what would have to be run before it; and whether that
  /// is impossible.
  std::pair<double, bool> again(std::uint32_t op) const {
    auto cost = static_cast<double>(graph_.cost[op]) + 1;
    bool lost = !graph_.recomputable[op];
    for (const std::uint32_t tensor : graph_.inputs[op]) {
      const Value& input = values_[tensor];
      if (input.there) continue;
      lost |= input.lost;
      const auto users = graph_.users[tensor];
      const auto readers = std::lower_bound(users.begin(), users.end(), stage_) - users.begin();
      cost += input.cost / static_cast<double>(std::max<std::ptrdiff_t>(readers, 1));
    }
    return {cost, lost};
  }

  /// The missing tensor is needed at that stage, and so is what it is made from.
  void need(std::uint32_t tensor, std::uint32_t stage) {
    pending_.assign(1, tensor);
    while (!pending_.empty()) {
      const std::uint32_t missing = pending_.back();
      pending_.pop_back();
      for (const std::uint32_t input : graph_.inputs[graph_.producer[missing]]) {
        if (values_[input].needed <= stage) continue;
        values_[input].needed = stage;
        if (!values_[input].there) pending_.push_back(input);
      }
    }
  }

  void come(std::uint32_t tensor) {
    Value& value = values_[tensor];
    if (value.there) return;
    value.there = true;
    value.place = there_.size();
    there_.push_back(tensor);
    memory_ += graph_.bytes[tensor];
  }

  void go(std::uint32_t tensor) {
    Value& value = values_[tensor];
    value.there = false;
    there_[value.place] = there_.back();
    values_[there_.back()].place = value.place;
    there_.pop_back();
    memory_ -= graph_.bytes[tensor];
    if (value.lost) return look_ahead();  // what was made from it may be lost as well
    if (value.waiting > 0) value.needed = std::min(value.needed, stage_);
    if (value.needed != kNever) need(tensor, value.needed);
  }

  /// The smaller, the sooner it goes.
  double worth(std::uint32_t tensor) const {
    constexpr double kWaiting = 1e6;  // after all others
    const Value& value = values_[tensor];
    const double distance = 1.0 + std::max(value.needed, stage_) - stage_;
    return weights_.cost * std::log(value.cost) -
           weights_.bytes * std::log(static_cast<double>(graph_.bytes[tensor])) -
           weights_.distance * std::log(distance) + value.luck + (value.waiting > 0 ? kWaiting : 0);
  }

  /// What runs once and is small stays as long as anything can be made from it: with it goes the freedom to
  /// make that again.
  bool stays(std::uint32_t tensor) const {
    constexpr std::int64_t kSmall = 256;  // of them fill the room
    return values_[tensor].lost && graph_.bytes[tensor] < room_ / kSmall && last_need_[tensor] >= stage_;
  }

  std::optional<std::uint32_t> first_to_go() const {
    std::optional<std::uint32_t> first;
    double least = std::numeric_limits<double>::infinity();
    for (const std::uint32_t tensor : there_) {
      const Value& value = values_[tensor];
      if (value.in_use || (value.waiting > 0 && !weights_.waiting_may_go)) continue;
      if (value.needed == kNever && value.waiting == 0 && !stays(tensor)) return tensor;
      if (value.lost || graph_.bytes[tensor] == 0) continue;
      if (const double worth = this->worth(tensor); worth < least) {
        least = worth;
        first = tensor;
      }
    }
    return first;
  }

  bool make_room(std::int64_t bytes) {
    while (memory_ + bytes > room_) {
      const std::optional<std::uint32_t> first = first_to_go();
      if (!first) return false;
      go(*first);
    }
    return true;
  }

  std::optional<std::uint32_t> most_expensive_missing(std::uint32_t op) const {
    std::optional<std::uint32_t> most;
    for (const std::uint32_t input : graph_.inputs[op]) {
      if (!values_[input].there && (!most || values_[input].cost > values_[*most].cost)) most = input;
    }
    return most;
  }

  /// Runs the op, and before it what makes its missing inputs. As deep as the longest way in the graph.
  bool run_op(std::uint32_t op) {
    for (const std::uint32_t input : graph_.inputs[op]) ++values_[input].waiting;
    bool made = true;
    for (auto missing = most_expensive_missing(op); made && missing; missing = most_expensive_missing(op)) {
      const std::uint32_t producer = graph_.producer[*missing];
      made = graph_.recomputable[producer] && steps_.size() < most_steps_ && run_op(producer);
    }
    if (made && op < graph_.real_ops) made = run_with_inputs(op);
    for (const std::uint32_t input : graph_.inputs[op]) --values_[input].waiting;
    return made;
  }

  bool run_with_inputs(std::uint32_t op) {
    set_in_use(op, true);
    std::int64_t bytes = graph_.workspace[op];
    for (const std::uint32_t output : graph_.outputs[op])
      bytes += values_[output].there ? 0 : graph_.bytes[output];
    const bool fits = make_room(bytes);
    if (fits) {
      for (const std::uint32_t output : graph_.outputs[op]) come(output);
      steps_.push_back(OpId{op});
    }
    set_in_use(op, false);
    return fits;
  }

  void set_in_use(std::uint32_t op, bool in_use) {
    for (const std::uint32_t input : graph_.inputs[op]) values_[input].in_use = in_use;
    for (const std::uint32_t output : graph_.outputs[op]) values_[output].in_use = in_use;
  }

  const SearchContext& search_;
  const Lifetimes& graph_;
  std::int64_t room_;
  EvictionWeights weights_;
  std::size_t most_steps_;
  Random random_;
  std::vector<Value> values_;             // by tensor
  std::vector<std::uint32_t> last_need_;  // by tensor
  std::vector<std::uint32_t> there_;
  std::vector<std::uint32_t> pending_;
  std::int64_t memory_ = 0;
  std::uint32_t stage_ = 0;
  std::vector<OpId> steps_;
};

}  // namespace

std::optional<std::vector<OpId>> evicting_run(const SearchContext& search, const Lifetimes& graph,
                                              std::int64_t room, const EvictionWeights& weights,
                                              std::size_t most_steps) {
  return Evicting(search, graph, room, weights, most_steps).run();
}

}  // namespace checkmate
