#pragma once

#include <span>

#include "solve/common/solver.h"

namespace checkmate {

/// The table of methods, `auto` first. A new method is a row here.
std::span<const Solver> solvers();

}  // namespace checkmate
