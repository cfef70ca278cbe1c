#pragma once

#include <span>
#include <vector>

#include "checkmate/plan.h"
#include "checkmate/runtime.h"
#include "torch/program.h"

namespace checkmate::torch {

/// A plan as a program of the runtime, and which value each of its slots holds: a slot is a value of the
/// step.
struct Schedule {
  std::shared_ptr<const Program> program;
  std::vector<UnitId> units;  ///< of each run but the last, which makes the views that only the results need
  runtime::StepProgram steps;
};

/// The units in this order. `results` are the values that a run returns.
Schedule schedule(std::shared_ptr<const Program> program, std::span<const OpId> steps, const Frees& frees,
                  const std::vector<ValueId>& results);

}  // namespace checkmate::torch
