#pragma once

#include "solve/common/incumbent.h"
#include "solve/common/solver.h"

namespace checkmate {

/// What every plan of the order costs at least, by what cannot be in memory while some op first runs.
struct KnapsackBound {
  Cost bound;               ///< keep-all's cost where infeasible
  bool infeasible = false;  ///< something does not fit that nothing can drop: no plan of the order fits
  Bytes least = {};         ///< when infeasible: no budget below this suffices, as far as this argument shows
};

/// The argument needs the fixed order: for a free one, keep-all's cost, and nothing is infeasible.
/// Milliseconds for hundreds of ops; the number of moments looked at falls as the graph grows, so that the
/// time is nearly linear.
KnapsackBound knapsack_bound(const SearchContext& search);
/// Reports it to the incumbent.
void raise_knapsack_bound(const SearchContext& search, Incumbent& incumbent);

/// That bound as a method.
Outcome solve_knapsack_bound(const SearchContext& search);

}  // namespace checkmate
