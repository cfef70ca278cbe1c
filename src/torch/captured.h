#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkmate/graph.h"

/// A training step as it was captured: aten ops over values, none of which is ever written over. What an op
/// writes in place is a new storage.
namespace checkmate::torch {

using Stack = ::torch::jit::Stack;

using ValueId = std::uint32_t;
using StorageId = std::uint32_t;
using NodeId = std::uint32_t;

struct Layout {
  std::vector<std::int64_t> sizes = {};
  std::vector<std::int64_t> strides = {};
  std::int64_t offset = 0;  ///< in elements
  c10::ScalarType type = c10::ScalarType::Float;
  auto operator<=>(const Layout&) const = default;

  static Layout of(const at::Tensor& tensor);
  std::int64_t element_count() const;
  /// From the first byte of the storage to the last element.
  std::int64_t extent() const;
};

/// A tensor of the step: a part of a storage, and how it is read.
struct Value {
  StorageId storage;
  Layout layout;
};

/// A block of memory with one content.
struct CapturedStorage {
  std::int64_t bytes;
  std::optional<NodeId> maker;  ///< nothing: it is there from the start
};

/// A tensor among the arguments of an op.
struct Input {
  std::uint32_t position;
  std::optional<std::uint32_t> element;  ///< of a list
  ValueId value;
};

/// A tensor among the results of an op.
struct Output {
  std::uint32_t position;
  std::optional<std::uint32_t> element;
  ValueId value;
};

/// What an op does to the memory of its arguments.
enum class Writing : std::uint8_t {
  kNothing,
  kCopy,      ///< it copies a whole storage, for the next node to write into the copy
  kIntoCopy,  ///< it writes into the copy that the node before it made
  kInput,     ///< it writes into an input of the step: it runs exactly once
};

struct Origin {
  Phase phase = Phase::kForward;
  std::string module = {};
};

/// An op that runs in the step.
struct Node {
  c10::OperatorHandle op;
  std::string name;      ///< such as `relu_1`, of no other node
  Stack arguments = {};  ///< without the tensors that are values
  std::vector<Input> inputs = {};
  std::vector<Output> outputs = {};
  Writing writing = Writing::kNothing;
  bool random = false;  ///< it draws random numbers
  Origin origin = {};

  bool effect() const { return writing == Writing::kInput; }
};

/// A result of the step that belongs to an input.
struct Update {
  std::size_t input;
  ValueId value;
};

struct Captured {
  std::vector<Node> nodes = {};
  std::vector<Value> values = {};
  std::vector<CapturedStorage> storages = {};
  std::vector<ValueId> inputs = {};           ///< in the order of the step's signature
  std::vector<at::Tensor> constants = {};     ///< the inputs that neither the model nor the batch holds
  std::vector<ValueId> losses = {};           ///< the loss, and what was returned in addition to it
  std::vector<Update> gradients = {};         ///< of parameters
  std::vector<Update> updates = {};           ///< what inputs are at the end, if the step writes into them
  std::vector<std::size_t> accumulated = {};  ///< parameters whose gradients are added to earlier ones
  std::vector<std::string> input_names = {};
};

/// The values that the step hands out.
std::vector<ValueId> results_of(const Captured& captured);

}  // namespace checkmate::torch
