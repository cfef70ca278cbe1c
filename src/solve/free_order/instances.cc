#include "solve/free_order/instances.h"

#include <algorithm>
#include <cmath>

namespace checkmate {
namespace {

void remove_one(std::vector<std::uint32_t>& items, std::uint32_t item) {
  *std::find(items.begin(), items.end(), item) = items.back();
  items.pop_back();
}

}  // namespace

Instances::Instances(const SearchGraph& graph)
    : graph_(graph),
      toll_(std::max(1.0, std::floor(graph.budget / 1000))),
      penalty_(graph.budget, toll_),
      runs_(graph.cost.size()),
      spares_(graph.cost.size()),
      repeated_at_(graph.cost.size()) {}

void Instances::load(std::span<const OpId> steps) {
  clear();
  std::vector<Instance> latest(graph_.cost.size(), kNobody);
  for (const std::uint32_t op : useful(steps)) {
    const Instance instance = take(op);
    const Node& node = nodes_[instance];
    position_[instance] = static_cast<Position>(sequence_.size());
    for (std::uint32_t i = 0; i < node.input_count; ++i) {
      const std::uint32_t tensor = graph_.inputs[op][i];
      const Value value = nodes_[latest[graph_.producer[tensor]]].first_value + graph_.slot[tensor];
      inputs_[node.first_input + i] = value;
      attach(value, instance);
    }
    latest[op] = instance;
    sequence_.push_back(instance);
    count_run(instance);
  }
  size_ = static_cast<std::uint32_t>(sequence_.size()) - 1;
  recompute_memory();
}

/// The ops of the steps that another step reads or that are the first of their op, and the end.
std::vector<std::uint32_t> Instances::useful(std::span<const OpId> steps) const {
  std::vector<std::uint32_t> ops;
  for (const OpId step : steps) ops.push_back(step.value);
  ops.push_back(graph_.end());
  std::vector<std::uint32_t> latest(graph_.cost.size());
  std::vector<std::uint32_t> count(graph_.cost.size(), 0);
  std::vector<std::uint32_t> sources;  // of all steps, end to end
  std::vector<std::uint32_t> readers(ops.size(), 0);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    for (const std::uint32_t input : graph_.inputs[ops[i]]) {
      sources.push_back(latest[graph_.producer[input]]);
      ++readers[sources.back()];
    }
    latest[ops[i]] = static_cast<std::uint32_t>(i);
    ++count[ops[i]];
  }
  std::size_t end = sources.size();
  for (std::size_t i = ops.size(); i-- > 0;) {
    const std::size_t begin = end - graph_.inputs[ops[i]].size();
    if (readers[i] == 0 && count[ops[i]] > 1) {
      for (std::size_t source = begin; source < end; ++source) --readers[sources[source]];
      --count[ops[i]];
      ops[i] = kNobody;
    }
    end = begin;
  }
  ops.erase(std::remove(ops.begin(), ops.end(), kNobody), ops.end());
  return ops;
}

void Instances::clear() {
  commit();
  for (std::size_t op = 0; op < runs_.size(); ++op) {
    for (const Instance instance : runs_[op]) {
      for (std::uint32_t i = 0; i < nodes_[instance].value_count; ++i)
        values_[nodes_[instance].first_value + i].consumers.clear();
    }
    spares_[op].insert(spares_[op].end(), runs_[op].begin(), runs_[op].end());
    runs_[op].clear();
  }
  repeated_.clear();
  sequence_.clear();
  cost_ = 0;
}

/// An instance of the op that is nowhere yet. Numbers, and the room for inputs and values that goes with
/// them, are used again by the same op only.
Instances::Instance Instances::take(std::uint32_t op) {
  if (!spares_[op].empty()) {
    const Instance instance = spares_[op].back();
    spares_[op].pop_back();
    return instance;
  }
  const auto inputs = graph_.inputs[op];
  const auto instance = static_cast<Instance>(nodes_.size());
  nodes_.push_back({graph_.made[op], op, static_cast<std::uint32_t>(inputs_.size()),
                    static_cast<std::uint32_t>(inputs.size()), static_cast<std::uint32_t>(values_.size()),
                    static_cast<std::uint32_t>(graph_.outputs[op].size())});
  position_.push_back(0);
  inputs_.resize(inputs_.size() + inputs.size());
  for (const std::uint32_t output : graph_.outputs[op])
    values_.push_back({graph_.bytes[output], instance, {}});
  return instance;
}

