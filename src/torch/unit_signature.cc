#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/headeronly/version.h>

#include <fstream>
#include <map>

#include "io/sha256.h"
#include "torch/costs.h"
#include "torch/op_traits.h"
#include "torch/signature.h"

namespace checkmate::torch {
namespace {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) {
      const std::size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
      const std::size_t end = line.find_last_not_of(" \t");
      return begin == std::string::npos ? "" : line.substr(begin, end - begin + 1);
    }
  }
  return "unknown";
}

std::string call_signature(const Program& program, const UnitCall& call,
                           const std::map<NodeId, std::size_t>& internal,
                           const std::map<ValueId, std::pair<NodeId, std::uint32_t>>& made) {
  const Node& node = program.node(call);
  const auto tensor = [&](std::uint32_t position, std::optional<std::uint32_t> element) -> std::string {
    for (const Input& input : node.inputs) {
      if (input.position != position || input.element != element) {
        continue;
      }
      if (const auto found = made.find(input.value);
          found != made.end() && internal.contains(found->second.first)) {
        return fmt::format("%{}[{}]", internal.at(found->second.first), found->second.second);
      }
      return layout_text(program.captured->values[input.value].layout);
    }
    const c10::IValue& number = node.arguments[position];
    return !element && number.isTensor() && number.toTensor().defined()
               ? scalar_text(number.toTensor().item())
               : "None";
  };
  const std::string written = call.written ? fmt::format("{}", *call.written) : "None";
  return fmt::format("{}/{}({})", python_name(call.op), written,
                     fmt::join(argument_texts(node.op.schema(), node.arguments, tensor), ","));
}

}  // namespace

std::string machine() {
  return fmt::format("{} cpu {} {} threads {}", TORCH_VERSION, processor(), at::get_num_threads(),
                     at::get_cpu_capability());
}

std::string unit_signature(const Program& program, const Unit& unit) {
  std::map<NodeId, std::size_t> internal;
  std::map<ValueId, std::pair<NodeId, std::uint32_t>> made;
  std::string text;
  for (std::size_t i = 0; i < unit.calls.size(); ++i) {
    internal.emplace(unit.calls[i].node, i);
    for (const Output& output : program.node(unit.calls[i]).outputs) {
      made[output.value] = {unit.calls[i].node, output.position};
    }
  }
  for (const UnitCall& call : unit.calls) {
    text += text.empty() ? "" : ";";
    text += call_signature(program, call, internal, made);
  }
  return sha256(text);
}

}  // namespace checkmate::torch
