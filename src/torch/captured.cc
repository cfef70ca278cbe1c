#include "torch/captured.h"

#include <numeric>

namespace checkmate::torch {

Layout Layout::of(const at::Tensor& tensor) {
  return {tensor.sizes().vec(), tensor.strides().vec(), tensor.storage_offset(), tensor.scalar_type()};
}

std::int64_t Layout::element_count() const {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t Layout::extent() const {
  if (element_count() == 0) {
    return 0;
  }
  std::int64_t last = offset;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    last += (sizes[i] - 1) * strides[i];
  }
  return (last + 1) * static_cast<std::int64_t>(c10::elementSize(type));
}

std::vector<ValueId> results_of(const Captured& captured) {
  std::vector<ValueId> results = captured.losses;
  for (const auto* list : {&captured.gradients, &captured.updates}) {
    for (const Update& update : *list) {
      results.push_back(update.value);
    }
  }
  return results;
}

}  // namespace checkmate::torch
