#pragma once

#include <optional>
#include <span>
#include <vector>

#include "checkmate/plan.h"
#include "checkmate/result.h"
#include "checkmate/runtime.h"
#include "torch/schedule.h"

/// Where the allocations of a planned step lie: in one arena, at addresses that are laid out before it runs.
///
/// Which allocations a unit makes, scratch of its kernels included, is recorded once; those of any plan
/// follow from that. Gradients have their places in the arena as well: most loops free them before the next
/// step. The loss and other results, which may stay for as long as somebody likes, and what is tiny come from
/// malloc.
namespace checkmate::torch {

/// What one run of a unit allocates, and how long it stays.
struct UnitAllocations {
  /// Bytes of a new allocation or, negative, -1 - the number of the one that is freed before the unit ends.
  std::vector<std::int64_t> events = {};
  /// Of each allocation, which block it stays with: a number in `makes` of the unit; -2 - a number in its
  /// `reads`; -1 for none of them.
  std::vector<std::int64_t> owners = {};
};

/// The layout of a step.
struct StepLayout {
  runtime::Addresses addresses;
  std::int64_t outside = 0;  ///< bytes of results that lie outside of the arena

  /// Bytes that the step takes, in addition to fixed memory.
  std::int64_t total() const { return static_cast<std::int64_t>(addresses.size) + outside; }
};

struct LayoutLimits {
  std::optional<std::int64_t> room = {};  ///< bytes that are enough
  double seconds = 2.0;
};

/// Of a plan, from what its units allocate.
Result<StepLayout> planned_layout(const Program& program, std::span<const UnitAllocations> units,
                                  const Plan& plan, const LayoutLimits& limits);

/// Of a step that was run to see what it allocates.
Result<StepLayout> recorded_layout(const Schedule& schedule, const runtime::AllocationLog& log,
                                   const LayoutLimits& limits);

/// Of each unit, from a recorded step that runs every unit.
std::vector<UnitAllocations> unit_allocations(const Schedule& schedule, const runtime::AllocationLog& log);

}  // namespace checkmate::torch
