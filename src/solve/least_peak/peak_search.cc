#include "solve/least_peak/peak_search.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/random.h"
#include "solve/anneal/anneal.h"
#include "solve/least_peak/eviction.h"

namespace checkmate {
namespace {

/// Eviction looks at the whole graph once per op.
constexpr std::size_t kMostWork = std::size_t{1} << 29;
constexpr std::size_t kStepsPerOp = 12;
constexpr double kFirstShare = 0.3;  // of the time, for the weights that are tried first

bool quick(const Graph& graph) {
  return graph.op_count() * (graph.edge_count() + graph.op_count()) < kMostWork;
}

/// What to try first.
constexpr std::array<EvictionWeights, 5> kWeights = {{{.cost = 1, .distance = 1},
                                                      {.cost = 0.5, .distance = 0},
                                                      {.cost = 0, .distance = 1},
                                                      {.cost = 1, .distance = 0.25},
                                                      {.cost = 0.25, .distance = 1}}};

class PeakSearch {
 public:
  PeakSearch(const SearchContext& search, PeakBoard& board, std::uint64_t seed)
      : search_(search),
        board_(board),
        graph_(search.graph),
        random_(seed),
        seed_(seed),
        evicts_(quick(search.graph)) {}

  void run() {
    if (evicts_) try_all_weights();
    double slice = 0.1;
    while (!search_.by_moves() && !over()) {
      const Bytes before = board_.peak();
      if (evicts_) evict_for(slice);
      descend_for(slice);
      if (board_.peak() == before) slice *= 1.5;
    }
  }

 private:
  bool over() const { return search_.stopped() || board_.done(); }
  Bytes fixed() const { return search_.graph.fixed_bytes(); }

  bool evict(Bytes budget, const EvictionWeights& weights) {
    std::optional<std::vector<OpId>> steps =
        evicting_run(search_, graph_, (budget - fixed()).count(), weights, kStepsPerOp * graph_.ops);
    return steps && board_.offer(std::move(*steps), "eviction");
  }

  /// Bisects for each of some weights.
  void try_all_weights() {
    const double share = search_.by_moves() ? 1 : kFirstShare;
    const double until = search_.seconds() + share * search_.seconds_left();
    for (const bool waiting_may_go : {false, true}) {
      for (EvictionWeights weights : kWeights) {
        weights.waiting_may_go = waiting_may_go;
        lower_with(weights, until);
      }
    }
  }

  /// Smaller and smaller steps down from the best peak.
  void lower_with(const EvictionWeights& weights, double until) {
    constexpr double kSmallest = 1.0 / 256;
    for (double share = 0.5; share > kSmallest && !over() && search_.seconds() < until;) {
      if (!evict(below(share), weights)) share /= 2;
    }
  }

  /// A part of the way from the best peak to what is needed, or as far as is enough.
  Bytes below(double share) const {
    const Bytes peak = board_.peak();
    const auto way = static_cast<double>((peak - board_.needed()).count());
    const Bytes target = peak - Bytes{std::max<std::int64_t>(1, static_cast<std::int64_t>(share * way))};
    return std::max(target, board_.goal().enough.value_or(target));
  }

  void evict_for(double seconds) {
    constexpr double kMostLuck = 2;
    const double until = search_.seconds() + seconds;
    while (search_.seconds() < until && !over()) {
      const EvictionWeights weights{.cost = random_.share(),
                                    .distance = random_.share(),
                                    .waiting_may_go = random_.one_in(2),
                                    .luck = kMostLuck * random_.share(),
                                    .seed = random_.next()};
      if (evict(board_.goal().enough.value_or(below(0.01)), weights)) lower_with(weights, until);
    }
  }

  void descend_for(double seconds) {
    const double until = search_.seconds() + seconds;
    for (double share = 0.25; search_.seconds() < until && !over();) {
      const double left = until - search_.seconds();
      std::optional<std::vector<OpId>> steps =
          anneal_into(search_, below(share), board_.steps(), left / 2, seed_ += 1000);
      if (!steps || !board_.offer(std::move(*steps), "anneal")) share = std::max(share / 2, 1e-3);
    }
  }

  const SearchContext& search_;
  PeakBoard& board_;
  Lifetimes graph_;
  Random random_;
  std::uint64_t seed_;
  bool evicts_;
};

}  // namespace

void search_small_peaks(const SearchContext& search, PeakBoard& board, std::uint64_t seed) {
  PeakSearch(search, board, seed).run();
}

void evict_within_budget(const SearchContext& search, Incumbent& incumbent) {
  if (!quick(search.graph)) return;
  const Lifetimes graph(search.graph);
  const std::int64_t room = (search.options.budget - search.graph.fixed_bytes()).count();
  for (const bool waiting_may_go : {false, true}) {
    if (waiting_may_go && incumbent.has_plan()) return;
    for (EvictionWeights weights : kWeights) {
      weights.waiting_may_go = waiting_may_go;
      if (auto steps = evicting_run(search, graph, room, weights, kStepsPerOp * graph.ops))
        incumbent.offer(std::move(*steps), "eviction");
    }
  }
}

}  // namespace checkmate
