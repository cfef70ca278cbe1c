#pragma once

#include <optional>
#include <vector>

#include "checkmate/result.h"
#include "torch/addresses.h"
#include "torch/cache.h"
#include "torch/ghosts.h"
#include "torch/program.h"

/// What each unit of a program costs: time, workspace, and the real size of its results.
namespace checkmate::torch {

/// What one run takes.
struct UnitCost {
  std::int64_t cost;
  std::int64_t workspace = 0;           ///< bytes in addition to the unit's results, while it runs
  std::vector<std::int64_t> made = {};  ///< bytes of each block that it makes; empty: as the program says
  std::optional<UnitAllocations> allocations = {};  ///< nothing: not known
};

/// From the bytes that each unit moves and, for products and convolutions, its floating-point operations.
std::vector<UnitCost> estimated_costs(const Program& program);

/// What was measured, or the layouts of results that are others than the capture took for granted: with those
/// known, capture again.
struct Measurement {
  std::vector<UnitCost> costs = {};
  KnownLayouts corrections = {};
};

/// Nanoseconds, workspace and sizes of each unit in the step, in its order and on its values, so that caches
/// and fresh pages are as they will be; remembered in the cache. `rehearsal` is the order in which units run.
Result<Measurement> measured_costs(const std::shared_ptr<const Program>& program,
                                   const std::vector<at::Tensor>& inputs, const Plan& rehearsal,
                                   const Cache& cache);

/// Only what `Measurement::corrections` has: the step runs once.
Result<KnownLayouts> checked_layouts(const std::shared_ptr<const Program>& program,
                                     const std::vector<at::Tensor>& inputs, const Plan& rehearsal);

std::string costs_to_json(const std::vector<UnitCost>& costs);
/// Nothing for a record that cannot be about this program.
std::optional<std::vector<UnitCost>> costs_from_json(std::string text, const Program& program);

/// Equal on machines where an op takes equally long: version, device, processor, threads.
std::string machine();

/// Equal for two units that do the same work.
std::string unit_signature(const Program& program, const Unit& unit);

}  // namespace checkmate::torch
