#pragma once

#include <optional>
#include <vector>

#include "solve/chain/chain_model.h"
#include "solve/chain/chain_program.h"
#include "solve/common/solver.h"

namespace checkmate {

/// The runs of a schedule: before a layer is reversed, its sweep, in the order of the ops and without those
/// that nothing wants; then its backward ops. Nothing when the search is stopped or the steps pass
/// kMostSteps. Time O(steps x layers + edges run).
std::optional<std::vector<OpId>> run_schedule(const SearchContext& search, const ChainModel& chain,
                                              const Schedule& schedule);

}  // namespace checkmate
