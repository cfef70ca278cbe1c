#pragma once

#include <string>

#include "checkmate/result.h"
#include "checkmate/torch_step.h"
#include "torch/capture.h"

/// The same plan in every process, and gradients averaged over them.
namespace checkmate::torch {

/// The text that the first process has.
std::string text_of_first(const Processes& processes, const std::string& text);

/// An error in one process is one in all: none waits for another. `fingerprint` is of the step; where it is
/// another than the first process's, every process says so.
Result<void> agree(const Processes& processes, const Result<std::string>& fingerprint);

/// The gradients that this step left.
Result<void> average_gradients(const Processes& processes, const Situation& situation);

}  // namespace checkmate::torch
