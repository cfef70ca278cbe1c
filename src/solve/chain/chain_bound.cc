#include "solve/chain/chain_bound.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <queue>
#include <vector>

namespace checkmate {
namespace {

constexpr std::uint32_t kMostLayers = 63;
/// Ways cost at most layers^2 times as much, which must not pass 2^63.
constexpr Cost kMostCost{std::int64_t{1} << 50};
using Mask = std::uint64_t;

Mask bit(std::uint32_t layer) { return Mask{1} << layer; }

/// The graph as the header wants it. Layers count from 0; the loss is not one of them.
struct Chain {
  std::vector<std::int64_t> bytes, cost, workspace;  // by layer
  struct Gradient {
    Mask reads = 0;
    std::int64_t own = 0;    // itself, the gradient before and its workspace
    std::int64_t least = 0;  // of the gradients before, in memory until it runs
    Mask useful = 0;         // what it or a later one reads, and what that is made from
  };
  std::vector<Gradient> gradients;
  bool lazy = true;  // see WayBack
};

/// The producers of what the op reads, resident tensors aside.
std::vector<std::uint32_t> read_ops(const Graph& graph, OpId op) {
  std::vector<std::uint32_t> makers;
  for (const TensorId tensor : graph.inputs(op)) {
    if (!graph.resident(tensor)) makers.push_back(graph.producer(tensor)->value);
  }
  return makers;
}

/// Nothing when the op reads something else than layers and the op before it.
std::optional<Chain::Gradient> gradient_of(const Graph& graph, OpId op, std::uint32_t layers) {
  Chain::Gradient gradient{.own = (graph.bytes(graph.outputs(op)[0]) + graph.workspace(op)).count()};
  bool follows = false;
  for (const std::uint32_t maker : read_ops(graph, op)) {
    if (maker < layers) {
      gradient.reads |= bit(maker);
    } else if (maker + 1 == op.value) {
      follows = true;
      gradient.own += graph.bytes(graph.outputs(OpId{maker})[0]).count();
    } else {
      return std::nullopt;
    }
  }
  return follows ? std::optional(gradient) : std::nullopt;
}

/// The loss is the last of the ops that read just the one before them.
std::uint32_t find_loss(const Graph& graph) {
  std::uint32_t loss = 0;
  while (loss + 1 < graph.op_count() && read_ops(graph, OpId{loss + 1}) == std::vector{loss}) ++loss;
  return loss;
}

std::optional<Chain> chain_of(const Graph& graph) {
  const std::uint32_t layers = find_loss(graph);
  if (layers == 0 || layers > kMostLayers || layers + 1 == graph.op_count()) return std::nullopt;
  if (graph.keep_all_cost() > kMostCost) return std::nullopt;
  Chain chain;
  std::int64_t least = INT64_MAX;
  for (const OpId op : graph.ops()) {
    const TensorId made = graph.outputs(op)[0];
    if (graph.outputs(op).size() != 1 || !graph.recomputable(op) || graph.output(made)) return std::nullopt;
    const std::int64_t bytes = graph.bytes(made).count();
    if (op.value < layers) {
      chain.lazy &= (op.value == 0 || bytes == chain.bytes.front()) && graph.workspace(op) == Bytes{0};
      chain.bytes.push_back(bytes);
      chain.cost.push_back(graph.cost(op).count());
      chain.workspace.push_back(graph.workspace(op).count());
      continue;
    }
    if (op.value > layers) {
      std::optional<Chain::Gradient> gradient = gradient_of(graph, op, layers);
      if (!gradient) return std::nullopt;
      gradient->least = least;
      chain.gradients.push_back(*gradient);
      chain.lazy &= bytes >= chain.bytes.front();
    }
    least = std::min(least, bytes);
  }
  Mask reads = 0;
  for (std::size_t i = chain.gradients.size(); i-- > 0;) {
    reads |= chain.gradients[i].reads;
    chain.gradients[i].useful = reads == 0 ? 0 : (std::bit_floor(reads) << 1) - 1;
  }
  return chain;
}

/// Just before a gradient, or on the way to it.
struct State {
  static constexpr std::uint32_t kFree = UINT32_MAX;
  Mask live = 0;
  std::int64_t unnamed = 0;      // bytes of values from before the first gradient that are not named yet
  std::uint32_t next = 0;        // gradient
  std::uint32_t forced = kFree;  // the layer that has to run now
  bool operator==(const State&) const = default;
};

/// The least cost at which each state was reached. Open addressing, for millions of them.
class Reached {
 public:
  void clear() {
    records_.clear();
    slots_.assign(1024, kNone);
  }
  std::size_t size() const { return records_.size(); }
  std::int64_t cost(const State& state) { return records_[slot_of(state)].cost; }
  /// Whether that is cheaper than before.
  bool lower(const State& state, std::int64_t cost) {
    std::uint32_t& slot = slot_of(state);
    if (slot != kNone) {
      std::int64_t& known = records_[slot].cost;
      if (known <= cost) return false;
      known = cost;
      return true;
    }
    slot = static_cast<std::uint32_t>(records_.size());
    records_.push_back({state, cost});
    if (records_.size() * 2 > slots_.size()) grow();
    return true;
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Record {
    State state;
    std::int64_t cost;
  };

  std::uint32_t& slot_of(const State& state) {
    std::uint64_t hash = state.live * 0x9e3779b97f4a7c15;
    hash = (hash ^ hash >> 32 ^ static_cast<std::uint64_t>(state.unnamed)) * 0xbf58476d1ce4e5b9;
    hash = (hash ^ hash >> 31 ^ state.next ^ std::uint64_t{state.forced} << 32) * 0x94d049bb133111eb;
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = (hash ^ hash >> 29) & mask;
    while (slots_[slot] != kNone && records_[slots_[slot]].state != state) slot = (slot + 1) & mask;
    return slots_[slot];
  }
  void grow() {
    slots_.assign(slots_.size() * 2, kNone);
    for (std::uint32_t i = 0; i < records_.size(); ++i) slot_of(records_[i].state) = i;
  }

  std::vector<Record> records_;
  std::vector<std::uint32_t> slots_;
};

/// The search of the header. On a lazy chain, where the layers' values are of one size, without workspace,
/// and no gradient is smaller, a value may as well be made just before its first use: until then its input is
/// kept in its place, and while it is made the input takes no more than what its user makes. So a layer that
/// the next gradient does not read is followed by the layer after it.
class WayBack {
 public:
  WayBack(const SearchContext& search, Chain chain, std::int64_t memory, std::size_t most_states)
      : search_(search),
        chain_(std::move(chain)),
        memory_(memory),
        most_states_(most_states),
        rest_(chain_.gradients.size() + 1),
        all_take_memory_(std::count(chain_.bytes.begin(), chain_.bytes.end(), 0) == 0) {}

