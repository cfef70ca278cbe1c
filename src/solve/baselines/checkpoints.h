#pragma once

#include "solve/common/solver.h"

namespace checkmate {

/// Checkpoints at segment boundaries: of a chain, between articulation points, or of the linearized forward
/// part; segments of equal length (`sqrt`) or of about equal bytes (`greedy`).
Outcome solve_chen_sqrt(const SearchContext& search);
Outcome solve_chen_greedy(const SearchContext& search);
Outcome solve_ap_sqrt(const SearchContext& search);
Outcome solve_ap_greedy(const SearchContext& search);
Outcome solve_linear_sqrt(const SearchContext& search);
Outcome solve_linear_greedy(const SearchContext& search);

}  // namespace checkmate