void Instances::recompute_memory() {
  memory_.assign(sequence_.size(), 0);
  tried_.resize(sequence_.size());
  std::vector<double> change(sequence_.size() + 1, 0);  // from one position to the next
  for (std::size_t i = 0; i < sequence_.size(); ++i) {
    const Node& node = nodes_[sequence_[i]];
    change[i] += node.own;
    change[i + 1] -= graph_.workspace[node.op];
    for (Value value = node.first_value; value < node.first_value + node.value_count; ++value)
      change[last_use(value) + 1] -= values_[value].bytes;
  }
  double now = 0;
  for (std::size_t i = 0; i < sequence_.size(); ++i) memory_[i] = now += change[i];
  overflow_ = penalty_.sum(memory_.data(), static_cast<std::uint32_t>(memory_.size()));
}

std::vector<OpId> Instances::steps() const {
  std::vector<OpId> steps;
  steps.reserve(size_);
  for (Position i = 0; i < size_; ++i) steps.push_back(OpId{nodes_[sequence_[i]].op});
  return steps;
}

std::uint32_t Instances::input_of(Instance consumer, Value value) const {
  const std::span<const Value> all = inputs(consumer);
  return static_cast<std::uint32_t>(std::find(all.begin(), all.end(), value) - all.begin());
}

bool Instances::read(Instance instance) const {
  const Node& node = nodes_[instance];
  for (Value value = node.first_value; value < node.first_value + node.value_count; ++value)
    if (!values_[value].consumers.empty()) return true;
  return false;
}

Instances::Position Instances::last_use_without(Value value, Instance ignored) const {
  const ValueState& state = values_[value];
  if (!state.consumers.empty() && state.consumers.front() != ignored) return last_use(value);
  Position last = position_[state.maker];
  for (const Instance consumer : state.consumers)
    if (consumer != ignored) last = std::max(last, position_[consumer]);
  return last;
}

Instances::Instance Instances::latest_before(std::uint32_t op, Position position) const {
  Instance latest = kNobody;
  for (const Instance run : runs_[op]) {
    if (position_[run] < position && (latest == kNobody || position_[run] > position_[latest])) latest = run;
  }
  return latest;
}

double Instances::extension_overflow(Value value, Position position) const {
  const Position first = last_use(value) + 1;
  return penalty_.change(memory_.data() + first, position - first, values_[value].bytes);
}

double Instances::relief(Value value, Position first, Position end) const {
  return -penalty_.change(memory_.data() + first, end - first, -values_[value].bytes);
}

/// To the positions from `first` up to, but without, `last`.
void Instances::add(Position first, Position last, double bytes) {
  overflow_ += penalty_.add(memory_.data() + first, last - first, bytes);
}

void Instances::attach(Value value, Instance consumer) {
  std::vector<Instance>& consumers = values_[value].consumers;
  consumers.push_back(consumer);
  if (position_[consumer] > position_[consumers.front()]) std::swap(consumers.front(), consumers.back());
}

void Instances::detach(Value value, Instance consumer) {
  std::vector<Instance>& consumers = values_[value].consumers;
  const bool was_last = consumers.front() == consumer;
  remove_one(consumers, consumer);
  if (was_last) bring_last_to_front(value);
}

void Instances::bring_last_to_front(Value value) {
  std::vector<Instance>& consumers = values_[value].consumers;
  for (Instance& consumer : consumers)
    if (position_[consumer] > position_[consumers.front()]) std::swap(consumers.front(), consumer);
}

void Instances::count_run(Instance instance) {
  const std::uint32_t op = nodes_[instance].op;
  runs_[op].push_back(instance);
  cost_ += graph_.cost[op];
  if (runs_[op].size() != 2) return;
  repeated_at_[op] = static_cast<std::uint32_t>(repeated_.size());
  repeated_.push_back(op);
}

void Instances::discount_run(Instance instance) {
  const std::uint32_t op = nodes_[instance].op;
  remove_one(runs_[op], instance);
  cost_ -= graph_.cost[op];
  if (runs_[op].size() != 1) return;
  repeated_[repeated_at_[op]] = repeated_.back();
  repeated_at_[repeated_.back()] = repeated_at_[op];
  repeated_.pop_back();
}

