#pragma once

#include <span>
#include <utility>
#include <vector>

#include "solve/sparse_milp/sparse_model.h"

namespace checkmate {

/// A lower bound on the weighted sum of what is dropped across a moment: a whole solution's answer to the
/// memory row there, which a fractional one meets by dropping a part of one large tensor.
struct CoverCut {
  struct Weight {
    TensorId tensor;
    double weight;
  };
  Stage moment;
  std::vector<Weight> weights;
  double least;
};

/// For each moment the cut that the values break most, if they break one. O(moments x tensors).
std::vector<CoverCut> broken_cover_cuts(const SparseModel& model, std::span<const double> values);

/// The cut as a row; its moment must be one of the model's.
LinearRow row_of(const SparseModel& model, const CoverCut& cut);

}  // namespace checkmate
