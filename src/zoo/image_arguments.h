#pragma once

#include <array>
#include <cstdint>

#include "zoo/recipe.h"

/// The parameters that the networks on images share. Their limits keep every product for one image below
/// 2^60.
namespace checkmate::zoo {

inline constexpr Parameter kBatch = {"batch", "1", "images per step, 1 to 1048576"};
inline constexpr Parameter kSize = {"size", "224", "height and width of an image, 32 to 4096"};
inline constexpr Parameter kClasses = {"classes", "1000", "number of classes, 1 to 65536"};
inline constexpr std::array kClassifierParameters = {kBatch, kSize, kClasses};

inline constexpr std::int64_t kLargestSize = 4096;

inline std::int64_t batch_of(Arguments& arguments) { return arguments.number("batch", 1, 1048576); }
inline std::int64_t classes_of(Arguments& arguments) { return arguments.number("classes", 1, 65536); }

/// For networks on square images.
struct ImageArguments {
  std::int64_t batch, size, classes;
};
inline ImageArguments image_arguments(Arguments& arguments, std::int64_t least_size = 32) {
  return {batch_of(arguments), arguments.number("size", least_size, kLargestSize), classes_of(arguments)};
}

}  // namespace checkmate::zoo
