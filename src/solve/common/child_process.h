#pragma once

#include <functional>

#include "solve/common/incumbent.h"

namespace checkmate {

/// A method that may not look up for seconds, HiGHS on a large model, in a child process: when the search is
/// stopped, the child is ended, wherever it is. What it reported until then is in the incumbent. The child is
/// gone when this returns, and it dies with its parent. Where the system gives no process, the method runs in
/// this one.
///
/// `method` gets the search and an incumbent that knows what this one knows. Both are the child's own: only
/// reports, and the outcome, come back.
using Method = std::function<Outcome(const SearchContext& search, Incumbent& incumbent)>;
Outcome run_in_child(const SearchContext& search, Incumbent& incumbent, const Method& method);

}  // namespace checkmate
