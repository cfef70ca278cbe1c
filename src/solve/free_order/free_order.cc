#include "solve/free_order/free_order.h"

#include <algorithm>
#include <cmath>

#include "solve/common/move_clock.h"
#include "solve/free_order/instance_moves.h"

namespace checkmate {
namespace {

constexpr int kMostMovesPerPulse = 64;
constexpr double kOrderShare = 0.75;  // of the moves

/// The moves so far, and whether there is time for more.
class Pace {
 public:
  Pace(const SearchContext& search, Incumbent& incumbent)
      : incumbent_(incumbent),
        clock_(search),
        moves_per_pulse_(static_cast<int>(
            std::clamp<std::size_t>(100'000 / search.graph.op_count(), 4, kMostMovesPerPulse))) {}
  double seconds() const { return clock_.seconds(moves_); }
  double total() const { return clock_.total(); }
  bool over() const { return over_; }
  /// How many moves pass between two looks at the clock: fewer on large graphs, where moves take longer.
  int moves_per_pulse() const { return moves_per_pulse_; }
  void pulse() {
    moves_ += static_cast<std::uint64_t>(moves_per_pulse_);
    incumbent_.count_moves(static_cast<std::uint64_t>(moves_per_pulse_));
    look();
  }
  void look() { over_ = incumbent_.done() || seconds() >= total(); }

 private:
  Incumbent& incumbent_;
  MoveClock clock_;
  int moves_per_pulse_;
  std::uint64_t moves_ = 0;
  bool over_ = false;
};

/// A topological order that at each point takes, of the ops that can run, one that adds little memory; with
/// noise, another each time.
std::vector<OpId> greedy_order(const SearchGraph& graph, Random& random, double noise) {
  // Large graphs may have thousands of ops ready, and the deadline does not wait.
  const std::size_t most_compared = std::clamp<std::size_t>(400'000 / graph.cost.size(), 8, 64);
  std::vector<std::size_t> missing(graph.cost.size());
  std::vector<std::uint32_t> ready;
  for (std::uint32_t op = 0; op <= graph.end(); ++op) {
    missing[op] = graph.inputs[op].size();
    if (missing[op] == 0 && op != graph.end()) ready.push_back(op);
  }
  std::vector<std::size_t> readers(graph.bytes.size());
  for (std::size_t tensor = 0; tensor < readers.size(); ++tensor)
    readers[tensor] = graph.users[tensor].size();
  const auto growth = [&](std::uint32_t op) {
    double bytes = 0;
    for (const std::uint32_t output : graph.outputs[op])
      if (!graph.users[output].empty()) bytes += graph.bytes[output];
    bytes += noise * random.share() * graph.made[op];
    for (const std::uint32_t input : graph.inputs[op])
      if (readers[input] == 1) bytes -= graph.bytes[input];
    return bytes;
  };
  std::vector<OpId> order;
  while (!ready.empty()) {
    std::size_t best = 0;
    double least = INFINITY;
    const std::size_t start = random.below(ready.size());
    for (std::size_t i = 0; i < std::min(ready.size(), most_compared); ++i) {
      const std::size_t candidate = (start + i) % ready.size();
      const double bytes = growth(ready[candidate]);
      if (bytes >= least) continue;
      least = bytes;
      best = candidate;
    }
    const std::uint32_t op = std::exchange(ready[best], ready.back());
    ready.pop_back();
    order.push_back(OpId{op});
    for (const std::uint32_t input : graph.inputs[op]) --readers[input];
    for (const std::uint32_t output : graph.outputs[op]) {
      for (const std::uint32_t user : graph.users[output])
        if (--missing[user] == 0 && user != graph.end()) ready.push_back(user);
    }
  }
  return order;
}

class FreeOrder {
 public:
  FreeOrder(const SearchContext& search, Incumbent& incumbent, const SearchGraph& graph, std::uint64_t seed)
      : incumbent_(incumbent),
        graph_(graph),
        pace_(search, incumbent),
        random_(seed),
        state_(graph),
        moves_(graph, state_, random_),
        mean_bytes_(std::max(graph.total_bytes / static_cast<double>(graph.cost.size()), 1.0)),
        mean_cost_(graph.base_cost > 0 ? graph.base_cost / static_cast<double>(graph.cost.size()) : 1),
        usual_price_(mean_cost_ / (0.05 * std::max(graph.budget, 1.0))) {
    for (const OpId op : search.graph.ops()) given_order_.push_back(op);
  }

  void run() {
    find_order();
    const double first_seconds =
        std::min(0.2 * pace_.total(), std::max(0.08, 80e-6 * static_cast<double>(graph_.cost.size())));
    for (int round = 0; !pace_.over(); ++round) {
      const double elapsed = pace_.seconds();
      const double left = pace_.total() - elapsed;
      if (left <= 0) return;
      double seconds = std::min(left, std::max(first_seconds, 0.3 * elapsed));
      if (left - seconds < 0.3 * seconds) seconds = left;
      const bool has_plan = incumbent_.has_plan();
      if (round % (has_plan ? 3 : 2) == 1) {
        // Where none fits so far, the way to one may lead over worse.
        from_nothing(seconds, has_plan ? usual_price_ : usual_price_ * std::pow(0.01, random_.share()));
      } else if (has_plan) {
        from_best(seconds);
      } else {
        to_first_plan(seconds);
      }
    }
  }

 private:
  /// Orders without recomputation; one that fits is optimal.
  void find_order() {
    best_order_ = given_order_;
    double least = INFINITY;
    for (int i = 0; i < 5 && least > 0 && !pace_.over(); ++i) {
      std::vector<OpId> order = i == 0 ? given_order_ : greedy_order(graph_, random_, i == 1 ? 0 : 0.5);
      state_.load(order);
      record();
      offer();
      if (state_.overflow() < least) {
        least = state_.overflow();
        best_order_ = std::move(order);
      }
      pace_.look();
    }
    const double until =
        std::min(0.1 * pace_.total(), std::max(0.04, 40e-6 * static_cast<double>(graph_.cost.size())));
    double seconds = 0.03;
    while (!pace_.over() && pace_.seconds() < until) {
      state_.load(best_order_);
      anneal_order(std::min(seconds, until - pace_.seconds()), random_.one_in(2) ? 1 : 0.2);
      if (state_.overflow() < least) {
        least = state_.overflow();
        best_order_ = state_.steps();
      }
      seconds *= 1.5;
    }
  }

  void to_first_plan(double seconds) {
    state_.load(best_order_);
    price_ = 10 * usual_price_;
    anneal_runs(seconds, 0.05);
  }

  void from_nothing(double seconds, double price) {
    const double kind = random_.share();
    state_.load(kind < 0.4 ? best_order_ : kind < 0.7 ? given_order_ : greedy_order(graph_, random_, 0.5));
    if (anneal_order(0.2 * seconds, std::pow(10, -0.7 + 1.4 * random_.share()))) return;
    price_ = price;
    anneal_runs(0.8 * seconds, 0.2 * std::pow(10, random_.share()));
  }

  void from_best(double seconds) {
    state_.load(incumbent_.steps());
    record();
    price_ = std::max(price_, 0.1 * usual_price_);
    anneal_runs(seconds, 0.02 * std::pow(100, random_.share()));
  }

  /// Looks for an order that fits; `heat` is in mean sizes. Whether it has found one.
  bool anneal_order(double seconds, double heat) {
    const double start = pace_.seconds();
    const double cold = 0.003;
    while (!pace_.over()) {
      const double done = (pace_.seconds() - start) / seconds;
      if (done >= 1) break;
      const double temperature = mean_bytes_ * heat * std::pow(cold / heat, done);
      for (int i = 0; i < pace_.moves_per_pulse(); ++i) {
        if (!moves_.try_order(threshold(temperature)) || !state_.fits()) continue;
        record();
        offer();
        pace_.pulse();
        return true;
      }
      pace_.pulse();
    }
    return false;
  }

  /// Looks for cheaper runs in any order; `heat` is in mean costs.
  void anneal_runs(double seconds, double heat) {
    constexpr int kMovesPerPrice = 256;
    const double start = pace_.seconds();
    const double cold = std::min(heat, 1e-3);
    int tried = 0;
    int fitting = 0;
    while (!pace_.over()) {
      const double done = (pace_.seconds() - start) / seconds;
      if (done >= 1) break;
      const double temperature = mean_cost_ * heat * std::pow(cold / heat, done);
      if (tried >= kMovesPerPrice) {
        adjust_price(done, static_cast<double>(fitting) / tried);
        tried = fitting = 0;
      }
      for (int i = 0; i < pace_.moves_per_pulse(); ++i) {
        if (step(threshold(temperature))) record();
        fitting += state_.fits() ? 1 : 0;
      }
      tried += pace_.moves_per_pulse();
      pace_.pulse();
      if (improved_ && pace_.seconds() > offered_at_ + 0.005) offer();
    }
    offer();
  }

  /// One move, taken if it makes things worse by no more than the threshold; whether it was.
  bool step(double threshold) {
    if (random_.share() < kOrderShare) return moves_.try_order(threshold / price_);
    const double before = badness();
    const double cost_limit = state_.cost() + price_ * state_.overflow() + threshold;
    if (moves_.change_runs(price_, cost_limit) && badness() <= before + threshold) {
      state_.commit();
      return true;
    }
    state_.undo();
    return false;
  }

  /// Without a little for every run, those that cost nothing would pile up.
  double badness() const {
    return state_.cost() + 1e-3 * mean_cost_ * state_.size() + price_ * state_.overflow();
  }

  /// The price follows the share of states that fit, which is to rise; in the end it only goes up.
  void adjust_price(double done, double fitting) {
    if (done > 0.85) {
      if (fitting < 0.95) price_ *= 1.1;
    } else {
      price_ *= fitting < 0.3 + 0.4 * done ? 1.06 : 1 / 1.06;
    }
    price_ = std::clamp(price_, 1e-4 * usual_price_, 1e4 * usual_price_);
  }

  double threshold(double temperature) { return -temperature * std::log(1 - random_.share()); }

  void record() {
    if (!state_.fits() || state_.cost() >= best_cost_ - 0.5) return;
    best_cost_ = state_.cost();
    best_steps_ = state_.steps();
    improved_ = true;
  }

  void offer() {
    if (!improved_) return;
    incumbent_.offer(best_steps_, "free-order");
    improved_ = false;
    offered_at_ = pace_.seconds();
    pace_.look();
  }

  Incumbent& incumbent_;
  const SearchGraph& graph_;
  Pace pace_;
  Random random_;
  Instances state_;
  InstanceMoves moves_;
  double mean_bytes_, mean_cost_;
  double usual_price_;
  double price_ = 0;  // of a unit of overflow
  std::vector<OpId> given_order_, best_order_;
  double best_cost_ = INFINITY;
  std::vector<OpId> best_steps_;
  bool improved_ = false;
  double offered_at_ = -1;
};

}  // namespace

void anneal_free_order(const SearchContext& search, Incumbent& incumbent, std::uint64_t seed) {
  const SearchGraph graph(search.graph, search.options.budget, SearchUnits::common_divisors(search.graph));
  if (!graph.exact() || search.options.budget < search.graph.fixed_bytes()) return;
  FreeOrder(search, incumbent, graph, seed).run();
}

}  // namespace checkmate
