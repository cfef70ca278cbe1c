#include "solve/knapsack/knapsack.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "solve/common/lifetimes.h"
#include "solve/knapsack/interval_bound.h"

// Which intervals to bound is guessed on floats, with one cost and size per tensor; the guess only decides
// where IntervalBounds looks.

namespace checkmate {
namespace {

constexpr const char* kWhyInfeasible =
    "whatever is recomputed, the values that must be in memory at once need more";

/// Tensors in memory, ranked by what a byte of them costs to bring back: adds, removes, and finds what it
/// costs to drop a number of bytes, in O(log n). A Fenwick tree.
class Shelf {
 public:
  explicit Shelf(std::size_t size) : sums_(size + 1), prices_(size), top_(std::bit_floor(size)) {}

  void set_price(std::size_t rank, double cost_per_byte) { prices_[rank] = cost_per_byte; }

  void clear() {
    std::fill(sums_.begin(), sums_.end(), Sum{});
    bytes_ = 0;
  }
  void add(std::size_t rank, double bytes, double cost) {
    bytes_ += bytes;
    for (std::size_t i = rank + 1; i < sums_.size(); i += i & (~i + 1)) {
      sums_[i].bytes += bytes;
      sums_[i].cost += cost;
    }
  }
  double bytes() const { return bytes_; }
  double cost_of(double bytes) const {
    std::size_t at = 0;
    double cost = 0;
    for (std::size_t step = top_; step > 0; step /= 2) {
      if (at + step >= sums_.size() || sums_[at + step].bytes > bytes) continue;
      at += step;
      bytes -= sums_[at].bytes;
      cost += sums_[at].cost;
    }
    return at < prices_.size() ? cost + bytes * prices_[at] : cost;
  }

 private:
  struct Sum {
    double bytes = 0;
    double cost = 0;
  };
  std::vector<Sum> sums_;
  std::vector<double> prices_;  // by rank
  std::size_t top_;
  double bytes_ = 0;
};

constexpr std::size_t kNone = SIZE_MAX;

class Guesser {
 public:
  Guesser(const SearchContext& search, const Lifetimes& lifetimes)
      : search_(search),
        lifetimes_(lifetimes),
        capacity_(static_cast<double>((search.options.budget - search.graph.fixed_bytes()).count())),
        shelf_(lifetimes.bytes.size()),
        costs_(lifetimes.bytes.size()),
        ranks_(lifetimes.bytes.size()) {
    price();
    for (std::uint32_t tensor = 0; tensor < costs_.size(); ++tensor) {
      if (search.graph.output(TensorId{tensor})) wanted_.push_back(tensor);
    }
  }

  /// For each op, what must be recomputed after it.
  std::vector<double> to_the_end();
  /// Disjoint intervals between the moments, all in order, that together promise most.
  std::vector<Interval> best_chain(const std::vector<std::uint32_t>& moments);

 private:
  void price();
  void put(std::uint32_t tensor, double sign) {
    const auto bytes = static_cast<double>(lifetimes_.bytes[tensor]);
    if (bytes > 0) shelf_.add(ranks_[tensor], sign * bytes, sign * costs_[tensor]);
  }
  double excess_cost(std::uint32_t moment) const {
    const double excess = shelf_.bytes() + static_cast<double>(lifetimes_.own[moment]) - capacity_;
    return excess > 0 ? shelf_.cost_of(excess) : 0;
  }

