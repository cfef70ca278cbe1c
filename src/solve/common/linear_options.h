#pragma once

#include "lp/linear_program.h"
#include "solve/common/search_context.h"

namespace checkmate {

/// Limits, seed and stop token of the search, for HiGHS.
inline LinearOptions linear_options(const SearchContext& search) {
  LinearOptions options;
  options.time_limit = search.seconds_left();
  options.seed = search.options.seed;
  options.stop = search.stop_token();
  return options;
}

}  // namespace checkmate
