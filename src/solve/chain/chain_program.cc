#include "solve/chain/chain_program.h"

#include <algorithm>
#include <cmath>

namespace checkmate {

ChainProgram::ChainProgram(const ChainModel& chain, double bytes_a_slot, std::uint32_t slots)
    : chain_(chain),
      bytes_a_slot_(bytes_a_slot),
      slots_(slots),
      cost_before_(chain.length() + std::size_t{1}),
      kept_slots_(1) {
  // Rounded sums, and not sums of rounded sizes: many small layers that are kept must not come to nothing.
  std::int64_t kept_before = 0;
  for (Layer layer = 1; layer <= chain_.length(); ++layer) {
    cost_before_[layer] = cost_before_[layer - 1] + chain_.cost(layer);
    const std::int64_t kept = kept_before + chain_.kept(layer);
    kept_slots_.push_back(slots_for(kept, kManySlots) - slots_for(kept_before, kManySlots));
    kept_before = kept;
  }
  for (std::vector<float>& costs : cost_) costs.assign(place(1, chain_.length() + 1), kNever);
}

std::uint32_t ChainProgram::slots_for(std::int64_t bytes, std::uint32_t most) const {
  const double slots = std::round(static_cast<double>(bytes) / bytes_a_slot_);
  return static_cast<std::uint32_t>(std::min(slots, static_cast<double>(most)));
}

ChainProgram::Demand ChainProgram::demand(Output output, Layer first, Layer last,
                                          const Choice& choice) const {
  const std::int64_t beside =
      chain_.gradients(last) + (output == kWith ? chain_.boundary(first - 1, last) : 0);
  const Layer ran = choice.next - 1;
  const auto cost = static_cast<float>(cost_before_[ran] - cost_before_[first - 1]);
  if (choice.act == Act::kRunOn) {
    const bool rerun = output == kWithout;
    const std::int64_t least = std::max(beside + chain_.sweep(first, rerun ? last : last - 1),
                                        chain_.reverse_peak(last) + chain_.reads_since(first - 1, last));
    return {slots_for(least, slots_ + 1), 0, rerun ? cost + static_cast<float>(chain_.cost(last)) : cost};
  }
  if (choice.act == Act::kKeepAll) {
    const std::int64_t least = std::max(beside + chain_.keep_peak(first), chain_.reverse_peak(first));
    const std::uint32_t taken = kept_slots_[first];
    return {std::max(slots_for(least, slots_ + 1), taken), taken, cost};
  }
  const std::uint32_t taken = slots_for(chain_.boundary(first - 1, ran), slots_ + 1);
  return {std::max(slots_for(beside + chain_.sweep(first, ran), slots_ + 1), taken), taken, cost};
}

void ChainProgram::solve(Layer first, Layer last) {
  solve(kWithout, first, last);
  const bool with = last < chain_.length() && chain_.boundary_is_enough(last) && !chain_.idle(last);
  if (with) solve(kWith, first, last);
  const float* without = row(kWithout, first, last);
  const float* kept = row(kWith, first, last);
  float* either = row(kEither, first, last);
  for (std::uint32_t memory = 0; memory <= slots_; ++memory)
    either[memory] = std::min(without[memory], kept[memory]);
}

void ChainProgram::solve(Output output, Layer first, Layer last) {
  float* const best = row(output, first, last);
  if (first == last) {
    std::int64_t least = chain_.reverse_peak(last);
    if (output == kWithout) least = std::max(least, chain_.gradients(last) + chain_.keep_peak(last));
    const bool rerun = output == kWithout && !chain_.idle(last);
    const float cost = rerun ? static_cast<float>(chain_.cost(last)) : 0;
    for (std::uint32_t memory = slots_for(least, slots_ + 1); memory <= slots_; ++memory) best[memory] = cost;
    return;
  }
  if (chain_.idle(last)) {
    std::copy_n(row(kWithout, first, last - 1), slots_ + std::size_t{1}, best);
    return;
  }
  const Choice all{Act::kKeepAll, first + 1};
  const Demand keep = demand(output, first, last, all);
  const float* rest = row(output, all.next, last);
  for (std::uint32_t memory = keep.least; memory <= slots_; ++memory)
    best[memory] = std::min(best[memory], keep.cost + rest[memory - keep.taken]);
  for (Layer next = first + 1; next <= last; ++next) {
    const Demand store = demand(output, first, last, {Act::kStore, next});
    rest = row(output, next, last);
    const float* again = row(kEither, first, next - 1);
    for (std::uint32_t memory = store.least; memory <= slots_; ++memory)
      best[memory] = std::min(best[memory], store.cost + rest[memory - store.taken] + again[memory]);
  }
  const Demand run_on = demand(output, first, last, {Act::kRunOn, last});
  rest = row(kWithout, first, last - 1);
  for (std::uint32_t memory = run_on.least; memory <= slots_; ++memory)
    best[memory] = std::min(best[memory], run_on.cost + rest[memory]);
}

float ChainProgram::value_of(Output output, Layer first, Layer last, const Choice& choice,
                             std::uint32_t memory) const {
  const Demand wanted = demand(output, first, last, choice);
  if (memory < wanted.least) return kNever;
  if (choice.act == Act::kRunOn) return wanted.cost + row(kWithout, first, last - 1)[memory];
  const float rest = wanted.cost + row(output, choice.next, last)[memory - wanted.taken];
  return choice.act == Act::kKeepAll ? rest : rest + row(kEither, first, choice.next - 1)[memory];
}

ChainProgram::Choice ChainProgram::choice_of(Output output, Layer first, Layer last,
                                             std::uint32_t memory) const {
  Choice best{Act::kKeepAll, first + 1};
  float least = value_of(output, first, last, best, memory);
  const auto consider = [&](const Choice& choice) {
    const float value = value_of(output, first, last, choice, memory);
    if (value >= least) return;
    least = value;
    best = choice;
  };
  consider({Act::kRunOn, last});
  for (Layer next = first + 1; next <= last; ++next) consider({Act::kStore, next});
  return best;
}

Schedule ChainProgram::schedule(std::uint32_t memory) const {
  Schedule schedule(chain_.length() + std::size_t{1});
  trace(kWithout, 1, chain_.length(), memory, schedule);
  return schedule;
}

void ChainProgram::trace(Output output, Layer first, Layer last, std::uint32_t memory,
                         Schedule& schedule) const {
  if (first < last && chain_.idle(last)) return trace(kWithout, first, last - 1, memory, schedule);
  Sweep& sweep = schedule[last];
  if (first == last) {
    if (output == kWithout) sweep.kept.push_back(last);
    return;
  }
  const Choice choice = choice_of(output, first, last, memory);
  const std::uint32_t taken = demand(output, first, last, choice).taken;
  if (choice.act == Act::kRunOn) {
    sweep.reads = true;
    if (output == kWithout) sweep.kept.push_back(last);
    trace(kWithout, first, last - 1, memory, schedule);
    return;
  }
  if (choice.act == Act::kKeepAll) {
    sweep.kept.push_back(first);
    sweep.stored.push_back({.boundary = first, .until = first + 1});
    trace(output, choice.next, last, memory - taken, schedule);
    return;
  }
  const Layer boundary = choice.next - 1;
  const bool with = row(kWith, first, boundary)[memory] < row(kWithout, first, boundary)[memory];
  sweep.stored.push_back({.boundary = boundary, .until = with ? boundary : choice.next});
  trace(output, choice.next, last, memory - taken, schedule);
  trace(with ? kWith : kWithout, first, boundary, memory, schedule);
}

}  // namespace checkmate
