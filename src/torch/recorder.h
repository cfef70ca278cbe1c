#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "torch/captured.h"
#include "torch/ghosts.h"
#include "torch/interception.h"

namespace checkmate::torch {

/// What cannot be a part of a plan; the message says what to do.
class Refusal : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Writes down each op of a step, and answers with ghosts. Storages are held weakly: autograd adds in place
/// only to what nobody else holds, and must find what it would find without us.
class Recorder final : public Interceptor {
 public:
  /// `parameters`: how many of the inputs are the model's parameters, which tell the module that runs.
  Recorder(const std::vector<at::Tensor>& inputs, std::vector<std::string> names, std::size_t parameters,
           const KnownLayouts& known);

  void run(const c10::OperatorHandle& op, c10::DispatchKeySet below, Stack* stack) override;

  /// What comes from now on belongs to this phase.
  void begin(Phase phase);
  /// The value that the tensor has now. A tensor from elsewhere becomes a constant.
  ValueId value_of(const at::Tensor& tensor);
  bool is_known(const at::Tensor& tensor) const;
  /// Of the storage; numbers that are equal tell that memory is shared.
  const void* memory_of(const at::Tensor& tensor) const { return tensor.storage().unsafeGetStorageImpl(); }
  /// Adds a gradient to the one that is there already, which becomes an input.
  void add_to(const at::Tensor& existing, const std::string& parameter, ValueId gradient);
  /// What inputs are at the end, if anything was written into them.
  std::vector<Update> updates();
  Captured take() { return std::move(captured_); }
  /// The first refusal, which the loss function may have swallowed; empty without one.
  const std::string& refused() const { return refused_; }

 private:
  using Key = std::tuple<StorageId, Layout>;

  void record(const c10::OperatorHandle& op, c10::DispatchKeySet below, Stack& stack);
  void record_new(Node node, const Stack& results);
  void record_writes(Node node, const std::vector<std::uint32_t>& written, Stack& stack,
                     const Stack& arguments);
  bool record_functional(const Node& node, const at::Tensor& target, const Stack& arguments);
  void record_batch_norm(Node node, Stack& stack, const Stack& arguments);
  void record_into_copy(Node node, std::uint32_t written, const at::Tensor& target);

  Node node_of(const c10::OperatorHandle& op, const Stack& arguments);
  void add_results(Node& node, NodeId id, const Stack& results);
  void add_node(Node node);
  std::string unique_name(const c10::OperatorHandle& op);
  StorageId storage_of(const at::Tensor& tensor);
  StorageId new_storage(const at::Tensor& tensor, std::optional<NodeId> maker);
  ValueId value(StorageId storage, Layout layout);
  [[noreturn]] void refuse(const std::string& why);
  std::string where() const;

  Captured captured_;
  std::vector<at::Tensor> inputs_;  // held: they are real
  std::unordered_map<const c10::StorageImpl*, StorageId> current_;
  std::unordered_map<const c10::StorageImpl*, std::size_t> parameter_of_;
  std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>>
      addresses_;                    // which are not used again while these live
  std::vector<StorageId> at_start_;  // of each input
  std::map<Key, ValueId> values_;
  std::map<std::string, int> name_counts_;
  const KnownLayouts& known_;
  std::size_t parameter_count_;
  Origin origin_;
  std::string refused_;
};

}  // namespace checkmate::torch
