#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <vector>

#include "solve/common/solver.h"
#include "solve/least_budget/set_bounds.h"
#include "solve/least_budget/value_sets.h"

namespace checkmate {

/// Best-first search for the way with the least peak from a set of values back to nothing: see
/// set_bracket.h.
class SetSearch {
 public:
  SetSearch(const SearchContext& search, const ValueSets& sets, const SetBounds& bounds,
            std::size_t most_states)
      : search_(search), sets_(sets), bounds_(bounds), most_states_(most_states) {}

  struct Answer {
    std::int64_t proven;           ///< the target takes at least this
    bool reached = false;          ///< a way back was found
    std::int64_t peak = 0;         ///< its memory
    std::vector<OpId> steps = {};  ///< in the order of time
  };
  /// Ways with a peak of `floor` or less are as good as each other. Gives up above `ceiling`.
  Answer run(std::span<const Value> target, std::int64_t floor, std::int64_t ceiling);

 private:
  using StateId = std::uint32_t;
  static constexpr StateId kNone = UINT32_MAX;
  struct State {
    std::uint64_t first;  // in members_
    std::uint32_t size;
    StateId later;  // the state that the run of `op` leads to
    OpId op;
    std::int64_t peak;  // from here to the target
  };
  struct Entry {
    std::int64_t peak;
    StateId state;
  };

  std::span<const Value> members(StateId state) const {
    return std::span(members_).subspan(states_[state].first, states_[state].size);
  }
  void clear();
  void reach(std::span<const Value> set, std::int64_t peak, StateId later, OpId op);
  StateId& slot_of(std::span<const Value> set);
  void grow_slots();
  void push(StateId state);
  StateId pop();
  bool comes_later(const Entry& a, const Entry& b) const;
  bool expand(StateId state);
  bool full() const;
  Answer way_from(StateId state) const;

  const SearchContext& search_;
  const ValueSets& sets_;
  const SetBounds& bounds_;
  std::size_t most_states_;
  std::vector<State> states_;
  std::vector<Value> members_;
  std::vector<StateId> slots_;  // open addressing by a hash of the members
  std::vector<Entry> queue_;    // a heap
  ValueSets::Before before_;
  std::vector<Value> set_;
};

}  // namespace checkmate
