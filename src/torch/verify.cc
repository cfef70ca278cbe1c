#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <chrono>
#include <cstring>
#include <limits>

#include "core/try.h"
#include "torch/memory.h"
#include "torch/step_state.h"

namespace checkmate::torch {
namespace {

/// Between two tensors of one shape and type.
Distance distance(const at::Tensor& first, const at::Tensor& second) {
  const at::Tensor a = first.contiguous();
  const at::Tensor b = second.contiguous();
  const auto size = static_cast<std::size_t>(a.element_size());
  const auto* left = static_cast<const char*>(a.const_data_ptr());
  const auto* right = static_cast<const char*>(b.const_data_ptr());
  Distance found;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.numel()); ++i) {
    found.differing += std::memcmp(left + i * size, right + i * size, size) != 0 ? 1 : 0;
  }
  if (!found.none()) {
    const at::Tensor apart = at::sub(a.to(at::kDouble), b.to(at::kDouble)).abs();
    found.largest = apart.nan_to_num(std::numeric_limits<double>::infinity()).max().item<double>();
  }
  return found;
}

Distance distance(const std::vector<at::Tensor>& first, const std::vector<at::Tensor>& second) {
  Distance total;
  for (std::size_t i = 0; i < first.size(); ++i) {
    Distance each;
    if (first[i].defined() && second[i].defined()) {
      each = distance(first[i], second[i]);
    } else if (first[i].defined() || second[i].defined()) {
      each = {(first[i].defined() ? first : second)[i].numel(), std::numeric_limits<double>::infinity()};
    }
    total.differing += each.differing;
    total.largest = std::max(total.largest, each.largest);
  }
  return total;
}

at::Tensor copy_of(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.detach().clone() : at::Tensor();
}

/// Puts back gradients, parameters, buffers and the generator.
class Restored {
 public:
  explicit Restored(Situation situation)
      : situation_(std::move(situation)), random_(at::detail::getDefaultCPUGenerator().get_state()) {
    for (const NamedTensor& parameter : situation_.parameters) {
      values_.push_back(copy_of(parameter.tensor));
      gradients_.push_back(copy_of(parameter.tensor.grad()));
    }
    for (const NamedTensor& buffer : situation_.buffers) {
      values_.push_back(copy_of(buffer.tensor));
    }
  }
  ~Restored() { restore(); }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

  void restore() const {
    const at::NoGradGuard no_history;
    std::size_t next = 0;
    for (const NamedTensor& parameter : situation_.parameters) {
      parameter.tensor.mutable_grad() = copy_of(gradients_[next]);
      parameter.tensor.copy_(values_[next++]);
    }
    for (const NamedTensor& buffer : situation_.buffers) {
      buffer.tensor.copy_(values_[next++]);
    }
    at::Generator(at::detail::getDefaultCPUGenerator()).set_state(random_);
  }
  const Situation& situation() const { return situation_; }

 private:
  Situation situation_;
  std::vector<at::Tensor> values_;
  std::vector<at::Tensor> gradients_;
  at::Tensor random_;
};

/// One way to run the step, and what came of it.
struct Contender {
  std::function<Result<at::Tensor>()> run;
  at::Tensor loss = {};
  std::vector<at::Tensor> gradients = {};
  std::vector<at::Tensor> buffers = {};
  Bytes peak = {};
  double seconds = std::numeric_limits<double>::infinity();

  Result<void> look(const Restored& restored, Bytes fixed) {
    CHECKMATE_TRY(loss, run());
    loss = copy_of(loss);
    for (const NamedTensor& parameter : restored.situation().parameters) {
      gradients.push_back(copy_of(parameter.tensor.grad()));
      buffers.push_back(copy_of(parameter.tensor));
    }
    for (const NamedTensor& buffer : restored.situation().buffers) {
      buffers.push_back(copy_of(buffer.tensor));
    }
    restored.restore();
    Result<at::Tensor> again = loss;
    peak = fixed + Bytes{peak_bytes([&] { again = run(); })};
    restored.restore();
    return again ? Result<void>() : again.error();
  }

