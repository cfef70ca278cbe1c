#include "torch/capture.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <algorithm>
#include <set>

#include "core/try.h"
#include "torch/recorder.h"

namespace checkmate::torch {
namespace {

Error refusal(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

std::string first_line(const char* text) {
  const std::string_view whole(text);
  return std::string(whole.substr(0, whole.find('\n')));
}

std::vector<std::string> names_of(const Situation& situation) {
  std::vector<std::string> names;
  for (const NamedTensor& parameter : situation.parameters) {
    names.push_back(parameter.name);
  }
  for (const NamedTensor& buffer : situation.buffers) {
    names.push_back(buffer.name);
  }
  for (std::size_t i = 0; i < situation.batch.size(); ++i) {
    names.push_back(fmt::format("tensor {} of the batch", i));
  }
  return names;
}

/// What stands before the name in a message.
std::string described(const Situation& situation, std::size_t input, const std::vector<std::string>& names) {
  if (input < situation.parameters.size()) {
    return "parameter " + names[input];
  }
  return input < situation.parameters.size() + situation.buffers.size() ? "buffer " + names[input]
                                                                        : names[input];
}

Result<void> check_inputs(const Situation& situation) {
  const std::vector<at::Tensor> tensors = tensors_of(situation);
  const std::vector<std::string> names = names_of(situation);
  if (situation.parameters.empty()) {
    return refusal("the model has no parameters: there is nothing to train");
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string name = described(situation, i, names);
    if (!tensors[i].defined()) {
      return refusal(fmt::format("{} is an undefined tensor", name));
    }
    if (tensors[i].device() != tensors[0].device()) {
      return refusal(fmt::format(
          "parameter {} is on {} and {} is on {}: one plan is for one device; move all of them to the "
          "same one",
          names[0], tensors[0].device().str(), name, tensors[i].device().str()));
    }
    if (!tensors[i].device().is_cpu()) {
      return refusal(fmt::format("{} is on {}: steps of C++ programs run on the processor so far", name,
                                 tensors[i].device().str()));
    }
    if (tensors[i].layout() != c10::kStrided) {
      return refusal(fmt::format("{} is sparse: make it dense", name));
    }
    if (i >= situation.parameters.size() && tensors[i].requires_grad()) {
      return refusal(fmt::format(
          "{} requires a gradient, which a step does not compute: detach it, or make it a parameter of "
          "the model",
          name));
    }
  }
  const auto trained = [](const NamedTensor& each) { return each.tensor.requires_grad(); };
  if (std::none_of(situation.parameters.begin(), situation.parameters.end(), trained)) {
    return refusal(
        "the model has no parameter that requires a gradient: there is nothing to train; call "
        "requires_grad_(true) on those to be trained");
  }
  return {};
}

at::Tensor checked_loss(const std::vector<at::Tensor>& returned) {
  if (returned.empty() || !returned[0].defined()) {
    throw Refusal(
        "the loss function returned nothing and not a loss: return a scalar tensor, or several with the loss "
        "first");
  }
  const at::Tensor& loss = returned[0];
  if (loss.numel() != 1) {
    throw Refusal(fmt::format(
        "the loss has the shape [{}] and not one element: reduce it, for example with .mean() or .sum()",
        fmt::join(loss.sizes(), ", ")));
  }
  if (!loss.requires_grad()) {
    throw Refusal(
        "the loss does not depend on any parameter that requires a gradient: is it computed under no_grad, "
        "or "
        "detached?");
  }
  return loss.dim() == 0 ? loss : loss.reshape({});
}

/// What backward() begins with, made as Python makes it, so that both find the same costs in the cache.
at::Tensor gradient_of_loss(const at::Tensor& loss) {
  return at::ones_like(loss, at::TensorOptions().pinned_memory(false), at::MemoryFormat::Preserve);
}

/// The loss function and its backward pass, while a recorder listens.
class Session {
 public:
  Session(const Situation& situation, const LossFunction& loss_fn, const KnownLayouts& known)
      : situation_(situation),
        loss_fn_(loss_fn),
        recorder_(tensors_of(situation), names_of(situation), situation.parameters.size(), known) {}

  Captured captured() {
    std::vector<at::Tensor> returned;
    std::vector<at::Tensor> gradients;
    {
      const Interception listening(recorder_);
      const ::torch::jit::GraphOptimizerEnabledGuard as_written(false);
      const at::AutoGradMode history(true);
      returned = loss_fn_(situation_.batch);
      returned.at(0) = checked_loss(returned);
      recorder_.begin(Phase::kBackward);
      gradients = ::torch::autograd::grad({returned[0]}, trained(), {gradient_of_loss(returned[0])}, false,
                                          false, true);
      own_gradients(gradients, returned);
    }
    if (!recorder_.refused().empty()) {
      throw Refusal(recorder_.refused());
    }
    return finished(returned, gradients);
  }

  const std::string& refused() const { return recorder_.refused(); }

 private:
  std::vector<at::Tensor> trained() const {
    std::vector<at::Tensor> found;
    for (const NamedTensor& parameter : situation_.parameters) {
      if (parameter.tensor.requires_grad()) {
        found.push_back(parameter.tensor);
      }
    }
    return found;
  }

  /// As autograd would leave them: dense, in the layout of the parameter, shared with nothing.
  void own_gradients(std::vector<at::Tensor>& gradients, const std::vector<at::Tensor>& returned) {
    const at::NoGradGuard no_history;
    std::set<const void*> taken;
    for (const at::Tensor& tensor : tensors_of(situation_)) {
      taken.insert(recorder_.memory_of(tensor));
    }
    for (const at::Tensor& tensor : returned) {
      taken.insert(recorder_.memory_of(tensor));
    }
    const std::vector<at::Tensor> parameters = trained();
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      at::Tensor& gradient = gradients[i];
      if (!gradient.defined()) {
        continue;
      }
      if (gradient.layout() != c10::kStrided) {
        throw Refusal(
            "the gradient of a parameter is sparse, which steps of C++ programs do not hand out yet: make "
            "the "
            "embedding dense (sparse = false)");
      }
      if (gradient.strides() != parameters[i].strides() || taken.contains(recorder_.memory_of(gradient))) {
        const at::Tensor copy =
            at::empty_strided(parameters[i].sizes(), parameters[i].strides(), gradient.options());
        gradient = copy.copy_(gradient);
      }
      taken.insert(recorder_.memory_of(gradient));
    }
  }

  Captured finished(const std::vector<at::Tensor>& returned, const std::vector<at::Tensor>& gradients) {
    std::vector<Update> made;
    std::vector<ValueId> losses;
    losses.reserve(returned.size());
    for (const at::Tensor& tensor : returned) {
      losses.push_back(recorder_.value_of(tensor));
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < situation_.parameters.size(); ++i) {
      if (situation_.parameters[i].tensor.requires_grad()) {
        if (const at::Tensor& gradient = gradients[next++]; gradient.defined()) {
          made.push_back({i, recorder_.value_of(gradient)});
        }
      }
    }
    std::vector<Update> updates = recorder_.updates();
    check_updates(updates);
    std::vector<std::size_t> accumulated = accumulate(made);
    Captured captured = recorder_.take();
    captured.losses = std::move(losses);
    captured.gradients = std::move(made);
    captured.updates = std::move(updates);
    captured.accumulated = std::move(accumulated);
    return captured;
  }

  void check_updates(const std::vector<Update>& updates) const {
    const std::vector<std::string> names = names_of(situation_);
    const std::size_t owned = situation_.parameters.size() + situation_.buffers.size();
    for (const Update& update : updates) {
      if (update.input >= owned) {
        throw Refusal(fmt::format("the step writes into {}: only the model may change; write into a copy",
                                  update.input < names.size()
                                      ? names[update.input]
                                      : "a tensor that neither the model nor the batch holds"));
      }
    }
  }

  /// Adds the gradients that were made to those that are there, each right after it was made. What is left
  /// are the gradients to hand out.
  std::vector<std::size_t> accumulate(std::vector<Update>& made);

  const Situation& situation_;
  const LossFunction& loss_fn_;
  Recorder recorder_;
};

std::vector<std::size_t> Session::accumulate(std::vector<Update>& made) {
  std::vector<std::size_t> accumulated;
  std::vector<Update> handed_out;
  for (const Update& gradient : made) {
    const at::Tensor& existing = situation_.parameters[gradient.input].tensor.grad();
    if (!existing.defined()) {
      handed_out.push_back(gradient);
      continue;
    }
    recorder_.add_to(existing, situation_.parameters[gradient.input].name, gradient.value);
    accumulated.push_back(gradient.input);
  }
  made = std::move(handed_out);
  return accumulated;
}

}  // namespace

std::vector<at::Tensor> tensors_of(const Situation& situation) {
  std::vector<at::Tensor> tensors;
  for (const auto* named : {&situation.parameters, &situation.buffers}) {
    for (const NamedTensor& each : *named) {
      tensors.push_back(each.tensor);
    }
  }
  tensors.insert(tensors.end(), situation.batch.begin(), situation.batch.end());
  return tensors;
}

Result<Captured> capture(const Situation& situation, const LossFunction& loss_fn, const KnownLayouts& known) {
  CHECKMATE_TRY(check_inputs(situation));
  Session session(situation, loss_fn, known);
  try {
    return session.captured();
  } catch (const Refusal& why) {
    return refusal(why.what());
  } catch (const std::exception& error) {
    if (!session.refused().empty()) {
      return refusal(session.refused());
    }
    const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
    const std::string reason =
        first_line(torch_error != nullptr ? torch_error->what_without_backtrace() : error.what());
    return refusal(fmt::format(
        "the step cannot be captured as a graph: {}; call the loss function and backward() once without "
        "checkmate to see whether they work",
        reason));
  } catch (...) {
    return refusal(
        "the step cannot be captured as a graph: the loss function threw something that is no "
        "std::exception");
  }
}

}  // namespace checkmate::torch
