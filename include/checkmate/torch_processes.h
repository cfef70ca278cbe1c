#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <utility>
#include <vector>

#include "checkmate/torch_step.h"

namespace checkmate::torch {

/// The group's processes, for Options::processes.
inline Processes processes_of(c10::intrusive_ptr<c10d::ProcessGroup> group) {
  Processes processes{.rank = group->getRank(), .size = group->getSize()};
  processes.broadcast = [group](at::Tensor& tensor) {
    std::vector<at::Tensor> tensors = {tensor};
    group->broadcast(tensors)->wait();
  };
  processes.average = [group](std::vector<at::Tensor>& tensors) {
    // One by one, without buckets: a copy of the gradients is memory that the plan does not know of.
    std::vector<c10::intrusive_ptr<c10d::Work>> sums;
    for (at::Tensor& tensor : tensors) {
      std::vector<at::Tensor> one = {tensor};
      sums.push_back(group->allreduce(one));
    }
    for (const auto& sum : sums) sum->wait();
    for (at::Tensor& tensor : tensors) tensor.div_(static_cast<double>(group->getSize()));
  };
  return processes;
}

}  // namespace checkmate::torch
