#include <fmt/format.h>

#include "io/sha256.h"
#include "torch/op_traits.h"
#include "torch/planning.h"

namespace checkmate::torch {
namespace {

std::string inside(const Origin& origin, const std::string& name) {
  return origin.module.empty() ? name : origin.module + ": " + name;
}

template <class Part>
std::string joined(const Unit& unit, const char* between, const Part& part) {
  std::string text;
  for (const UnitCall& call : unit.calls) {
    text += text.empty() ? "" : between;
    text += part(call);
  }
  return text;
}

template <class Ids>
std::vector<TensorId> tensor_ids(const Ids& blocks) {
  std::vector<TensorId> ids;
  for (const StorageId block : blocks) {
    ids.push_back(TensorId{block});
  }
  return ids;
}

}  // namespace

Result<Graph> planning_graph(const Program& program, const std::vector<UnitCost>& costs,
                             const std::string& name, const std::string& cost_unit, Order order,
                             Bytes reserved) {
  GraphBuilder builder(name, cost_unit);
  builder.set_reserved_bytes(reserved);
  std::vector<std::int64_t> sizes;
  sizes.reserve(program.blocks.size());
  for (const Block& block : program.blocks) {
    sizes.push_back(block.bytes);
  }
  for (std::size_t i = 0; i < program.units.size(); ++i) {
    for (std::size_t made = 0; made < costs[i].made.size(); ++made) {
      sizes[program.units[i].makes[made]] = costs[i].made[made];
    }
  }
  for (std::size_t i = 0; i < program.blocks.size(); ++i) {
    const Block& block = program.blocks[i];
    const std::string named =
        block.unit ? inside(program.first_node(program.units[*block.unit]).origin, block.name) : block.name;
    builder.add_tensor(
        {.name = named, .bytes = Bytes{sizes[i]}, .resident = !block.unit, .output = block.output});
  }
  // A tensor of no bytes hands on whose turn it is: what runs once keeps its order, also where the order is
  // free. In a free order random units run once: the state of the generator at their first run must be that
  // of the given order.
  std::optional<TensorId> turn;
  for (std::size_t i = 0; i < program.units.size(); ++i) {
    const Unit& unit = program.units[i];
    const Node& node = program.first_node(unit);
    OpSpec op{.name = inside(node.origin,
                             joined(unit, " + ", [&](const UnitCall& c) { return program.node(c).name; })),
              .kind = joined(unit, "+", [](const UnitCall& c) { return base_name(c.op); }),
              .cost = Cost{costs[i].cost},
              .inputs = tensor_ids(unit.reads),
              .outputs = tensor_ids(unit.makes),
              .workspace = Bytes{costs[i].workspace},
              .phase = node.origin.phase,
              .recomputable = !(unit.effect || (unit.random && order == Order::kFree))};
    if (!op.recomputable) {
      if (turn) {
        op.inputs.push_back(*turn);
      }
      turn = builder.add_tensor({.name = node.name + " done", .bytes = Bytes{0}});
      op.outputs.push_back(*turn);
    }
    builder.add_op(op);
  }
  return std::move(builder).build();
}

std::string fingerprint(const Program& program) {
  std::string text;
  for (const Unit& unit : program.units) {
    text += joined(unit, "+", [](const UnitCall& call) { return python_name(call.op); });
    for (const auto* blocks : {&unit.reads, &unit.makes}) {
      text += ' ';
      for (const StorageId block : *blocks) {
        text += fmt::format("{},", block);
      }
    }
    text += fmt::format(" {} {}\n", unit.effect, unit.random);
  }
  for (const Block& block : program.blocks) {
    if (block.unit) {
      text += fmt::format("{} {}\n", block.bytes, block.output);
    }
  }
  return sha256(text);
}

}  // namespace checkmate::torch
