#include "solve/brute/brute.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <queue>
#include <unordered_map>

// The oracle of the tests: a shortest path over what has run and what is in memory. From a state one may run
// any op whose inputs are there, at its cost, if the memory holds, or drop a tensor for nothing. Nothing is
// left out: any recomputation, any number of times, anywhere. For the paper's class of plans the state also
// knows which op the stage ran last, and goes only upwards.

namespace checkmate {
namespace {

constexpr std::size_t kMostOps = 24;
constexpr std::size_t kMostTensors = 32;
constexpr std::size_t kMostStates = 4'000'000;
constexpr std::size_t kMostStatesForPeak = 500'000;  // by then that none fits is known already

struct State {
  std::uint32_t ran = 0;     // bit per op
  std::uint32_t live = 0;    // bit per tensor that is not resident
  std::uint32_t latest = 0;  // paper's class: 1 + the op that this stage ran last, 0 at its start
  std::uint64_t key() const { return std::uint64_t{ran} << 37 | std::uint64_t{latest} << 32 | live; }
  static State of(std::uint64_t key) {
    return {static_cast<std::uint32_t>(key >> 37), static_cast<std::uint32_t>(key),
            static_cast<std::uint32_t>(key >> 32) & 31U};
  }
};

struct OpMask {
  std::uint32_t inputs = 0;
  std::uint32_t outputs = 0;
};

enum class Goal { kLeastCost, kLeastPeak };

class Oracle {
 public:
  Oracle(const SearchContext& search, bool stages, std::size_t most_states)
      : search_(search), graph_(search.graph), stages_(stages), most_states_(most_states) {
    std::vector<std::uint32_t> bit(graph_.tensor_count());
    for (const TensorId tensor : graph_.tensors()) {
      if (graph_.resident(tensor)) continue;
      bit[tensor.index()] = std::uint32_t{1} << bytes_.size();
      bytes_.push_back(graph_.bytes(tensor).count());
      if (graph_.output(tensor)) wanted_ |= bit[tensor.index()];
    }
    for (const OpId op : graph_.ops()) {
      OpMask mask;
      for (const TensorId tensor : graph_.inputs(op)) mask.inputs |= bit[tensor.index()];
      for (const TensorId tensor : graph_.outputs(op)) mask.outputs |= bit[tensor.index()];
      masks_.push_back(mask);
    }
    everything_ = static_cast<std::uint32_t>((std::uint64_t{1} << graph_.op_count()) - 1);
  }

  static bool takes(const Graph& graph) {
    const auto made = std::count_if(graph.tensors().begin(), graph.tensors().end(),
                                    [&](TensorId tensor) { return !graph.resident(tensor); });
    return graph.op_count() <= kMostOps && static_cast<std::size_t>(made) <= kMostTensors;
  }

  /// The value of the goal, or nothing when there is no plan. complete() says whether that is proven.
  std::optional<std::int64_t> search(Goal goal, std::int64_t budget) {
    goal_ = goal;
    budget_ = budget;
    reached_.clear();
    queue_ = {};
    complete_ = true;
    reach(State{}, State{}.key(), 0, kNoOp);
    while (!queue_.empty()) {
      const auto [value, key] = queue_.top();
      queue_.pop();
      if (value > reached_.at(key).value) continue;
      const State state = State::of(key);
      if (state.ran == everything_ && (state.live & wanted_) == wanted_) {
        end_ = key;
        return value;
      }
      const std::size_t most =
          goal == Goal::kLeastCost ? most_states_ : std::min(most_states_, kMostStatesForPeak);
      if (reached_.size() > most || search_.stopped()) {
        complete_ = false;
        return std::nullopt;
      }
      leave(state, value);
    }
    return std::nullopt;
  }

  bool complete() const { return complete_; }

