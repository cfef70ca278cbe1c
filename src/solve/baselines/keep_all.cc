#include "solve/baselines/keep_all.h"

#include "solve/common/candidates.h"

namespace checkmate {

Outcome solve_keep_all(const SearchContext& search) {
  Candidates candidates(search);
  candidates.offer(keep_all_plan(search.graph).steps);
  return std::move(candidates).outcome();
}

}  // namespace checkmate
