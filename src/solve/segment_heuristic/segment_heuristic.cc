#include "solve/segment_heuristic/segment_heuristic.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "solve/segment_heuristic/drop_plan.h"

// Training graphs have one peak, where the forward part ends. What is live across it is kept or dropped; what
// is dropped comes back when it is first used after the peak, with whatever is missing before it. Which bytes
// to drop is a knapsack; but where long runs of ops are dropped they come back as a whole, which may not fit.
// So the forward part is cut into segments where little memory crosses, and what crosses a cut is kept.

namespace checkmate {
namespace {

/// How much of a segment may be dropped.
struct SegmentSize {
  double least;  ///< as a share of the budget
  double slack;  ///< in parts of what the kept values leave of the budget when the segment comes back
};
constexpr std::array<SegmentSize, 11> kSizes = {{
    {0.01, 1.3},
    {0.01, 3},
    {0.002, 2},
    {0.05, 4},
    {0.01, 1},
    {0.1, 1.3},
    {0.2, 2},
    {0.5, 2},
    {1e9, 0},
    {0.02, 0.6},
    {0.01, 0},
}};
constexpr int kMostTargets = 6;      // per segment size
constexpr int kMostShortenings = 8;  // per segment size
constexpr double kShorter = 0.8;

class SegmentedStart {
 public:
  explicit SegmentedStart(const SearchContext& search)
      : search_(search),
        lifetimes_(search.graph),
        peak_(lifetimes_.peak()),
        capacity_((search.options.budget - search.graph.fixed_bytes()).count()),
        drops_(search.graph, lifetimes_, peak_) {
    find_candidates();
    find_crossings();
  }

  /// Calls `found` with the steps of each plan that is cheaper than those before it.
  template <class Found>
  void run(const Found& found) {
    if (lifetimes_.memory[peak_] <= capacity_) return found(drops_.build({}).steps);
    for (const SegmentSize& size : kSizes) {
      search_target(size, found);
      if (search_.stopped()) return;
    }
  }

 private:
  struct Candidate {
    std::uint32_t op;
    std::int64_t bytes;  // over the peak
    double cost_per_byte;
  };

  void find_candidates();
  void find_crossings();
  std::vector<std::uint32_t> find_cuts(SegmentSize size) const;
  void keep_what_crosses(const std::vector<std::uint32_t>& cuts);
  bool choose(std::int64_t target);
  const DropPlan::Built* build(SegmentSize size, std::int64_t target);
  bool shorten(const std::vector<std::uint32_t>& cuts, const DropPlan::Built& built);
  template <class Found>
  void search_target(SegmentSize size, const Found& found);