/// Puts an unread instance, with its inputs, at the position.
void Instances::link(Instance instance, Position position) {
  const double before = carried(position);
  sequence_.insert(sequence_.begin() + position, instance);
  memory_.insert(memory_.begin() + position, before + nodes_[instance].own);
  if (tried_.size() < memory_.size()) tried_.resize(2 * memory_.size());
  ++size_;
  for (Position i = position; i <= size_; ++i) position_[sequence_[i]] = i;
  overflow_ += penalty_.of(memory_[position]);
  for (const Value input : inputs(instance)) {
    const Position last = last_use(input);
    if (last < position) add(last + 1, position + 1, values_[input].bytes);
    attach(input, instance);
  }
  count_run(instance);
}

void Instances::unlink(Instance instance) {
  const Position position = position_[instance];
  for (const Value input : inputs(instance)) {
    detach(input, instance);
    const Position last = last_use(input);
    if (last < position) add(last + 1, position + 1, -values_[input].bytes);
  }
  overflow_ -= penalty_.of(memory_[position]);
  sequence_.erase(sequence_.begin() + position);
  memory_.erase(memory_.begin() + position);
  --size_;
  for (Position i = position; i <= size_; ++i) position_[sequence_[i]] = i;
  position_[instance] = kNobody;
  discount_run(instance);
}

/// Both values are of the same tensor: only where just one of them is there does the memory change.
void Instances::bind(Instance consumer, std::uint32_t input, Value to) {
  Value& bound = inputs_[nodes_[consumer].first_input + input];
  const Position here = position_[consumer];
  detach(bound, consumer);
  const Position old_last = std::min(last_use(bound), here);
  const Position new_last = std::min(last_use(to), here);
  attach(to, consumer);
  if (old_last < new_last) {
    add(old_last + 1, new_last + 1, -values_[to].bytes);
  } else {
    add(new_last + 1, old_last + 1, values_[to].bytes);
  }
  bound = to;
}

Instances::Instance Instances::insert(std::uint32_t op, Position position) {
  const Instance instance = take(op);
  const auto inputs = graph_.inputs[op];
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::uint32_t tensor = inputs[i];
    const Instance source = latest_before(graph_.producer[tensor], position);
    if (source == kNobody) {
      spares_[op].push_back(instance);
      return kNobody;
    }
    inputs_[nodes_[instance].first_input + static_cast<std::uint32_t>(i)] =
        nodes_[source].first_value + graph_.slot[tensor];
  }
  link(instance, position);
  log_.push_back({Change::Kind::kInsert, instance, position});
  return instance;
}

void Instances::erase(Instance instance) {
  log_.push_back({Change::Kind::kErase, instance, position_[instance]});
  erased_.push_back(instance);
  unlink(instance);
}

void Instances::rebind(Instance consumer, std::uint32_t input, Value to) {
  log_.push_back({Change::Kind::kRebind, consumer, input, inputs(consumer)[input]});
  bind(consumer, input, to);
}

void Instances::undo(std::size_t mark) {
  for (; log_.size() > mark; log_.pop_back()) {
    const Change& change = log_.back();
    switch (change.kind) {
      case Change::Kind::kInsert:
        unlink(change.instance);
        spares_[nodes_[change.instance].op].push_back(change.instance);
        break;
      case Change::Kind::kErase:
        erased_.pop_back();
        link(change.instance, change.place);
        break;
      case Change::Kind::kRebind:
        bind(change.instance, change.place, change.from);
        break;
    }
  }
}

void Instances::commit() {
  for (const Instance instance : erased_) spares_[nodes_[instance].op].push_back(instance);
  erased_.clear();
  log_.clear();
}

Instances::Room Instances::room(Instance instance) const {
  Room room{0, size_ - 1};
  for (const Value input : inputs(instance))
    room.first = std::max(room.first, position_[values_[input].maker] + 1);
  const Node& node = nodes_[instance];
  for (Value value = node.first_value; value < node.first_value + node.value_count; ++value) {
    for (const Instance consumer : values_[value].consumers)
      room.last = std::min(room.last, position_[consumer] - 1);
  }
  return room;
}

/// Bytes of the instance's outputs that stay when it has run.
double Instances::kept_bytes(Instance instance) const {
  const Node& node = nodes_[instance];
  double kept = 0;
  for (Value value = node.first_value; value < node.first_value + node.value_count; ++value)
    if (!values_[value].consumers.empty()) kept += values_[value].bytes;
  return kept;
}

