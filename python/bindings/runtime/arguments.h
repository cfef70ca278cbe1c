#pragma once

#include <ATen/core/function_schema.h>
#include <nanobind/nanobind.h>

#include "checkmate/runtime.h"

namespace checkmate::python {

/// In the place of a tensor among the arguments of a call.
struct SlotReference {
  runtime::Slot slot;
};

/// Fills in the arguments of an op as Python gives them, with defaults where it gives none. Throws
/// nanobind::type_error for what cannot be written as a value of torch's: such a call must stay in Python.
void fill_arguments(runtime::Call& call, const c10::FunctionSchema& schema, const nanobind::tuple& positional,
                    const nanobind::dict& named);

}  // namespace checkmate::python