  Result<void> time(const Restored& restored) {
    const auto begin = std::chrono::steady_clock::now();
    CHECKMATE_TRY(const at::Tensor made, run());
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    seconds = std::min(seconds, taken.count());
    restored.restore();
    return {};
  }
};

Verification::Difference difference(const Contender& a, const Contender& b) {
  return {distance({a.loss}, {b.loss}), distance(a.gradients, b.gradients), distance(a.buffers, b.buffers)};
}

std::string text(const Distance& distance) {
  return distance.none()
             ? "bitwise equal"
             : fmt::format("{} elements differ, by at most {:.3g}", distance.differing, distance.largest);
}

std::string text(const Verification::Difference& difference) {
  if (difference.none()) {
    return "loss, gradients and buffers bitwise equal";
  }
  return fmt::format("loss: {}; gradients: {}; buffers: {}", text(difference.loss),
                     text(difference.gradients), text(difference.buffers));
}

}  // namespace

Result<Verification> Step::verify(const std::vector<at::Tensor>& batch, int repeats) {
  if (repeats < 1) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("repeats must be 1 or more, got {}", repeats)};
  }
  CHECKMATE_TRY(Situation now, state_->situation(batch));
  CHECKMATE_TRY(CompiledStep* const planned, state_->prepared(now));
  CHECKMATE_TRY(CompiledStep keep_all, planned->without_recomputation());
  const Restored restored(std::move(now));
  const auto by = [&](CompiledStep& step) -> std::function<Result<at::Tensor>()> {
    return [&]() -> Result<at::Tensor> {
      CHECKMATE_TRY(const std::vector<at::Tensor> losses, step.run(restored.situation()));
      return losses.front();
    };
  };
  const auto eagerly = [&]() -> Result<at::Tensor> {
    try {
      const std::vector<at::Tensor> losses = state_->loss_fn(batch);
      ::torch::autograd::backward({losses.at(0)}, {});
      return losses[0].detach();
    } catch (...) {
      return error_of_run();
    }
  };
  std::array<Contender, 3> runs = {Contender{by(*planned)}, Contender{by(keep_all)}, Contender{eagerly}};
  const Bytes fixed = planned->graph().fixed_bytes();
  for (Contender& each : runs) {
    CHECKMATE_TRY(each.look(restored, fixed));
  }
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (Contender& each : runs) {  // in turns, so that what else the machine does falls on all of them
      CHECKMATE_TRY(each.time(restored));
    }
  }
  const PlanRecord& record = planned->record();
  return Verification{.from_keep_all = difference(runs[0], runs[1]),
                      .from_eager = difference(runs[0], runs[2]),
                      .budget = record.budget.value_or(*record.peak),
                      .predicted_peak = *record.peak,
                      .measured_peak = runs[0].peak,
                      .keep_all_peak = runs[1].peak,
                      .eager_peak = runs[2].peak,
                      .arena = fixed + Bytes{planned->allocated().value_or(0)},
                      .predicted_overhead = checkmate::overhead(planned->graph(), *record.cost),
                      .seconds = runs[0].seconds,
                      .keep_all_seconds = runs[1].seconds,
                      .eager_seconds = runs[2].seconds};
}

std::string to_string(const Verification& seen) {
  return fmt::format(
      "{}: peak {} of {} (predicted {}, without recomputation {})\narena {}\n"
      "time {:.3f} s, {:.3f}x the step without recomputation (predicted {:.3f}x)\n"
      "against the step without recomputation: {}\nagainst eager LibTorch ({}, {:.3f} s): {}",
      seen.holds() ? "holds" : "DOES NOT HOLD", to_string(seen.measured_peak), to_string(seen.budget),
      to_string(seen.predicted_peak), to_string(seen.keep_all_peak), to_string(seen.arena), seen.seconds,
      seen.seconds / seen.keep_all_seconds, seen.predicted_overhead, text(seen.from_keep_all),
      to_string(seen.eager_peak), seen.eager_seconds, text(seen.from_eager));
}

}  // namespace checkmate::torch