//     before    ... | x | b | c | d | ...        each of b, c, d comes one position earlier and no longer
//     after     ... | b | c | d | x | ...        meets what x makes; what x reads last stays for longer
void Instances::sweep_later(Instance instance, Position to) {
  const Position from = position_[instance];
  const double kept = kept_bytes(instance);
  for (Position i = from; i < to; ++i) tried_[i] = memory_[i + 1] - kept;
  tried_[to] = carried(to + 1) - kept + nodes_[instance].own;
  for (const Value input : inputs(instance)) {
    const double bytes = values_[input].bytes;
    for (Position i = last_use(input); i <= to; ++i) tried_[i] += bytes;
  }
}

//     before    ... | b | c | d | x | ...        each of b, c, d comes one position later and meets what x
//     after     ... | x | b | c | d | ...        makes; what x alone reads as late as this goes earlier
void Instances::sweep_earlier(Instance instance, Position to) {
  const Position from = position_[instance];
  const double kept = kept_bytes(instance);
  tried_[to] = carried(to) + nodes_[instance].own;
  for (Position i = to + 1; i <= from; ++i) tried_[i] = memory_[i - 1] + kept;
  for (const Value input : inputs(instance)) {
    const Position last = last_use_without(input, instance);
    if (last > from) continue;
    const double bytes = values_[input].bytes;
    for (Position i = last < to ? to + 1 : last + 2; i <= from; ++i) tried_[i] -= bytes;
  }
}

bool Instances::relocate(Instance instance, Position to, double limit) {
  const Position from = position_[instance];
  if (to > from) {
    sweep_later(instance, to);
  } else {
    sweep_earlier(instance, to);
  }
  const auto [first, last] = std::minmax(from, to);
  const std::uint32_t count = last - first + 1;
  const double added =
      penalty_.sum(tried_.data() + first, count) - penalty_.sum(memory_.data() + first, count);
  if (added > limit) return false;
  overflow_ += added;
  std::copy_n(tried_.begin() + first, count, memory_.begin() + first);
  const auto window = sequence_.begin() + first;
  std::rotate(window, to > from ? window + 1 : window + count - 1, window + count);
  for (Position i = first; i <= last; ++i) position_[sequence_[i]] = i;
  for (const Value input : inputs(instance)) bring_last_to_front(input);
  return true;
}

bool Instances::reorder(Position first, std::span<const Instance> order, double limit) {
  const auto count = static_cast<std::uint32_t>(order.size());
  const double before = penalty_.sum(memory_.data() + first, count);
  for (std::uint32_t i = 0; i < count; ++i) position_[order[i]] = first + i;
  if (!sweep(first, order, before + limit)) {
    for (Position i = first; i < first + count; ++i) position_[sequence_[i]] = i;
    return false;
  }
  overflow_ += penalty_.sum(tried_.data() + first, count) - before;
  std::copy_n(tried_.begin() + first, count, memory_.begin() + first);
  std::copy(order.begin(), order.end(), sequence_.begin() + first);
  for (const auto& [value, consumer] : tried_last_) {
    std::vector<Instance>& consumers = values_[value].consumers;
    std::iter_swap(consumers.begin(), std::find(consumers.begin(), consumers.end(), consumer));
  }
  return true;
}

/// Fills tried_ with the memory of the order, in which the instances have their new positions already;
/// whether the penalties stay within `most`.
bool Instances::sweep(Position first, std::span<const Instance> order, double most) {
  double live = carried(first);
  double sum = 0;
  Position position = first;
  tried_last_.clear();
  for (const Instance instance : order) {
    const Node& node = nodes_[instance];
    live += node.own;
    tried_[position] = live;
    sum += penalty_.of(live);
    if (sum > most) return false;
    live += kept_bytes(instance) - node.own;
    for (const Value input : inputs(instance)) {
      const std::vector<Instance>& consumers = values_[input].consumers;
      if (std::any_of(consumers.begin(), consumers.end(),
                      [&](Instance consumer) { return position_[consumer] > position; }))
        continue;
      live -= values_[input].bytes;
      tried_last_.emplace_back(input, instance);
    }
    ++position;
  }
  return true;
}

}  // namespace checkmate
