#include "solve/least_budget/value_sets.h"

#include <algorithm>

namespace checkmate {
namespace {

/// Beyond this many bits, knowing what is made from which op that runs once is not worth it.
constexpr std::size_t kMostBits = std::size_t{1} << 28;

}  // namespace

ValueSets::ValueSets(const Graph& graph) {
  std::vector<Value> value_of(graph.tensor_count());
  std::vector<Value> kept_to_the_end;
  for (const OpId op : graph.ops()) {
    Op made{.first_output = static_cast<Value>(bytes_.size()),
            .end_output = 0,
            .first_input = static_cast<std::uint32_t>(inputs_.size()),
            .end_input = 0,
            .own = graph.workspace(op).count()};
    for (const TensorId tensor : graph.inputs(op)) {
      if (graph.resident(tensor)) continue;
      inputs_.push_back(value_of[tensor.index()]);
      made.own += graph.bytes(tensor).count();
    }
    std::sort(inputs_.begin() + made.first_input, inputs_.end());
    bool read = false;
    bool kept = false;
    for (const TensorId tensor : graph.outputs(op)) {
      const auto value = static_cast<Value>(bytes_.size());
      value_of[tensor.index()] = value;
      bytes_.push_back(graph.bytes(tensor).count());
      maker_.push_back(op);
      made.own += bytes_.back();
      read |= !graph.users(tensor).empty();
      kept |= graph.output(tensor);
      if (graph.output(tensor)) kept_to_the_end.push_back(value);
    }
    if (!read && !kept) targets_.push_back({made.first_output});
    made.end_output = static_cast<Value>(bytes_.size());
    made.end_input = static_cast<std::uint32_t>(inputs_.size());
    all_recomputable_ &= graph.recomputable(op);
    ops_.push_back(made);
  }
  if (!kept_to_the_end.empty()) targets_.push_back(std::move(kept_to_the_end));
  find_descendants(graph);
}

void ValueSets::find_descendants(const Graph& graph) {
  std::vector<OpId> once;
  for (const OpId op : graph.ops()) {
    if (!graph.recomputable(op)) once.push_back(op);
  }
  // Letting such an op run again only makes less memory enough.
  if (once.size() * value_count() > kMostBits) return;
  made_from_.resize(once.size() * value_count());
  for (std::size_t row = 0; row < once.size(); ++row) {
    ops_[once[row].index()].once = static_cast<std::uint32_t>(row);
    const std::size_t start = row * value_count();
    for (std::size_t op = once[row].index(); op < ops_.size(); ++op) {
      bool from = op == once[row].index();
      for (std::uint32_t i = ops_[op].first_input; i < ops_[op].end_input && !from; ++i)
        from = made_from_[start + inputs_[i]];
      for (Value value = ops_[op].first_output; from && value < ops_[op].end_output; ++value)
        made_from_[start + value] = true;
    }
  }
}

bool ValueSets::made_from(Value value, OpId op) const {
  const std::uint32_t row = ops_[op.index()].once;
  return row != kAgain && made_from_[row * value_count() + value];
}

void ValueSets::before(std::span<const Value> set, OpId op, Before& result) const {
  const Op& run = ops_[op.index()];
  result.values.clear();
  result.memory = run.own;
  std::uint32_t input = run.first_input;
  for (const Value value : set) {
    if (value >= run.first_output && value < run.end_output) continue;
    if (made_from(value, op)) {
      result.memory = Before::kNever;
      return;
    }
    while (input < run.end_input && inputs_[input] < value) result.values.push_back(inputs_[input++]);
    if (input < run.end_input && inputs_[input] == value) {
      ++input;
    } else {
      result.memory += bytes_[value];
    }
    result.values.push_back(value);
  }
  result.values.insert(result.values.end(), inputs_.begin() + input, inputs_.begin() + run.end_input);
}

}  // namespace checkmate