  /// A lower bound on the cost of the forward runs after the loss.
  std::int64_t run() {
    for (std::size_t first = chain_.gradients.size(); first-- > 0;) {
      rest_[first] = rest_[first + 1];
      rest_[first] = least_from(static_cast<std::uint32_t>(first));
    }
    return rest_[0];
  }

 private:
  struct Entry {
    std::int64_t bound;
    std::int64_t cost;
    State state;
    bool operator<(const Entry& other) const {  // the largest is taken first
      return bound != other.bound ? bound > other.bound : state.next < other.state.next;
    }
  };

  std::int64_t bytes_of(Mask values) const {
    std::int64_t bytes = 0;
    for (; values != 0; values &= values - 1)
      bytes += chain_.bytes[static_cast<std::size_t>(std::countr_zero(values))];
    return bytes;
  }

  std::int64_t least_from(std::uint32_t first) {
    reached_.clear();
    queue_ = {};
    reach({.live = 0, .unnamed = memory_ - chain_.gradients[first].least, .next = first}, 0);
    std::int64_t proven = rest_[first];
    while (!queue_.empty()) {
      const Entry entry = queue_.top();
      queue_.pop();
      if (entry.cost > reached_.cost(entry.state)) continue;
      proven = std::max(proven, entry.bound);
      if (entry.state.next == chain_.gradients.size()) return proven;
      leave(entry.state, entry.cost);
      if (enough()) return proven;
    }
    return proven;
  }

  /// What the gradients up to some later one miss has to run before it, but for what the unnamed bytes hold;
  /// the rest costs what it costs at least.
  std::int64_t bound_of(const State& state) const {
    std::int64_t bound = rest_[state.next];
    Mask known = state.live;
    std::int64_t cost = 0;
    double highest = 0;  // per byte
    for (std::size_t next = state.next; next < chain_.gradients.size(); ++next) {
      for (Mask more = chain_.gradients[next].reads & ~known; more != 0; more &= more - 1) {
        // With nothing unnamed, all that a missing value is made from has to run as well.
        for (auto layer = static_cast<std::uint32_t>(std::countr_zero(more)); (known & bit(layer)) == 0;
             --layer) {
          known |= bit(layer);
          if (chain_.bytes[layer] > 0) {
            cost += chain_.cost[layer];
            highest = std::max(
                highest, static_cast<double>(chain_.cost[layer]) / static_cast<double>(chain_.bytes[layer]));
          }
          if (state.unnamed > 0 || layer == 0 || !all_take_memory_) break;
        }
      }
      // Rounded up beyond any doubt: it is taken off.
      const double held = std::ceil(highest * static_cast<double>(state.unnamed) * (1 + 1e-12));
      const std::int64_t left =
          held >= static_cast<double>(cost) ? 0 : cost - static_cast<std::int64_t>(held);
      bound = std::max(bound, left + rest_[next + 1]);
    }
    return bound;
  }