  const SearchContext& search_;
  Lifetimes lifetimes_;
  std::uint32_t peak_;
  std::int64_t capacity_;
  DropPlan drops_;
  std::vector<Candidate> candidates_;   // by rising cost per byte
  std::vector<std::uint32_t> back_;     // per op before the peak: when its outputs are first used after it
  std::vector<std::int64_t> crossing_;  // per op before the peak: made by then, and used until the peak
  std::vector<std::uint32_t> forward_last_;  // per tensor: its last use up to the peak
  std::vector<double> scale_;                // per op: of the segment that ends there
  std::vector<std::uint32_t> cuts_;          // the latest
  std::vector<bool> forced_;                 // per op: kept, for it crosses a cut
  DropSet set_;
  std::int64_t best_cost_ = INT64_MAX;
};

void SegmentedStart::find_candidates() {
  const std::vector<double> costs = costs_to_bring_back(search_.graph, lifetimes_, peak_);
  back_.assign(peak_, peak_);
  std::vector<std::uint32_t> first_use(lifetimes_.producer.size(), UINT32_MAX);
  for (std::uint32_t op = lifetimes_.op_count(); --op > peak_;) {
    for (const std::uint32_t tensor : lifetimes_.inputs[op]) first_use[tensor] = op;
  }
  for (std::uint32_t op = 0; op < peak_; ++op) {
    const std::int64_t bytes = drops_.droppable(op);
    std::uint32_t back = UINT32_MAX;
    for (const std::uint32_t tensor : lifetimes_.outputs[op]) back = std::min(back, first_use[tensor]);
    back_[op] = back < UINT32_MAX ? back : op > 0 ? back_[op - 1] : peak_;
    if (bytes > 0) candidates_.push_back({op, bytes, costs[op] / static_cast<double>(bytes)});
  }
  std::stable_sort(candidates_.begin(), candidates_.end(),
                   [](const Candidate& a, const Candidate& b) { return a.cost_per_byte < b.cost_per_byte; });
}

void SegmentedStart::find_crossings() {
  forward_last_.assign(lifetimes_.producer.size(), 0);
  std::vector<std::int64_t> change(peak_ + 1);
  for (std::uint32_t op = 0; op <= peak_; ++op) {
    for (const std::uint32_t tensor : lifetimes_.inputs[op]) forward_last_[tensor] = op;
    for (const std::uint32_t tensor : lifetimes_.outputs[op]) forward_last_[tensor] = op;
  }
  for (std::uint32_t op = 0; op < peak_; ++op) {
    for (const std::uint32_t tensor : lifetimes_.outputs[op]) {
      change[op] += lifetimes_.bytes[tensor];
      change[forward_last_[tensor]] -= lifetimes_.bytes[tensor];
    }
  }
  crossing_.resize(peak_ + 1);
  std::partial_sum(change.begin(), change.end(), crossing_.begin());
}

/// Ops after which a segment ends, where the least crosses. Backwards from the peak, for that is how they
/// come back: what is dropped of a segment must fit in what the kept values leave by then.
std::vector<std::uint32_t> SegmentedStart::find_cuts(SegmentSize size) const {
  std::vector<std::int64_t> dropped_before(peak_ + 1);
  for (const std::uint32_t op : set_.ops) dropped_before[op + 1] = drops_.droppable(op);
  std::partial_sum(dropped_before.begin(), dropped_before.end(), dropped_before.begin());

  std::vector<std::uint32_t> cuts;
  std::uint32_t end = peak_;
  while (end > 0) {
    const std::int64_t kept = lifetimes_.memory[back_[end - 1]] - dropped_before[end];
    const double most = std::max(size.least * static_cast<double>(capacity_),
                                 size.slack * scale_[end - 1] * static_cast<double>(capacity_ - kept));
    const auto dropped_from = [&](std::uint32_t begin) {
      return static_cast<double>(dropped_before[end] - dropped_before[begin]);
    };
    std::uint32_t begin = end;
    while (begin > 0 && dropped_from(begin - 1) <= most / 2) --begin;
    if (begin == 0) break;
    std::uint32_t cut = --begin;
    for (; begin > 0 && dropped_from(begin) <= most; --begin) {
      if (crossing_[begin - 1] < crossing_[cut]) cut = begin - 1;
    }
    cuts.push_back(cut);
    end = cut + 1 < end ? cut + 1 : cut;
  }
  std::reverse(cuts.begin(), cuts.end());
  return cuts;
}

void SegmentedStart::keep_what_crosses(const std::vector<std::uint32_t>& cuts) {
  forced_.assign(peak_, false);
  set_.kept_on.clear();
  std::size_t next = 0;
  for (std::uint32_t op = 0; op < peak_; ++op) {
    while (next < cuts.size() && cuts[next] < op) ++next;
    if (next == cuts.size()) break;
    for (const std::uint32_t tensor : lifetimes_.outputs[op]) {
      if (forward_last_[tensor] <= cuts[next]) continue;
      forced_[op] = true;
      if (lifetimes_.last_use[tensor] <= peak_) set_.kept_on.push_back(tensor);
    }
  }
}

/// Drops the cheapest bytes until the memory at the peak is within the target; whether it can be.
bool SegmentedStart::choose(std::int64_t target) {
  set_.ops.clear();
  std::int64_t excess = lifetimes_.memory[peak_] - target;
  for (const Candidate& candidate : candidates_) {
    if (excess <= 0) break;
    if (forced_[candidate.op]) continue;
    set_.ops.push_back(candidate.op);
    excess -= candidate.bytes;
  }
  return excess <= 0;
}

/// Shortens the segments that do not fit when they come back; whether that is where it does not fit.
bool SegmentedStart::shorten(const std::vector<std::uint32_t>& cuts, const DropPlan::Built& built) {
  std::vector<bool> over(cuts.size() + 1);
  std::optional<std::size_t> coming_back;
  std::uint32_t next_first_run = 0;
  for (std::size_t step = 0; step < built.steps.size(); ++step) {
    const std::uint32_t op = built.steps[step].value;
    if (op == next_first_run) {
      ++next_first_run;
    } else {
      coming_back = static_cast<std::size_t>(std::lower_bound(cuts.begin(), cuts.end(), op) - cuts.begin());
    }
    if (built.memory[step] <= capacity_) continue;
    if (!coming_back) return false;
    over[*coming_back] = true;
  }
  std::size_t segment = 0;
  for (std::uint32_t op = 0; op < peak_; ++op) {
    while (segment < cuts.size() && cuts[segment] < op) ++segment;
    if (over[segment]) scale_[op] *= kShorter;
  }
  return true;
}

/// Drops to the target with segments of that size: first all that go with the target, to see how long
/// segments may be, then all but what crosses a cut. Nothing when there is not enough to drop.
const DropPlan::Built* SegmentedStart::build(SegmentSize size, std::int64_t target) {
  keep_what_crosses({});
  if (!choose(target)) return nullptr;
  cuts_ = find_cuts(size);
  keep_what_crosses(cuts_);
  return choose(target) ? &drops_.build(set_) : nullptr;
}

/// The largest memory at the peak, and so the cheapest plan, with which the backward pass fits as well. Where
/// it does not, segments are shortened first, and then the target falls.
template <class Found>
void SegmentedStart::search_target(SegmentSize size, const Found& found) {
  scale_.assign(peak_, 1);
  std::vector<std::uint32_t> shortened_from = {peak_};
  std::int64_t fits = -1, fails = capacity_, target = capacity_;
  int targets = 1, shortenings = 0;
  while (targets <= kMostTargets && target > 0 && !search_.stopped()) {
    const DropPlan::Built* built = build(size, target);
    if (built == nullptr) return;
    if (built->peak <= capacity_) {
      if (built->cost < best_cost_) {
        best_cost_ = built->cost;
        found(built->steps);
      }
      if (target == capacity_) return;
      fits = target;
    } else {
      if (built->cost >= best_cost_) return;  // and what fits costs more
      if (fits < 0 && shortenings < kMostShortenings && cuts_ != shortened_from && shorten(cuts_, *built)) {
        ++shortenings;
        shortened_from = cuts_;
        continue;
      }
      fails = target;
    }
    if (fits >= 0 && fails - fits < capacity_ / 10000) return;
    const std::int64_t excess = built->peak - capacity_;
    target = fits >= 0 ? fits + (fails - fits) / 2 : target - excess - excess / 50 - 1;
    ++targets;
  }
}

}  // namespace

std::optional<std::vector<OpId>> segmented_start(const SearchContext& search) {
  std::optional<std::vector<OpId>> best;
  SegmentedStart(search).run([&](const std::vector<OpId>& steps) { best = steps; });
  return best;
}

void segmented_start(const SearchContext& search, Incumbent& incumbent) {
  SegmentedStart(search).run([&](const std::vector<OpId>& steps) { incumbent.offer(steps, "segments"); });
}

}  // namespace checkmate
