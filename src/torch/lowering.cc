#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "torch/program.h"

namespace checkmate::torch {
namespace {

constexpr StorageId kNowhere = static_cast<StorageId>(-1);

class Lowering {
 public:
  explicit Lowering(std::shared_ptr<const Captured> captured) : captured_(*captured) {
    program_.captured = std::move(captured);
    program_.block_of.assign(captured_.storages.size(), kNowhere);
  }

  Program program() {
    find_needed();
    for (std::size_t i = 0; i < captured_.inputs.size(); ++i) {
      const StorageId storage = captured_.values[captured_.inputs[i]].storage;
      if (program_.block_of[storage] == kNowhere) {
        add_block(storage, std::nullopt, captured_.input_names[i]);
      }
    }
    for (const NodeId node : order()) {
      if (needed_[node]) {
        add(node);
      }
    }
    for (const ValueId result : results_of(captured_)) {
      Block& block = program_.blocks[program_.block(result)];
      block.output = block.unit.has_value();
    }
    return std::move(program_);
  }

 private:
  /// What the results need, what draws random numbers or has an effect, and what those need.
  void find_needed() {
    needed_.assign(captured_.nodes.size(), false);
    std::vector<NodeId> wanted;
    const auto want_maker = [&](ValueId value) {
      if (const auto maker = captured_.storages[captured_.values[value].storage].maker) {
        wanted.push_back(*maker);
      }
    };
    for (NodeId id = 0; id < captured_.nodes.size(); ++id) {
      if (captured_.nodes[id].random || captured_.nodes[id].effect()) {
        wanted.push_back(id);
      }
    }
    for (const ValueId result : results_of(captured_)) {
      want_maker(result);
    }
    while (!wanted.empty()) {
      const NodeId id = wanted.back();
      wanted.pop_back();
      if (needed_[id]) {
        continue;
      }
      needed_[id] = true;
      for (const Input& input : captured_.nodes[id].inputs) {
        want_maker(input.value);
      }
      if (captured_.nodes[id].writing == Writing::kCopy) {
        wanted.push_back(id + 1);
      } else if (captured_.nodes[id].writing == Writing::kIntoCopy) {
        wanted.push_back(id - 1);
      }
    }
  }

  /// Of the capture, but that gradients are added to others as soon as they are made.
  std::vector<NodeId> order() const {
    std::vector<std::vector<NodeId>> after(captured_.nodes.size());
    for (NodeId id = 0; id < captured_.nodes.size(); ++id) {
      const Node& node = captured_.nodes[id];
      if (!node.effect()) {
        continue;
      }
      NodeId latest = 0;
      for (const Input& input : node.inputs) {
        latest =
            std::max(latest, captured_.storages[captured_.values[input.value].storage].maker.value_or(0));
      }
      latest += captured_.nodes[latest].writing == Writing::kCopy ? 1 : 0;
      after[latest].push_back(id);
    }
    std::vector<NodeId> order;
    for (NodeId id = 0; id < captured_.nodes.size(); ++id) {
      if (!captured_.nodes[id].effect()) {
        order.push_back(id);
        order.insert(order.end(), after[id].begin(), after[id].end());
      }
    }
    return order;
  }

  void add_block(StorageId storage, std::optional<UnitId> unit, std::string name) {
    program_.block_of[storage] = static_cast<StorageId>(program_.blocks.size());
    program_.blocks.push_back({std::move(name), captured_.storages[storage].bytes, unit});
  }

  void add(NodeId id) {
    const Node& node = captured_.nodes[id];
    if (node.writing == Writing::kIntoCopy) {
      join(id);
      return;
    }
    const auto unit = static_cast<UnitId>(program_.units.size());
    Unit& added = program_.units.emplace_back();
    added.calls = {{id, node.op, std::nullopt}};
    added.effect = node.effect();
    added.random = node.random;
    for (const Input& input : node.inputs) {
      read(added, program_.block(input.value));
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const StorageId storage = captured_.values[node.outputs[i].value].storage;
      if (program_.block_of[storage] == kNowhere) {
        added.makes.push_back(static_cast<StorageId>(program_.blocks.size()));
        add_block(storage, unit, node.outputs.size() == 1 ? node.name : fmt::format("{}.{}", node.name, i));
      }
    }
  }

  /// What writes into a copy is a part of the unit that made the copy: the one before.
  void join(NodeId id) {
    const Node& node = captured_.nodes[id];
    Unit& unit = program_.units.back();
    unit.calls.push_back({id, node.op, std::nullopt});
    unit.random |= node.random;
    for (const Input& input : node.inputs) {
      if (const StorageId block = program_.block(input.value); block != unit.makes[0]) {
        read(unit, block);
      }
    }
  }

  static void read(Unit& unit, StorageId block) {
    if (std::find(unit.reads.begin(), unit.reads.end(), block) == unit.reads.end()) {
      unit.reads.push_back(block);
    }
  }

  const Captured& captured_;
  Program program_;
  std::vector<bool> needed_;
};

}  // namespace

Program lower(std::shared_ptr<const Captured> captured) {
  Program program = Lowering(std::move(captured)).program();
  write_in_place(program);
  return program;
}

}  // namespace checkmate::torch
