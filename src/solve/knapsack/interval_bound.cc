#include "solve/knapsack/interval_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace checkmate {
namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t kImpossible = std::numeric_limits<std::int64_t>::max();

/// A function of the price of a byte, near one price: its value there and its slope.
struct Line {
  double value = 0;
  double slope = 0;
  friend Line operator+(Line a, Line b) { return {a.value + b.value, a.slope + b.slope}; }
  friend Line operator-(Line a, Line b) { return {a.value - b.value, a.slope - b.slope}; }
  friend bool operator<(Line a, Line b) { return a.value < b.value; }
  double at(double distance) const { return value + slope * distance; }
};

struct LinePrices {
  using Amount = Line;
  double price;
  Line keep(std::int64_t bytes) const {
    return {price * static_cast<double>(bytes), static_cast<double>(bytes)};
  }
  Line run(std::int64_t cost) const { return {static_cast<double>(cost), 0}; }
};

/// In units of 2^-shift of a cost: bytes, costs and their sums are below 2^62, the price below 2^52 and the
/// shift at most 60, so that nothing exceeds 2^127.
struct ExactPrices {
  using Amount = Wide;
  std::int64_t price;
  int shift;
  Wide keep(std::int64_t bytes) const { return Wide{price} * bytes; }
  Wide run(std::int64_t cost) const { return Wide{cost} << shift; }

  explicit ExactPrices(double about) {
    int exponent = 0;
    std::frexp(about, &exponent);
    shift = std::clamp(50 - exponent, 0, 60);
    price = static_cast<std::int64_t>(std::min(std::ldexp(about, shift), 0x1p52));
  }
};

Wide divide_up(Wide dividend, Wide divisor) {
  return dividend <= 0 ? -(-dividend / divisor) : (dividend + divisor - 1) / divisor;
}

/// Rounded up, because costs are whole numbers.
std::int64_t part(std::int64_t cost, std::int64_t bytes, std::int64_t of) {
  return static_cast<std::int64_t>(divide_up(Wide{cost} * bytes, of));
}

}  // namespace

IntervalBounds::IntervalBounds(const SearchContext& search, const Lifetimes& lifetimes)
    : search_(search),
      lifetimes_(lifetimes),
      capacity_((search.options.budget - search.graph.fixed_bytes()).count()),
      own_(search.graph.tensor_count()),
      needed_(search.graph.tensor_count()) {}

IntervalBounds::Bound IntervalBounds::of(Interval interval) {
  collect(interval);
  if (room_ < 0) return {.infeasible = true, .least = capacity_ - room_};
  if (excess_ <= 0) return {};
  const std::int64_t cost = std::max(knapsack(), with_ancestors(interval.moment));
  // Running every op of the graph again would do, if anything did.
  if (cost > search_.graph.keep_all_cost().count()) return {.infeasible = true, .least = capacity_ + 1};
  return {.cost = cost};
}

void IntervalBounds::collect(Interval interval) {
  ++stamp_;
  items_.clear();
  const std::uint32_t moment = interval.moment;
  room_ = capacity_ - lifetimes_.own[moment];
  for (const std::uint32_t tensor : lifetimes_.inputs[moment]) own_[tensor] = stamp_;
  if (interval.end < lifetimes_.op_count()) {
    for (std::uint32_t op = moment + 1; op <= interval.end; ++op) {
      for (const std::uint32_t tensor : lifetimes_.inputs[op]) {
        if (lifetimes_.producer[tensor] < moment && !there(tensor)) needed_[tensor] = stamp_;
      }
    }
  } else {
    for (std::uint32_t op = 0; op < moment; ++op) {
      for (const std::uint32_t tensor : lifetimes_.outputs[op]) {
        if (lifetimes_.last_use[tensor] > moment && !there(tensor)) needed_[tensor] = stamp_;
      }
    }
  }
  excess_ = 0;
  for (std::uint32_t op = 0; op < moment; ++op) {
    std::int64_t bytes = 0;
    for (const std::uint32_t tensor : lifetimes_.outputs[op]) {
      if (needed(tensor)) bytes += lifetimes_.bytes[tensor];
    }
    if (bytes == 0) continue;
    if (search_.graph.recomputable(OpId{op})) {
      items_.push_back({lifetimes_.cost[op], bytes});
      excess_ += bytes;
    } else {
      room_ -= bytes;
    }
  }
  excess_ -= room_;
  std::sort(items_.begin(), items_.end(),
            [](const Item& a, const Item& b) { return Wide{a.cost} * b.bytes < Wide{b.cost} * a.bytes; });
}