  /// The runs on the way to the goal that search() has just found.
  std::vector<OpId> steps() const {
    std::vector<OpId> steps;
    for (std::uint64_t key = end_; key != State{}.key(); key = reached_.at(key).from) {
      const std::uint32_t op = reached_.at(key).op;
      if (op != kNoOp) steps.push_back(OpId{op});
    }
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

 private:
  static constexpr std::uint32_t kNoOp = UINT32_MAX;
  struct Reached {
    std::int64_t value;
    std::uint64_t from;
    std::uint32_t op;
  };
  using Entry = std::pair<std::int64_t, std::uint64_t>;

  std::int64_t live_bytes(std::uint32_t live) const {
    std::int64_t bytes = graph_.fixed_bytes().count();
    for (; live != 0; live &= live - 1) bytes += bytes_[static_cast<std::size_t>(std::countr_zero(live))];
    return bytes;
  }

  bool may_run(const State& state, std::uint32_t op) const {
    if ((masks_[op].inputs & ~state.live) != 0) return false;
    const bool again = (state.ran >> op & 1U) != 0;
    if (again && !graph_.recomputable(OpId{op})) return false;
    if (again) return !stages_ || (op >= state.latest && state.ran != everything_);
    return search_.options.order == Order::kFree ||
           op == static_cast<std::uint32_t>(std::popcount(state.ran));
  }

  void leave(const State& state, std::int64_t value) {
    for (std::uint32_t op = 0; op < masks_.size(); ++op) {
      if (!may_run(state, op)) continue;
      const bool first = (state.ran >> op & 1U) == 0;
      const std::uint32_t live = state.live | masks_[op].outputs;
      const std::int64_t memory = live_bytes(live) + graph_.workspace(OpId{op}).count();
      if (memory > budget_) continue;
      const State next{state.ran | std::uint32_t{1} << op, live, stages_ && !first ? op + 1 : 0};
      const std::int64_t cost = graph_.cost(OpId{op}).count();
      if (cost > INT64_MAX - value) continue;  // no plan may cost so much
      const std::int64_t next_value = goal_ == Goal::kLeastPeak ? std::max(value, memory) : value + cost;
      reach(next, state.key(), next_value, op);
    }
    for (std::uint32_t rest = state.live; rest != 0; rest &= rest - 1) {
      const State next{state.ran, state.live & ~(rest & -rest), state.latest};
      reach(next, state.key(), value, kNoOp);
    }
  }

  void reach(const State& state, std::uint64_t from, std::int64_t value, std::uint32_t op) {
    const auto [entry, added] = reached_.try_emplace(state.key(), Reached{value, from, op});
    if (!added) {
      if (entry->second.value <= value) return;
      entry->second = {value, from, op};
    }
    queue_.emplace(value, state.key());
  }

  const SearchContext& search_;
  const Graph& graph_;
  bool stages_;
  std::size_t most_states_;
  std::vector<std::int64_t> bytes_;  // per bit of State::live
  std::vector<OpMask> masks_;
  std::uint32_t wanted_ = 0;
  std::uint32_t everything_ = 0;
  Goal goal_ = Goal::kLeastCost;
  std::int64_t budget_ = 0;
  std::unordered_map<std::uint64_t, Reached> reached_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
  std::uint64_t end_ = 0;
  bool complete_ = true;
};

Outcome brute(const SearchContext& search, bool stages, std::size_t most_states) {
  if (!Oracle::takes(search.graph)) {
    return {.detail = fmt::format("brute force is limited to {} ops and {} tensors", kMostOps, kMostTensors)};
  }
  if (stages && search.options.order == Order::kFree)
    return {.detail = "plans of the paper's class keep the given order"};
  Oracle oracle(search, stages, most_states);
  const std::optional<std::int64_t> cost = oracle.search(Goal::kLeastCost, search.options.budget.count());
  if (cost) {
    Outcome outcome{.steps = oracle.steps()};
    (stages ? outcome.stage_lower_bound : outcome.lower_bound) = Cost{*cost};
    return outcome;
  }
  if (!oracle.complete()) return {.detail = "stopped early: out of time, or too many states"};
  // That none fits is proven here; how much would be needed is one more search, which may take too long.
  const std::optional<std::int64_t> least = oracle.search(Goal::kLeastPeak, INT64_MAX);
  const Bytes needed{least.value_or(search.options.budget.count() + 1)};
  // Another class of plans may still hold the budget, so only the search over all plans proves anything.
  if (stages) {
    return {.sufficient = least ? std::optional(needed) : std::nullopt,
            .detail = "no plan of the paper's class fits the budget"};
  }
  Outcome none{.sufficient = needed, .needed = needed, .detail = "proven by exhaustive search"};
  if (least) none.sufficient_steps = oracle.steps();
  return none;
}

}  // namespace

Outcome solve_brute(const SearchContext& search) { return solve_brute(search, kMostStates); }
Outcome solve_brute(const SearchContext& search, std::size_t most_states) {
  return brute(search, false, most_states);
}
Outcome solve_brute_stages(const SearchContext& search) { return brute(search, true, kMostStates); }

}  // namespace checkmate
