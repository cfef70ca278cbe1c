#include "solve/sparse_milp/cover_cuts.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace checkmate {
namespace {

constexpr double kLeastBreach = 0.02;  // below this a cut is not worth its row
constexpr double kRounding = 1e-9;     // what floating point may take from a weight

/// A tensor that may be kept across the moment, and how much of it the values drop.
struct Item {
  TensorId tensor;
  std::int64_t bytes;
  double dropped;
};

struct Knapsack {
  std::vector<Item> items;
  std::int64_t need = 0;  ///< bytes of them that a plan drops at least
};

Knapsack knapsack_at(const SparseModel& model, std::uint32_t block, std::span<const double> values) {
  const Graph& graph = model.graph();
  const OpId moment{model.moments()[block]};
  const auto own = graph.inputs(moment);
  Knapsack knapsack;
  knapsack.need = -model.room_at(moment).count();
  for (std::uint32_t i = 0; i < moment.value; ++i) {
    for (const TensorId tensor : graph.outputs(OpId{i})) {
      const std::int32_t column = model.keep(block + 1, tensor);
      if (column == SparseModel::kNone || graph.bytes(tensor) == Bytes{0}) continue;
      if (std::find(own.begin(), own.end(), tensor) != own.end()) continue;
      knapsack.need += graph.bytes(tensor).count();
      knapsack.items.push_back(
          {tensor, graph.bytes(tensor).count(), 1 - values[static_cast<std::size_t>(column)]});
    }
  }
  return knapsack;
}

/// Even if all items with `given` were dropped, the others would have to cover the rest of the need, none of
/// them more than that rest; and the sum of their parts of `unit`, rounded as in a mixed-integer rounding
/// cut, is at least that of the rest.
class Cover {
 public:
  Cover(const Knapsack& knapsack, double given)
      : items_(knapsack.items), given_(given), rest_(knapsack.need) {
    for (const Item& item : items_) {
      if (item.dropped >= given_) rest_ -= item.bytes;
    }
  }
  std::int64_t rest() const { return rest_; }

  double least(std::int64_t unit) const {
    return std::ceil(static_cast<double>(rest_) / static_cast<double>(unit) - kRounding);
  }
  double weight(const Item& item, std::int64_t unit) const {
    if (item.dropped >= given_) return 0;
    const double part = static_cast<double>(std::min(item.bytes, rest_)) / static_cast<double>(unit);
    const double whole = std::floor(part + kRounding);
    return whole + std::min(1.0, std::max(part - whole, 0.0) / fraction(unit) + kRounding);
  }
  /// Of the rest over the last whole unit. Tiny ones give weak cuts and poor numbers.
  double fraction(std::int64_t unit) const {
    return static_cast<double>(rest_) / static_cast<double>(unit) - (least(unit) - 1);
  }
  /// By what share of itself the cut is broken.
  double breach(std::int64_t unit) const {
    double sum = 0;
    for (const Item& item : items_) {
      if (item.dropped > 0) sum += weight(item, unit) * item.dropped;
    }
    return 1 - sum / least(unit);
  }

 private:
  const std::vector<Item>& items_;
  double given_;
  std::int64_t rest_;
};

/// Bytes of items that are dropped in part, which are the units worth a try: a few, the largest parts first.
std::vector<std::int64_t> units(const Knapsack& knapsack, std::int64_t rest) {
  constexpr std::size_t kMost = 8;
  constexpr double kPart = 0.01;
  constexpr std::int64_t kMostUnits = 1'000'000;  // of more, floating point takes more than kRounding
  std::vector<Item> parts;
  for (const Item& item : knapsack.items) {
    if (item.dropped > kPart && item.dropped < 1 - kPart && item.bytes < rest &&
        item.bytes >= rest / kMostUnits)
      parts.push_back(item);
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Item& a, const Item& b) {
    return static_cast<double>(a.bytes) * a.dropped > static_cast<double>(b.bytes) * b.dropped;
  });
  std::vector<std::int64_t> units = {rest};
  for (const Item& item : parts) {
    if (units.size() > kMost) break;
    if (std::find(units.begin(), units.end(), item.bytes) == units.end()) units.push_back(item.bytes);
  }
  return units;
}

std::optional<CoverCut> cut_at(const SparseModel& model, std::uint32_t block,
                               std::span<const double> values) {
  constexpr double kLeastFraction = 0.05;
  const Knapsack knapsack = knapsack_at(model, block, values);
  if (knapsack.need <= 0) return std::nullopt;
  std::optional<CoverCut> best;
  double worst = kLeastBreach;
  for (const double given : {0.999, 0.7, 0.4}) {
    const Cover cover(knapsack, given);
    if (cover.rest() <= 0) continue;
    for (const std::int64_t unit : units(knapsack, cover.rest())) {
      if (cover.fraction(unit) < kLeastFraction || cover.breach(unit) <= worst) continue;
      worst = cover.breach(unit);
      best = CoverCut{.moment = model.moments()[block], .weights = {}, .least = cover.least(unit)};
      for (const Item& item : knapsack.items) {
        if (const double weight = cover.weight(item, unit); weight > 0)
          best->weights.push_back({item.tensor, weight});
      }
    }
  }
  return best;
}

}  // namespace

std::vector<CoverCut> broken_cover_cuts(const SparseModel& model, std::span<const double> values) {
  std::vector<CoverCut> cuts;
  for (std::uint32_t block = 0; block < model.moments().size(); ++block) {
    if (std::optional<CoverCut> cut = cut_at(model, block, values)) cuts.push_back(std::move(*cut));
  }
  return cuts;
}

LinearRow row_of(const SparseModel& model, const CoverCut& cut) {
  LinearRow row{.lower = -LinearProgram::kInfinity, .upper = -cut.least, .terms = {}};
  const std::uint32_t block = model.block_of(cut.moment) + 1;
  for (const auto& [tensor, weight] : cut.weights) {
    row.upper += weight;
    row.terms.push_back({static_cast<Column>(model.keep(block, tensor)), weight});
  }
  return row;
}

}  // namespace checkmate
