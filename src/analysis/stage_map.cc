#include "checkmate/stage_map.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "checkmate/simulate.h"
#include "core/try.h"

namespace checkmate {
namespace {

/// One stay for those of an op's results that overlap or touch.
std::vector<StageMap::Stay> merged(std::vector<StageMap::Stay> stays) {
  std::sort(stays.begin(), stays.end(), [](const StageMap::Stay& a, const StageMap::Stay& b) {
    return std::tuple(a.place, a.first, a.last) < std::tuple(b.place, b.first, b.last);
  });
  std::vector<StageMap::Stay> whole;
  for (const StageMap::Stay& stay : stays) {
    if (!whole.empty() && whole.back().place == stay.place && stay.first <= whole.back().last + 1) {
      whole.back().last = std::max(whole.back().last, stay.last);
    } else {
      whole.push_back(stay);
    }
  }
  return whole;
}

}  // namespace

Result<StageMap> stage_map(const Graph& graph, const Plan& plan) {
  CHECKMATE_TRY(const Simulation run, simulate(graph, plan));
  StageMap map;
  constexpr auto kNotYet = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> place(graph.op_count(), kNotYet);
  std::vector<std::uint32_t> stage_of_step;
  stage_of_step.reserve(plan.steps.size());
  for (const OpId op : plan.steps) {
    const auto stage = static_cast<std::uint32_t>(map.ops.size());
    stage_of_step.push_back(stage);
    if (place[op.index()] == kNotYet) {
      place[op.index()] = stage;
      map.ops.push_back(op);
    } else {
      map.recomputed.push_back({stage, place[op.index()]});
    }
  }
  map.stages = stage_of_step.back() + 1;
  for (const LiveInterval& stay : run.intervals) {
    const std::uint32_t made = stage_of_step[stay.first];
    const std::uint32_t gone = stage_of_step[stay.last];
    // Made in one stage and gone in the same: never there when a stage begins.
    if (gone > made) map.kept.push_back({place[graph.producer(stay.tensor)->index()], made + 1, gone});
  }
  map.kept = merged(std::move(map.kept));
  return map;
}

}  // namespace checkmate
