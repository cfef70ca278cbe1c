#include "torch/agreement.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <cstring>

#include "torch/compiled_step.h"

namespace checkmate::torch {

std::string text_of_first(const Processes& processes, const std::string& text) {
  if (processes.size == 1) {
    return text;
  }
  at::Tensor size = at::full({1}, static_cast<std::int64_t>(text.size()), at::kLong);
  processes.broadcast(size);
  at::Tensor bytes = at::zeros({size.item<std::int64_t>()}, at::kByte);
  if (processes.rank == 0) {
    std::memcpy(bytes.data_ptr(), text.data(), text.size());
  }
  processes.broadcast(bytes);
  return {static_cast<const char*>(bytes.const_data_ptr()), static_cast<std::size_t>(bytes.numel())};
}

Result<void> agree(const Processes& processes, const Result<std::string>& fingerprint) {
  if (processes.size == 1) {
    return fingerprint ? Result<void>() : fingerprint.error();
  }
  const std::string first = text_of_first(processes, fingerprint ? *fingerprint : "");
  const bool differs = fingerprint && !first.empty() && *fingerprint != first;
  std::vector<at::Tensor> wrong = {at::tensor({fingerprint ? 0.0 : 1.0, differs ? 1.0 : 0.0}, at::kDouble)};
  processes.average(wrong);
  if (!fingerprint) {
    return fingerprint.error();
  }
  if (wrong[0][0].item<double>() > 0) {
    return Error{ErrorCode::kInvalidArgument, "another process could not prepare its step: it says why"};
  }
  if (wrong[0][1].item<double>() > 0) {
    return Error{ErrorCode::kInvalidArgument,
                 "a process runs a different step from the first one: give every process the same model, "
                 "loss function and "
                 "batch shape, and the same existing gradients"};
  }
  return {};
}

Result<void> average_gradients(const Processes& processes, const Situation& situation) {
  if (processes.size == 1) {
    return {};
  }
  const at::NoGradGuard no_history;
  std::vector<at::Tensor> gradients;
  for (const NamedTensor& parameter : situation.parameters) {
    if (parameter.tensor.requires_grad() && parameter.tensor.grad().defined()) {
      gradients.push_back(parameter.tensor.grad());
    }
  }
  try {
    processes.average(gradients);
  } catch (...) {
    return error_of_run();
  }
  return {};
}

}  // namespace checkmate::torch
