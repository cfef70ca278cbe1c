#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "torch/op_traits.h"
#include "torch/program.h"

namespace checkmate::torch {
namespace {

constexpr int kSmallShare = 4;  // other results may take a quarter of the bytes that are saved

/// An argument that a result may be written over, and the op that does it.
struct Write {
  std::uint32_t argument;
  c10::OperatorHandle op;
};

/// An op is moved into the unit that makes what it reads last, if nobody else reads that.
class InPlace {
 public:
  explicit InPlace(Program& program)
      : program_(program),
        captured_(*program.captured),
        units_(program.units),
        blocks_(program.blocks),
        readers_(program.blocks.size()),
        home_(program.units.size()) {
    for (const Unit& unit : units_) {
      for (const StorageId block : unit.reads) {
        ++readers_[block];
      }
    }
    std::iota(home_.begin(), home_.end(), 0U);
    replaced_.resize(blocks_.size());
    std::iota(replaced_.begin(), replaced_.end(), 0U);
  }

  void fuse() {
    std::int64_t last_ordered = -1;
    for (UnitId index = 0; index < units_.size(); ++index) {
      for (StorageId& block : units_[index].reads) {
        block = current(block);
      }
      if (const auto target = target_of(index, last_ordered)) {
        move(index, *target);
      }
      if (units_[index].ordered()) {
        last_ordered = home_[index];
      }
    }
    renumber();
  }

 private:
  std::int64_t maker(StorageId block) const {
    return blocks_[block].unit ? static_cast<std::int64_t>(home_[*blocks_[block].unit]) : -1;
  }
  StorageId current(StorageId block) const {
    while (replaced_[block] != block) {
      block = replaced_[block];
    }
    return block;
  }
  StorageId block(ValueId value) const { return current(program_.block(value)); }

  /// The block that the unit may write over, and how; nothing if it may not.
  struct Target {
    StorageId block;
    std::optional<Write> write;  ///< nothing: the copy that it makes is left out
  };
  std::optional<Target> target_of(UnitId index, std::int64_t last_ordered) const {
    const Unit& unit = units_[index];
    if (unit.reads.empty() || unit.makes.empty()) {
      return std::nullopt;
    }
    const StorageId latest = *std::max_element(unit.reads.begin(), unit.reads.end(),
                                               [&](StorageId a, StorageId b) { return maker(a) < maker(b); });
    const std::int64_t home = maker(latest);
    const auto same = [&](StorageId read) { return maker(read) == home; };
    if (home < 0 || blocks_[latest].output || readers_[latest] != 1 ||
        std::count_if(unit.reads.begin(), unit.reads.end(), same) != 1) {
      return std::nullopt;
    }
    if (unit.ordered() && home < last_ordered) {
      return std::nullopt;  // what draws random numbers stays in order
    }
    if (program_.first_node(unit).writing == Writing::kCopy) {
      return copies(unit, latest) ? std::optional(Target{latest, std::nullopt}) : std::nullopt;
    }
    for (const Write& write : possible_writes(program_.first_node(unit))) {
      std::int64_t others = 0;
      for (std::size_t i = 1; i < unit.makes.size(); ++i) {
        others += blocks_[unit.makes[i]].bytes;
      }
      if (kSmallShare * others <= blocks_[latest].bytes && covers(program_.first_node(unit), write, latest)) {
        return Target{latest, write};
      }
    }
    return std::nullopt;
  }

  /// Whether the copy is all that the unit reads of the block.
  bool copies(const Unit& unit, StorageId latest) const {
    const Node& copy = program_.first_node(unit);
    if (block(copy.inputs[0].value) != latest) {
      return false;
    }
    const Node& into = program_.node(unit.calls[1]);
    return std::none_of(into.inputs.begin(), into.inputs.end(),
                        [&](const Input& input) { return block(input.value) == latest; });
  }

