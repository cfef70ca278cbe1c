#pragma once

#include <cstdint>
#include <functional>

namespace checkmate::torch {

/// What a process can still get: of the machine, of its control group, and within its own limits.
std::int64_t available_bytes();

/// The most bytes held at once among those that this thread asks torch for while `run` runs. What was there
/// before is not counted, nor is its release.
std::int64_t peak_bytes(const std::function<void()>& run);

}  // namespace checkmate::torch