  void reach(const State& state, std::int64_t cost) {
    if (reached_.lower(state, cost)) queue_.push({cost + bound_of(state), cost, state});
  }

  /// Whether the search must end, even in the middle of a step.
  bool enough() {
    if (++polls_ % 256 == 0) stopped_ = stopped_ || search_.stopped();
    return stopped_ || reached_.size() >= most_states_;
  }

  /// `wanted` is live from here on, and `beside` bytes are taken. Every way to make room: of the other values
  /// some go, and of the unnamed bytes as many as are then in the way.
  template <class Reach>
  void make_room(Mask live, Mask wanted, std::int64_t unnamed, std::int64_t beside, const Reach& reached) {
    const std::int64_t room = memory_ - beside - bytes_of(wanted);
    if (room < 0) return;
    drop_some(live & ~wanted, live & ~wanted, unnamed, room, reached, wanted);
  }
  template <class Reach>
  void drop_some(Mask kept, Mask droppable, std::int64_t unnamed, std::int64_t room, const Reach& reached,
                 Mask wanted) {
    if (enough()) return;
    const std::int64_t left = room - bytes_of(kept);
    if (left >= 0) reached(kept | wanted, std::min(unnamed, left));
    if (left >= unnamed) return;
    // Each set of dropped values once: after one only earlier ones.
    for (Mask rest = droppable; rest != 0; rest &= rest - 1) {
      const Mask one = rest & -rest;
      drop_some(kept & ~one, droppable & (one - 1), unnamed, room, reached, wanted);
    }
  }

  void leave(const State& state, std::int64_t cost) {
    const Chain::Gradient& gradient = chain_.gradients[state.next];
    if (state.forced != State::kFree) {
      run_layer(state, cost, state.forced);
      return;
    }
    run_gradient(state, cost);
    for (Mask rest = gradient.useful & ~state.live; rest != 0; rest &= rest - 1)
      run_layer(state, cost, static_cast<std::uint32_t>(std::countr_zero(rest)));
  }

  void run_gradient(const State& state, std::int64_t cost) {
    const Chain::Gradient& gradient = chain_.gradients[state.next];
    const auto named = name(state, gradient.reads);
    if (!named) return;
    const std::uint32_t next = state.next + 1;
    const Mask useful = next < chain_.gradients.size() ? chain_.gradients[next].useful : 0;
    make_room(state.live | gradient.reads, gradient.reads, *named, gradient.own,
              [&](Mask live, std::int64_t unnamed) {
                reach({.live = live & useful, .unnamed = useful == 0 ? 0 : unnamed, .next = next}, cost);
              });
  }

  void run_layer(const State& state, std::int64_t cost, std::uint32_t layer) {
    const Chain::Gradient& gradient = chain_.gradients[state.next];
    const Mask input = layer == 0 ? 0 : bit(layer - 1);
    const auto named = name(state, input);
    if (!named) return;
    State after{.next = state.next};
    if (chain_.lazy && (gradient.reads & bit(layer)) == 0) {
      after.forced = layer + 1;
      if (((state.live | ~gradient.useful) & bit(after.forced)) != 0) return;
    }
    make_room(state.live | input | bit(layer), input | bit(layer), *named,
              gradient.least + chain_.workspace[layer], [&](Mask live, std::int64_t unnamed) {
                after.live = live;
                after.unnamed = unnamed;
                reach(after, cost + chain_.cost[layer]);
              });
  }

  /// The unnamed bytes that are left when the values that are not live are named; nothing when they are too
  /// few.
  std::optional<std::int64_t> name(const State& state, Mask values) const {
    const std::int64_t left = state.unnamed - bytes_of(values & ~state.live);
    return left < 0 ? std::nullopt : std::optional(left);
  }

  const SearchContext& search_;
  Chain chain_;
  std::int64_t memory_;
  std::size_t most_states_;
  std::vector<std::int64_t> rest_;  // by gradient: from it on, at least
  bool all_take_memory_;
  Reached reached_;
  std::priority_queue<Entry> queue_;
  std::uint64_t polls_ = 0;
  bool stopped_ = false;
};

}  // namespace

std::optional<Cost> chain_bound(const SearchContext& search, std::size_t most_states) {
  std::optional<Chain> chain = chain_of(search.graph);
  if (!chain) return std::nullopt;
  const std::int64_t memory = (search.options.budget - search.graph.fixed_bytes()).count();
  return search.graph.keep_all_cost() + Cost{WayBack(search, std::move(*chain), memory, most_states).run()};
}

}  // namespace checkmate