  static std::vector<Write> possible_writes(const Node& node) {
    const auto form = in_place_form(node.op);
    if (!form || node.outputs.size() != 1) {
      return {};
    }
    std::vector<Write> writes = {{0, *form}};
    if (is_commutative(node.op, node.arguments)) {
      writes.push_back({1, *form});
    }
    return writes;
  }

  /// Whether the argument is the whole block, once, in the layout of the result.
  bool covers(const Node& node, const Write& write, StorageId target) const {
    const Layout* old = nullptr;
    for (const Input& input : node.inputs) {
      if (block(input.value) != target) {
        continue;
      }
      if (input.position != write.argument || input.element) {
        return false;
      }
      old = &captured_.values[input.value].layout;
    }
    const Layout& fresh = captured_.values[node.outputs[0].value].layout;
    // Kernels for complex numbers round otherwise where they read what they write.
    return old != nullptr && *old == fresh && !c10::isComplexType(fresh.type) &&
           old->element_count() * static_cast<std::int64_t>(c10::elementSize(old->type)) ==
               blocks_[target].bytes;
  }

  void move(UnitId index, const Target& target) {
    Unit& unit = units_[index];
    const auto home = static_cast<UnitId>(maker(target.block));
    Unit& into = units_[home];
    home_[index] = home;
    if (target.write) {
      into.calls.push_back({unit.calls[0].node, target.write->op, target.write->argument});
    }
    into.calls.insert(into.calls.end(), unit.calls.begin() + 1, unit.calls.end());
    into.effect |= unit.effect;
    into.random |= unit.random;
    for (const StorageId read : unit.reads) {
      if (read != target.block && std::find(into.reads.begin(), into.reads.end(), read) == into.reads.end()) {
        into.reads.push_back(read);
      }
    }
    into.makes.insert(into.makes.end(), unit.makes.begin() + 1, unit.makes.end());
    const StorageId replacing = unit.makes[0];
    replaced_[replacing] = target.block;
    blocks_[target.block].output |= blocks_[replacing].output;
    readers_[target.block] = readers_[replacing];
    unit.calls.clear();
  }

  /// Leaves out units without calls and blocks that were replaced.
  void renumber() {
    std::vector<UnitId> new_unit(units_.size());
    std::vector<StorageId> new_block(blocks_.size());
    UnitId units = 0;
    for (UnitId i = 0; i < units_.size(); ++i) {
      new_unit[i] = units_[i].calls.empty() ? units : units++;
    }
    std::vector<Block> kept;
    for (StorageId i = 0; i < blocks_.size(); ++i) {
      if (replaced_[i] == i) {
        new_block[i] = static_cast<StorageId>(kept.size());
        kept.push_back(std::move(blocks_[i]));
        if (kept.back().unit) {
          kept.back().unit = new_unit[home_[*kept.back().unit]];
        }
      }
    }
    for (StorageId& each : program_.block_of) {
      each = each < replaced_.size() ? new_block[current(each)] : each;
    }
    std::erase_if(units_, [](const Unit& unit) { return unit.calls.empty(); });
    for (Unit& unit : units_) {
      std::vector<StorageId> reads;
      for (const StorageId read : unit.reads) {
        const StorageId now = new_block[current(read)];
        if (std::find(reads.begin(), reads.end(), now) == reads.end()) {
          reads.push_back(now);
        }
      }
      unit.reads = std::move(reads);
      for (StorageId& made : unit.makes) {
        made = new_block[made];
      }
    }
    blocks_ = std::move(kept);
  }

  Program& program_;
  const Captured& captured_;
  std::vector<Unit>& units_;
  std::vector<Block>& blocks_;
  std::vector<int> readers_;
  std::vector<UnitId> home_;         // the unit into which each was moved
  std::vector<StorageId> replaced_;  // by which other block each was; by itself: not
};

}  // namespace

void write_in_place(Program& program) { InPlace(program).fuse(); }

}  // namespace checkmate::torch
