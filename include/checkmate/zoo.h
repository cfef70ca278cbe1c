#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "checkmate/graph.h"
#include "checkmate/result.h"

#pragma GCC visibility push(default)
/// Training graphs built in code, with sizes and costs from the formulas of docs/zoo.md.
namespace checkmate::zoo {

struct Parameter {
  std::string_view name;
  std::string_view fallback;     ///< the value when the spec does not give one
  std::string_view description;  ///< for `checkmate zoo`: what it means and which values it takes
};

struct Network {
  std::string_view name;
  std::string_view description;
  std::span<const Parameter> parameters;
};

/// All networks, in the order of docs/zoo.md.
std::span<const Network> networks();

/// Builds `NAME?key=value&key=value`, for example `unet?batch=32`. Unknown names, unknown or repeated
/// parameters and values out of range are errors that list what is known. The graph's name is the spec as
/// given.
Result<Graph> build(std::string_view spec);

/// The spec with a batch: `vgg19?size=64` and 8 give `vgg19?size=64&batch=8`. An error where the spec sets
/// the batch itself.
Result<std::string> with_batch(std::string_view spec, std::int64_t batch);

}  // namespace checkmate::zoo
#pragma GCC visibility pop