  const SearchContext& search_;
  const Lifetimes& lifetimes_;
  double capacity_;
  Shelf shelf_;
  std::vector<double> costs_;  // per tensor
  std::vector<std::uint32_t> ranks_;
  std::vector<std::uint32_t> wanted_;  // outputs
};

/// An op's cost is split among those of its outputs that stay over the peak.
void Guesser::price() {
  const Graph& graph = search_.graph;
  const std::uint32_t peak = lifetimes_.peak();
  const std::vector<double> bring_back = costs_to_bring_back(graph, lifetimes_, peak);
  const auto total = static_cast<double>(graph.keep_all_cost().count());
  for (std::uint32_t op = 0; op < lifetimes_.op_count(); ++op) {
    const auto outputs = lifetimes_.outputs[op];
    const auto stays = [&](std::uint32_t tensor) { return lifetimes_.last_use[tensor] > peak; };
    const bool any = std::any_of(outputs.begin(), outputs.end(), stays);
    double bytes = 0;
    for (const std::uint32_t tensor : outputs) {
      if (!any || stays(tensor)) bytes += static_cast<double>(lifetimes_.bytes[tensor]);
    }
    double cost = op < peak ? bring_back[op] : static_cast<double>(lifetimes_.cost[op]);
    if (!graph.recomputable(OpId{op})) cost = total;
    for (const std::uint32_t tensor : outputs) {
      costs_[tensor] = cost * static_cast<double>(lifetimes_.bytes[tensor]) / std::max(1.0, bytes);
    }
  }
  std::vector<double> per_byte(costs_.size());
  for (std::size_t tensor = 0; tensor < costs_.size(); ++tensor) {
    per_byte[tensor] = costs_[tensor] / std::max(1.0, static_cast<double>(lifetimes_.bytes[tensor]));
  }
  std::vector<std::uint32_t> order(costs_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return per_byte[a] < per_byte[b]; });
  for (std::uint32_t rank = 0; rank < order.size(); ++rank) {
    ranks_[order[rank]] = rank;
    shelf_.set_price(rank, per_byte[order[rank]]);
  }
}

std::vector<double> Guesser::to_the_end() {
  std::vector<double> costs(lifetimes_.op_count());
  shelf_.clear();
  for (std::uint32_t op = 0; op < lifetimes_.op_count(); ++op) {
    for (const std::uint32_t tensor : lifetimes_.inputs[op]) put(tensor, -1);
    if (static_cast<double>(lifetimes_.memory[op]) > capacity_) costs[op] = excess_cost(op);
    for (const std::uint32_t tensor : lifetimes_.inputs[op]) {
      if (lifetimes_.last_use[tensor] > op) put(tensor, 1);
    }
    for (const std::uint32_t tensor : lifetimes_.outputs[op]) {
      if (lifetimes_.last_use[tensor] > op) put(tensor, 1);
    }
  }
  return costs;
}

std::vector<Interval> Guesser::best_chain(const std::vector<std::uint32_t>& moments) {
  const std::uint32_t end = lifetimes_.op_count();
  const std::size_t count = moments.size();
  struct Chain {  // up to a moment, the last one being the end
    double cost = 0;
    std::size_t from = kNone;  // where its last interval begins, if one ends here
  };
  std::vector<Chain> best(count + 1);
  std::vector<bool> taken(costs_.size());
  for (std::size_t a = 0; a <= count; ++a) {
    if (a > 0 && best[a].cost <= best[a - 1].cost) best[a] = {.cost = best[a - 1].cost};
    if (a == count || search_.stopped()) break;
    const std::uint32_t moment = moments[a];
    shelf_.clear();
    taken.assign(taken.size(), false);
    for (const std::uint32_t tensor : lifetimes_.inputs[moment]) taken[tensor] = true;
    const auto take = [&](std::uint32_t tensor) {
      if (lifetimes_.producer[tensor] >= moment || taken[tensor]) return;
      taken[tensor] = true;
      put(tensor, 1);
    };
    for (std::size_t b = a + 1; b <= count; ++b) {
      const std::uint32_t until = b < count ? moments[b] : end - 1;
      for (std::uint32_t op = moments[b - 1] + 1; op <= until; ++op) {
        for (const std::uint32_t tensor : lifetimes_.inputs[op]) take(tensor);
      }
      if (b == count) {
        for (const std::uint32_t tensor : wanted_) take(tensor);
      }
      const double cost = best[a].cost + excess_cost(moment);
      if (cost > best[b].cost) best[b] = {cost, a};
    }
  }
  std::vector<Interval> chain;
  for (std::size_t b = count; b > 0;) {
    const std::size_t a = best[b].from;
    if (a != kNone) chain.push_back({moments[a], b < count ? moments[b] : end});
    b = a != kNone ? a : b - 1;
  }
  return chain;
}

/// What must be in memory at once, whatever is dropped: at the moment of an op its own, and what ops that run
/// only once have made and is still to be used; at the end, all outputs.
std::int64_t undroppable(const Graph& graph, const Lifetimes& lifetimes) {
  std::int64_t most = 0, once = 0, outputs = 0;
  for (std::uint32_t op = 0; op < lifetimes.op_count(); ++op) {
    const auto made_once = [&](std::uint32_t tensor) {
      return !graph.recomputable(OpId{lifetimes.producer[tensor]});
    };
    std::int64_t leaving = 0;
    for (const std::uint32_t tensor : lifetimes.inputs[op]) {
      if (!made_once(tensor)) continue;
      once -= lifetimes.bytes[tensor];
      if (lifetimes.last_use[tensor] == op) leaving += lifetimes.bytes[tensor];
    }
    most = std::max(most, once + lifetimes.own[op]);
    for (const std::uint32_t tensor : lifetimes.inputs[op]) {
      if (made_once(tensor)) once += lifetimes.bytes[tensor];
    }
    once -= leaving;
    for (const std::uint32_t tensor : lifetimes.outputs[op]) {
      if (made_once(tensor) && lifetimes.last_use[tensor] > op) once += lifetimes.bytes[tensor];
      if (graph.output(TensorId{tensor})) outputs += lifetimes.bytes[tensor];
    }
  }
  return std::max(most, outputs);
}

/// Evenly among the ops over the capacity, with the most promising one among them.
std::vector<std::uint32_t> spread(const std::vector<double>& promise, std::size_t most) {
  std::vector<std::uint32_t> over;
  for (std::uint32_t op = 0; op < promise.size(); ++op) {
    if (promise[op] > 0) over.push_back(op);
  }
  if (over.size() <= most) return over;
  std::vector<std::uint32_t> moments;
  for (std::size_t i = 0; i < most; ++i) moments.push_back(over[i * over.size() / most]);
  const auto best = std::max_element(promise.begin(), promise.end()) - promise.begin();
  moments.push_back(static_cast<std::uint32_t>(best));
  std::sort(moments.begin(), moments.end());
  moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
  return moments;
}

std::vector<std::uint32_t> most_promising(const std::vector<double>& promise, std::size_t most) {
  std::vector<std::uint32_t> moments;
  for (std::uint32_t op = 0; op < promise.size(); ++op) {
    if (promise[op] > 0) moments.push_back(op);
  }
  const std::size_t count = std::min(most, moments.size());
  const auto end = moments.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(moments.begin(), end, moments.end(),
                    [&](std::uint32_t a, std::uint32_t b) { return promise[a] > promise[b]; });
  moments.erase(end, moments.end());
  return moments;
}

class Bounder {
 public:
  explicit Bounder(const SearchContext& search)
      : search_(search), lifetimes_(search.graph), intervals_(search, lifetimes_) {
    result_.bound = search.graph.keep_all_cost();
  }