/// The items by rising cost per byte until they cover the excess, the last one in part. No item counts for
/// more bytes than the excess: one that is larger is as good as the cheapest of the larger ones.
std::int64_t IntervalBounds::cover(std::int64_t excess, std::size_t without) const {
  if (excess <= 0) return 0;
  std::int64_t larger = kImpossible;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (i != without && items_[i].bytes >= excess) larger = std::min(larger, items_[i].cost);
  }
  std::int64_t cost = 0;
  std::int64_t left = excess;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const Item& item = items_[i];
    if (i == without || item.bytes >= excess) continue;
    if (larger < kImpossible && Wide{larger} * item.bytes <= Wide{item.cost} * excess) break;
    if (item.bytes >= left) return cost + part(item.cost, left, item.bytes);
    cost += item.cost;
    left -= item.bytes;
  }
  return larger < kImpossible ? cost + part(larger, left, excess) : kImpossible;
}

/// Fractional, and then a little better: the item that would be split is either dropped or not.
std::int64_t IntervalBounds::knapsack() const {
  const std::size_t split = split_item();
  const std::int64_t if_kept = cover(excess_, split);
  const std::int64_t others = cover(excess_ - items_[split].bytes, split);
  return others == kImpossible ? if_kept : std::min(if_kept, items_[split].cost + others);
}

std::size_t IntervalBounds::split_item() const {
  std::size_t split = 0;
  for (std::int64_t left = excess_; left > items_[split].bytes; ++split) left -= items_[split].bytes;
  return split;
}

/// The least cost of the interval when a byte in memory at the moment has a price.
///
/// An op that runs again needs its inputs, in memory at the moment or run again themselves. With a price per
/// byte instead of a limit, the cheapest choice is a minimum cut, and any flow in its network is a bound:
///
///     source -> needed tensor -- price x bytes --> its op -- cost --> sink
///                                                    |
///                     not needed input <-------------+   (without limit)
///                            +-- price x bytes --> its op -- cost --> sink
///
/// One pass from the moment back: what an op gets beyond its cost goes on to its inputs. What cannot go on
/// is left where it is; that makes a preflow, whose arrivals at the sink some flow has as well. An op that
/// runs once never runs again, whatever it gets: its way to the sink has no limit.
template <class Prices>
class IntervalBounds::Flow {
 public:
  using Amount = typename Prices::Amount;
  explicit Flow(const IntervalBounds& bounds, std::uint32_t moment)
      : bounds_(bounds),
        graph_(bounds.search_.graph),
        lifetimes_(bounds.lifetimes_),
        moment_(moment),
        offered_(bounds.own_.size()),
        appetite_(moment) {}

  Amount arriving(const Prices& prices) {
    estimate_appetites(prices);
    Amount arrived{};
    for (std::uint32_t op = moment_; op-- > 0;) {
      const Amount got = collect(op, prices);
      const Amount cost = prices.run(lifetimes_.cost[op]);
      if (graph_.recomputable(OpId{op}) && cost < got) {
        arrived = arrived + cost;
        pass_on(op, got - cost, prices);
      } else {
        arrived = arrived + got;
      }
    }
    return arrived;
  }

 private:
  bool passable(std::uint32_t tensor) const { return !bounds_.there(tensor) && !bounds_.needed(tensor); }

