#include "solve/least_budget/set_search.h"

#include <algorithm>

namespace checkmate {
namespace {

/// Sets of training graphs have a dozen members; where they have far more, memory ends the search earlier.
constexpr std::size_t kMembersPerState = 24;

std::uint64_t hash_of(std::span<const Value> set) {
  std::uint64_t hash = 0x9e3779b97f4a7c15;
  for (const Value value : set) {
    hash = (hash ^ value) * 0xbf58476d1ce4e5b9;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace

SetSearch::Answer SetSearch::run(std::span<const Value> target, std::int64_t floor, std::int64_t ceiling) {
  clear();
  std::int64_t proven = bounds_(target);
  reach(target, std::max(floor, proven), kNone, {});
  while (!queue_.empty()) {
    const std::int64_t peak = queue_.front().peak;
    const StateId state = pop();
    if (peak > states_[state].peak) continue;  // reached again, and better
    if (peak > floor) proven = std::max(proven, peak);
    if (states_[state].size == 0) {
      Answer answer = way_from(state);
      answer.proven = proven;
      return answer;
    }
    if (peak > ceiling || !expand(state)) break;
  }
  return {.proven = proven};
}

void SetSearch::clear() {
  states_.clear();
  members_.clear();
  queue_.clear();
  slots_.assign(1024, kNone);
}

bool SetSearch::full() const {
  return states_.size() >= most_states_ || members_.size() >= kMembersPerState * most_states_;
}

bool SetSearch::expand(StateId state) {
  set_.assign(members(state).begin(), members(state).end());
  const std::int64_t peak = states_[state].peak;
  for (std::size_t i = 0; i < set_.size(); ++i) {
    const OpId op = sets_.maker(set_[i]);
    if (i > 0 && sets_.maker(set_[i - 1]) == op) continue;
    if (i % 16 == 0 && search_.stopped()) return false;
    if (full()) return false;
    sets_.before(set_, op, before_);
    if (before_.memory != ValueSets::Before::kNever)
      reach(before_.values, std::max({peak, before_.memory, bounds_(before_.values)}), state, op);
  }
  return true;
}

void SetSearch::reach(std::span<const Value> set, std::int64_t peak, StateId later, OpId op) {
  StateId& slot = slot_of(set);
  if (slot != kNone) {
    State& known = states_[slot];
    if (known.peak <= peak) return;
    known.peak = peak;
    known.later = later;
    known.op = op;
    push(slot);
    return;
  }
  slot = static_cast<StateId>(states_.size());
  states_.push_back({members_.size(), static_cast<std::uint32_t>(set.size()), later, op, peak});
  members_.insert(members_.end(), set.begin(), set.end());
  push(slot);
  if (states_.size() * 2 > slots_.size()) grow_slots();
}

SetSearch::StateId& SetSearch::slot_of(std::span<const Value> set) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash_of(set) & mask;
  while (slots_[slot] != kNone) {
    const std::span<const Value> other = members(slots_[slot]);
    if (std::equal(set.begin(), set.end(), other.begin(), other.end())) break;
    slot = (slot + 1) & mask;
  }
  return slots_[slot];
}

void SetSearch::grow_slots() {
  slots_.assign(slots_.size() * 2, kNone);
  for (StateId state = 0; state < states_.size(); ++state) slot_of(members(state)) = state;
}

/// Of ways with the same peak, first the one whose latest value is earliest, and so on down its values: it
/// goes straight for the beginning, where a smaller sum, or fewer bytes, would wander among equals.
bool SetSearch::comes_later(const Entry& a, const Entry& b) const {
  if (a.peak != b.peak) return a.peak > b.peak;
  const std::span<const Value> left = members(a.state);
  const std::span<const Value> right = members(b.state);
  return std::lexicographical_compare(right.rbegin(), right.rend(), left.rbegin(), left.rend());
}

void SetSearch::push(StateId state) {
  queue_.push_back({states_[state].peak, state});
  std::push_heap(queue_.begin(), queue_.end(),
                 [&](const Entry& a, const Entry& b) { return comes_later(a, b); });
}

SetSearch::StateId SetSearch::pop() {
  std::pop_heap(queue_.begin(), queue_.end(),
                [&](const Entry& a, const Entry& b) { return comes_later(a, b); });
  const StateId state = queue_.back().state;
  queue_.pop_back();
  return state;
}

SetSearch::Answer SetSearch::way_from(StateId state) const {
  Answer answer{.proven = 0, .reached = true};
  ValueSets::Before before;
  for (; states_[state].later != kNone; state = states_[state].later) {
    answer.steps.push_back(states_[state].op);
    sets_.before(members(states_[state].later), states_[state].op, before);
    answer.peak = std::max(answer.peak, before.memory);
  }
  return answer;
}

}  // namespace checkmate
