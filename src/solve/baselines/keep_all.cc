#include "solve/candidates.h"

namespace checkmate {

Outcome solve_keep_all(const Search& search) {
  Candidates candidates(search);
  candidates.offer(keep_all_plan(search.graph).steps);
  return std::move(candidates).outcome();
}

}  // namespace checkmate