  /// What an op and those before it could take at most, were it the only one to pass anything on to them.
  void estimate_appetites(const Prices& prices) {
    for (std::uint32_t op = 0; op < moment_; ++op) {
      if (!graph_.recomputable(OpId{op})) {
        appetite_[op] = prices.keep(kLargestTotal);
        continue;
      }
      Amount appetite = prices.run(lifetimes_.cost[op]);
      for (const std::uint32_t tensor : lifetimes_.inputs[op]) {
        if (!passable(tensor)) continue;
        const Amount limit = prices.keep(lifetimes_.bytes[tensor]);
        appetite = appetite + std::min(limit, appetite_[lifetimes_.producer[tensor]]);
      }
      appetite_[op] = appetite;
    }
  }

  Amount collect(std::uint32_t op, const Prices& prices) {
    Amount got{};
    for (const std::uint32_t tensor : lifetimes_.outputs[op]) {
      if (!bounds_.needed(tensor)) {
        got = got + std::exchange(offered_[tensor], Amount{});
      } else if (graph_.recomputable(OpId{op})) {  // otherwise it is there, and the room without it
        got = got + prices.keep(lifetimes_.bytes[tensor]);
      }
    }
    return got;
  }

  void pass_on(std::uint32_t op, Amount rest, const Prices& prices) {
    for (const std::uint32_t tensor : lifetimes_.inputs[op]) {
      if (!passable(tensor)) continue;
      Amount& appetite = appetite_[lifetimes_.producer[tensor]];
      const Amount space = prices.keep(lifetimes_.bytes[tensor]) - offered_[tensor];
      const Amount passed = std::max(Amount{}, std::min({rest, space, appetite}));
      offered_[tensor] = offered_[tensor] + passed;
      appetite = appetite - passed;
      rest = rest - passed;
    }
  }

  const IntervalBounds& bounds_;
  const Graph& graph_;
  const Lifetimes& lifetimes_;
  std::uint32_t moment_;
  std::vector<Amount> offered_;   // per tensor that is not needed: by the ops that read it
  std::vector<Amount> appetite_;  // per op: what is left of it
};

/// The price at which the flow less what the room is worth is largest, or nearly so. That is almost concave
/// in the price, so tangents are intersected; on floats, for any price gives a bound.
double IntervalBounds::best_price(std::uint32_t moment) const {
  struct Point {
    double price;
    Line line;
  };
  Flow<LinePrices> flow(*this, moment);
  const auto room = static_cast<double>(room_);
  Point best{0, {}};
  int points = 0;
  const auto at = [&](double price) {
    ++points;
    const Point point{price, flow.arriving({price}) - Line{price * room, room}};
    if (best.line < point.line) best = point;
    return point;
  };
  const auto go_on = [&] { return points < 40 && !search_.stopped(); };

  const Item& split = items_[split_item()];
  Point low = at(std::max(1e-9, static_cast<double>(split.cost)) / static_cast<double>(split.bytes));
  Point high = low;
  while (high.line.slope > 0 && go_on()) {
    low = high;
    high = at(2 * low.price);
  }
  while (low.line.slope > 0 && high.line.slope < 0 && go_on()) {
    const double width = high.price - low.price;
    const double price =
        low.price + (high.line.at(-width) - low.line.value) / (low.line.slope - high.line.slope);
    if (!(price > low.price + 1e-12 * width && price < high.price - 1e-12 * width)) break;
    const Point middle = at(price);
    (middle.line.slope > 0 ? low : high) = middle;
  }
  return best.price;
}

std::int64_t IntervalBounds::with_ancestors(std::uint32_t moment) const {
  const ExactPrices prices(best_price(moment));
  const Wide value = Flow<ExactPrices>(*this, moment).arriving(prices) - prices.keep(room_);
  return static_cast<std::int64_t>(std::min<Wide>(divide_up(value, Wide{1} << prices.shift), kImpossible));
}

}  // namespace checkmate