  KnapsackBound run() {
    const Graph& graph = search_.graph;
    if (const Bytes least = graph.fixed_bytes() + Bytes{undroppable(graph, lifetimes_)};
        least > search_.options.budget) {
      prove_infeasible(least);
      return result_;
    }
    Guesser guesser(search_, lifetimes_);
    const std::vector<double> promise = guesser.to_the_end();
    const std::size_t size = graph.tensor_count() + graph.edge_count() + 1;
    for (const std::uint32_t moment :
         most_promising(promise, std::clamp<std::size_t>(kSingles / size, 2, 50)))
      look_at({{moment, lifetimes_.op_count()}});
    const std::vector<std::uint32_t> moments =
        spread(promise, std::clamp<std::size_t>(kMoments / size, 5, 300));
    if (!search_.stopped()) look_at(guesser.best_chain(moments));
    return result_;
  }

 private:
  // Divided by the size of the graph: how many moments are looked at, alone and for a chain of intervals.
  static constexpr std::size_t kSingles = 200'000, kMoments = 1'000'000;

  void prove_infeasible(Bytes least) {
    result_ = {.bound = search_.graph.keep_all_cost(), .infeasible = true, .least = least};
  }

  void look_at(const std::vector<Interval>& disjoint) {
    Cost cost = search_.graph.keep_all_cost();
    for (const Interval& interval : disjoint) {
      if (search_.stopped() || result_.infeasible) return;
      const IntervalBounds::Bound bound = intervals_.of(interval);
      if (bound.infeasible) return prove_infeasible(search_.graph.fixed_bytes() + Bytes{bound.least});
      cost += Cost{bound.cost};
    }
    result_.bound = std::max(result_.bound, cost);
  }

  const SearchContext& search_;
  Lifetimes lifetimes_;
  IntervalBounds intervals_;
  KnapsackBound result_;
};

}  // namespace

KnapsackBound knapsack_bound(const SearchContext& search) {
  // Where first runs may move, no op is known to come before another's first run.
  if (search.options.order == Order::kFree) return {.bound = search.graph.keep_all_cost()};
  return Bounder(search).run();
}

void raise_knapsack_bound(const SearchContext& search, Incumbent& incumbent) {
  const KnapsackBound quick = knapsack_bound(search);
  if (quick.infeasible) {
    incumbent.prove_infeasible(quick.least, kWhyInfeasible);
  } else {
    incumbent.raise_bound(quick.bound, "knapsack-bound");
  }
}

Outcome solve_knapsack_bound(const SearchContext& search) {
  if (search.options.order == Order::kFree)
    return {.detail = "the knapsack bound holds for the given order only"};
  const KnapsackBound bound = knapsack_bound(search);
  if (bound.infeasible) return {.needed = bound.least, .detail = kWhyInfeasible};
  return {.lower_bound = bound.bound, .detail = "this method only computes a lower bound, not a plan"};
}

}  // namespace checkmate
