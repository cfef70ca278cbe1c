#include "zoo/autograd_tape.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace checkmate::zoo::autograd {

Tape::Scope::Scope(Tape& tape, std::string_view name) : tape_(tape), length_(tape.scope_.size()) {
  tape.scope_ = tape.in_scope(name);
}

Tape::Tape(std::string graph_name, std::int64_t element_bytes)
    : builder_(std::move(graph_name), "mac"), element_bytes_(element_bytes) {}

std::string Tape::in_scope(std::string_view suffix) const {
  if (scope_.empty() || suffix.empty()) return scope_ + std::string(suffix);
  return fmt::format("{}.{}", scope_, suffix);
}

std::int64_t Tape::bytes_of(Type type) const {
  switch (type) {
    case Type::kElement:
      return element_bytes_;
    case Type::kStatistic:
      return 4;
    case Type::kMask:
      return 1;
    case Type::kIndex:
      return 8;
  }
  throw std::logic_error("every element type has a size");
}

TensorId Tape::new_tensor(TensorSpec spec) {
  const TensorId id{static_cast<std::uint32_t>(tensors_.size())};
  tensors_.push_back(std::move(spec));
  return id;
}

std::uint32_t Tape::new_slot(std::string name) {
  slots_.push_back({.name = std::move(name), .sum = std::nullopt});
  return static_cast<std::uint32_t>(slots_.size() - 1);
}

Value Tape::resident(std::string_view name, std::int64_t rows, std::int64_t columns, Type type) {
  const Bytes bytes{rows * columns * bytes_of(type)};
  return {new_tensor({.name = in_scope(name), .bytes = bytes, .resident = true}), rows, columns};
}

Value Tape::constant(std::string_view name, std::int64_t rows, std::int64_t columns, Type type) {
  return resident(name, rows, columns, type);
}

Value Tape::parameter(std::string_view name, std::int64_t rows, std::int64_t columns) {
  Value parameter = resident(name, rows, columns, Type::kElement);
  parameter.slot = new_slot(in_scope(name));
  parameters_.push_back(parameter);
  return parameter;
}

std::vector<Value> Tape::run_many(const Kernel& kernel, const std::vector<Output>& outputs) {
  OpSpec op{.name = in_scope(kernel.suffix),
            .kind = std::string(kernel.kind),
            .cost = Cost{kernel.cost},
            .inputs = {},
            .outputs = {},
            .workspace = kernel.workspace,
            .phase = phase_,
            .recomputable = kernel.recomputable};
  for (const Value& value : kernel.reads) op.inputs.push_back(value.tensor);

  std::vector<Value> made;
  for (const Output& output : outputs) {
    std::string name = output.suffix.empty() ? op.name : fmt::format("{}.{}", op.name, output.suffix);
    const Bytes bytes{output.rows * output.columns * bytes_of(output.type)};
    const TensorId tensor = new_tensor({.name = std::move(name), .bytes = bytes});
    op.outputs.push_back(tensor);
    made.push_back({tensor, output.rows, output.columns});
  }
  if (phase_ == Phase::kForward || phase_ == Phase::kLoss) made.front().slot = new_slot(op.name);
  builder_.add_op(op);
  return made;
}

Value Tape::run(const Kernel& kernel, const Output& output) { return run_many(kernel, {output}).front(); }

Value Tape::view(Value base, std::int64_t rows, std::int64_t columns) {
  return {base.tensor, rows, columns, new_slot(scope_)};
}

Value Tape::gradient(Value value) const {
  const Slot& slot = slots_.at(value.slot);
  if (!slot.sum)
    throw std::logic_error(fmt::format("{} has no gradient: the loss must depend on it", slot.name));
  return {*slot.sum, value.rows, value.columns};
}

void Tape::pass_gradient(Value to, Value gradient) {
  if (to.differentiable()) passed_.emplace_back(to, gradient);
}

void Tape::add_up(Value to, Value gradient) {
  Slot& slot = slots_[to.slot];
  if (++slot.arrivals == 1) {
    slot.sum = gradient.tensor;
    return;
  }
  scope_ = fmt::format("{}.grad.sum{}", slot.name, slot.arrivals);
  const Value before{*slot.sum, to.rows, to.columns};
  const Kernel sum{.kind = "add", .cost = to.elements(), .reads = {before, gradient}};
  slot.sum = run(sum, {"", to.rows, to.columns}).tensor;
}

void Tape::run_backward(const Kernel& kernel, const std::vector<Target>& targets) {
  std::vector<Output> outputs;
  outputs.reserve(targets.size());
  for (const auto& [suffix, value] : targets) outputs.push_back({suffix, value.rows, value.columns});
  const std::vector<Value> gradients = run_many(kernel, outputs);
  for (std::size_t i = 0; i < targets.size(); ++i) pass_gradient(targets[i].value, gradients[i]);
}

void Tape::backward(Value loss) {
  enter(Phase::kBackward);
  tensors_[loss.tensor.index()].output = true;
  scope_ = slots_[loss.slot].name;
  run_backward({.kind = "ones_like", .suffix = "grad", .cost = 1, .reads = {loss}}, loss);
  while (true) {
    // Not before all of the step's kernels have run: so does autograd's engine.
    for (const auto& [to, gradient] : passed_) add_up(to, gradient);
    passed_.clear();
    if (steps_.empty()) break;
    scope_ = steps_.back().scope;
    steps_.back().run(*this);
    steps_.pop_back();
  }
  scope_.clear();
  for (const Value& parameter : parameters_) {
    TensorSpec& grad = tensors_[gradient(parameter).tensor.index()];
    grad.name = slots_[parameter.slot].name + ".grad";
    grad.output = true;
  }
}

void Tape::clip_and_update() {
  enter(Phase::kUpdate);
  std::vector<Value> gradients;
  std::int64_t elements = 0;
  for (const Value& parameter : parameters_) {
    gradients.push_back(gradient(parameter));
    elements += parameter.elements();
  }
  const Value norm = run({.kind = "norm", .suffix = "gradient_norm", .cost = elements, .reads = gradients},
                         {"", 1, 1, Type::kStatistic});
  for (const Value& parameter : parameters_) {
    const Scope scope(*this, slots_[parameter.slot].name);
    // It changes the weight in place, so it makes no memory and must not run twice.
    run({.kind = "sgd",
         .suffix = "update",
         .cost = 2 * parameter.elements(),
         .reads = {parameter, gradient(parameter), norm},
         .recomputable = false},
        {"", 0, 0});
  }
}

Result<Graph> Tape::finish() && {
  for (const TensorSpec& tensor : tensors_) builder_.add_tensor(tensor);
  return std::move(builder_).build();
}

}  // namespace checkmate::zoo::autograd
