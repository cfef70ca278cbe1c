#pragma once

#include <functional>

#include "bindings.h"
#include "search_thread.h"

namespace checkmate::python {

/// Passes the search's progress to `on_progress(seconds, cost, bound, method)`; nothing for None. Both
/// arguments outlive the search.
std::function<void(const Progress&)> reporter(SearchThread& search_thread, const nb::object& on_progress);

}  // namespace checkmate::python
