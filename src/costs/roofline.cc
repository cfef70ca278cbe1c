#include "costs/roofline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "checkmate/cost_model.h"
#include "core/text.h"
#include "core/try.h"
#include "costs/whole_cost.h"

namespace checkmate {
namespace {

constexpr std::array<std::string_view, 4> kTypes = {"fp32", "tf32", "fp16", "bf16"};

/// Peaks. Operations and bytes per nanosecond are the GFLOP/s and GB/s of a data sheet.
struct Device {
  std::string_view name;
  std::array<double, kTypes.size()> matrix_rates;  ///< by type; 0: no matrix arithmetic of that type
  double vector_rate;  ///< for all types: element-wise kernels compute in fp32 whatever they store
  double bandwidth;
  double launch;  ///< nanoseconds per op
};

constexpr std::array kDevices = {
    Device{"v100", {15'700, 0, 125'000, 0}, 15'700, 900, 5'000},
    Device{"a100", {19'500, 156'000, 312'000, 312'000}, 19'500, 2'039, 5'000},
    Device{"h100", {67'000, 494'700, 989'400, 989'400}, 67'000, 3'350, 5'000},
    Device{"cpu", {96, 0, 0, 0}, 96, 10, 1'000},  // 3 GHz x 2 units x 8 lanes x 2 for a fused multiply-add
};

constexpr auto kDeviceNames = [] {
  std::array<std::string_view, kDevices.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kDevices[i].name;
  return names;
}();

constexpr std::array<std::string_view, 15> kMatrixKinds = {
    "addmm",  "attention",        "baddbmm", "bmm",         "conv1d",
    "conv2d", "conv2d_transpose", "conv3d",  "convolution", "dense",
    "einsum", "flash_attention",  "linear",  "matmul",      "mm"};

// A depthwise convolution has one input channel per filter, nothing that a matrix unit could multiply.
constexpr std::array<std::string_view, 33> kVectorKinds = {
    "add",         "batch_norm", "cross_entropy", "depthwise_conv2d",
    "div",         "dropout",    "elu",           "exp",
    "gelu",        "group_norm", "layer_norm",    "log",
    "log_softmax", "loss",       "masked_fill",   "mean",
    "mul",         "mul_scalar", "neg",           "nll_loss",
    "norm",        "relu",       "relu6",         "rms_norm",
    "sgd",         "sigmoid",    "silu",          "softmax",
    "sqrt",        "sub",        "sum",           "tanh",
    "where"};

// A reshape or flatten that is an op makes a tensor of its own: it copies. A view would not be an op.
constexpr std::array<std::string_view, 18> kMovementKinds = {
    "avg_pool",  "cat",     "clone",           "concat",    "copy",      "crop",
    "embedding", "flatten", "global_avg_pool", "max_pool",  "ones_like", "pad",
    "permute",   "reshape", "slice",           "transpose", "upsample",  "zero_pad"};

template <std::size_t kCount>
bool contains(const std::array<std::string_view, kCount>& kinds, std::string_view kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

/// A device at one type.
struct Machine {
  double matrix_rate, vector_rate, bandwidth, launch;

  Cost time(const Graph& graph, OpId op, double flops_per_cost) const {
    // Distinct tensors of one graph, so their sum stays below kLargestTotal.
    Bytes moved;
    for (const TensorId tensor : graph.inputs(op)) moved += graph.bytes(tensor);
    for (const TensorId tensor : graph.outputs(op)) moved += graph.bytes(tensor);
    const double moving = static_cast<double>(moved.count()) / bandwidth;

    const double flops = static_cast<double>(graph.cost(op).count()) * flops_per_cost;
    const OpClass limit = op_class(graph.kind(op)).value_or(OpClass::kVector);
    const double computing = limit == OpClass::kMatrix   ? flops / matrix_rate
                             : limit == OpClass::kVector ? flops / vector_rate
                                                         : 0;
    return whole_cost(launch + std::max(moving, computing));
  }
};

Result<Machine> find_machine(std::string_view spec) {
  const std::string name = lower_case(spec.substr(0, spec.find(':')));
  const std::string type =
      name.size() < spec.size() ? lower_case(spec.substr(name.size() + 1)) : std::string(kTypes[0]);
  const auto* const device =
      std::find_if(kDevices.begin(), kDevices.end(), [&](const Device& d) { return d.name == name; });
  if (device == kDevices.end()) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("unknown device {}; known are {}", in_quotes(name),
                                                          fmt::join(kDeviceNames, ", "))};
  }
  std::vector<std::string_view> known;
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    const double rate = device->matrix_rates.at(i);
    if (rate == 0) continue;
    if (kTypes.at(i) == type) return Machine{rate, device->vector_rate, device->bandwidth, device->launch};
    known.push_back(kTypes.at(i));
  }
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{} does not support {}; it supports {}", device->name, in_quotes(type),
                           fmt::join(known, ", "))};
}

}  // namespace

std::optional<OpClass> op_class(std::string_view kind) {
  for (const std::string_view suffix : {"_grad", "_backward"}) {
    if (!kind.ends_with(suffix)) continue;
    kind.remove_suffix(suffix.size());
    break;
  }
  if (contains(kMatrixKinds, kind)) return OpClass::kMatrix;
  if (contains(kVectorKinds, kind)) return OpClass::kVector;
  if (contains(kMovementKinds, kind)) return OpClass::kMovement;
  return std::nullopt;
}

Result<std::vector<Cost>> roofline_costs(const Graph& graph, std::string_view device, double flops_per_cost) {
  CHECKMATE_TRY(const Machine machine, find_machine(device));
  std::vector<Cost> costs;
  costs.reserve(graph.op_count());
  for (const OpId op : graph.ops()) costs.push_back(machine.time(graph, op, flops_per_cost));
  return costs;
}

std::span<const std::string_view> cost_devices() { return kDeviceNames; }

std::size_t unknown_kind_count(const Graph& graph) {
  std::size_t count = 0;
  for (const OpId op : graph.ops()) count += op_class(graph.kind(op)) ? 0 : 1;
  return count;
}

}  // namespace checkmate
