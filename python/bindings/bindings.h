#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "checkmate/checkmate.h"

/// What Python sees of the library: each function converts its arguments, calls one function of the core and
/// converts its answer. The package's own modules (python/checkmate) check arguments, and are what users
/// call.
namespace checkmate::python {

namespace nb = nanobind;

/// An Error on its way to Python, where it is a checkmate.Error.
struct Raised {
  Error error;
};

template <class T>
T value_or_raise(Result<T> result) {
  if (!result) throw Raised{result.error()};
  return std::move(*result);
}
inline void raise_if_failed(const Result<void>& result) {
  if (!result) throw Raised{result.error()};
}

/// Amounts are whole numbers in Python.
template <class Unit>
std::optional<std::int64_t> count_of(const std::optional<Quantity<Unit>>& amount) {
  return amount ? std::optional(amount->count()) : std::nullopt;
}

/// The names of ErrorCode in Python: `invalid_graph`, ...
std::string_view to_string(ErrorCode code);
ErrorCode parse_error_code(std::string_view text);

/// `fixed` or `free`; anything else is Raised.
Order order_of(std::string_view text);

void bind_errors(nb::module_& module);
void bind_graph(nb::module_& module);
void bind_plan(nb::module_& module);
void bind_layout(nb::module_& module);
void bind_solve(nb::module_& module);
void bind_searches(nb::module_& module);

}  // namespace checkmate::python
