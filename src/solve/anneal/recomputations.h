#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "solve/anneal/memory_profile.h"
#include "solve/common/search_graph.h"
#include "solve/common/stage.h"

namespace checkmate {

/// A run of an op in a stage: the first one where op and stage are the same, else a recomputation. Runs are
/// ordered as they happen: by stage, and in a stage by op.
class Run {
 public:
  constexpr Run(Stage stage, std::uint32_t op) : key_(std::uint64_t{stage} << 32 | op) {}
  static constexpr Run first_of(std::uint32_t op) { return {op, op}; }
  /// After every run.
  static constexpr Run end() { return {UINT32_MAX, UINT32_MAX}; }

  constexpr Stage stage() const { return static_cast<Stage>(key_ >> 32); }
  constexpr std::uint32_t op() const { return static_cast<std::uint32_t>(key_); }
  constexpr bool first() const { return stage() == op(); }
  constexpr auto operator<=>(const Run&) const = default;

 private:
  std::uint64_t key_;
};

/// A set of recomputations (stage t, op v < t). Every such set is a runnable plan: stage t runs its
/// recomputations in index order and then op t for the first time; an input is read from its latest run, and
/// a tensor lives from a run to its last use before the next. Only the memory can be wrong, and is kept up to
/// date: insert and erase cost O(inputs x users + block + log n), see MemoryProfile.
class Recomputations {
 public:
  using Place = MemoryProfile::Place;
  explicit Recomputations(const SearchGraph& graph);

  /// Forgets all recomputations: keep-all.
  void clear();
  /// The op is recomputable and earlier than the stage, which does not run it yet.
  void insert(Run run);
  void erase(Run run);
  bool contains(Run run) const;

  double cost() const { return cost_; }
  double overflow() { return profile_.overflow(); }
  /// In no particular order.
  std::span<const Run> all() const { return all_; }
  /// All runs, the first ones included, and that of the op that reads the outputs.
  std::size_t size() const { return graph_.ops + all_.size(); }
  /// The ops that the stage recomputes, upwards.
  std::span<const std::uint32_t> in_stage(Stage stage) const;
  std::span<const Stage> stages_of(std::uint32_t op) const { return runs_[op]; }
  std::vector<OpId> steps() const;

  /// The latest run of the op before `run`; there is one.
  Run run_before(std::uint32_t op, Run run) const;
  /// The next run of the op after `run`, or Run::end().
  Run run_after(std::uint32_t op, Run run) const;
  /// The latest use of the tensor before `run`, if it is after `since`; else `since`.
  Run use_before(std::uint32_t tensor, Run run, Run since) const;
  /// The first use of the tensor after `run` and before its next run; nothing when there is none.
  std::optional<Run> use_after(std::uint32_t tensor, Run run) const;
  bool used_after(std::uint32_t tensor, Run run) const;
  /// The latest moment before `run` at which the tensor is in use: made or read.
  Run touch_before(std::uint32_t tensor, Run run) const {
    return use_before(tensor, run, run_before(graph_.producer[tensor], run));
  }
  /// Whether nothing reads any output of this recomputation.
  bool useless(Run run) const;

  /// How overflow() would change if the tensor stayed in memory from its use at `from` up to `to`.
  double cost_of_keeping(std::uint32_t tensor, Run from, Run to);
  /// How much overflow() would fall if it were gone between them.
  double gain_of_dropping(std::uint32_t tensor, Run from, Run to);

  /// The run at the worst position, or at any, that is over the budget.
  std::optional<Run> worst();
  std::optional<Run> any_over(Random& random);

 private:
  Place place(Run run) const;
  Place after(Run run) const;
  Run run_at(Place place) const;
  void open_slot(Run run, Place place);
  void close_slot(Run run, Place place);

  static constexpr std::uint32_t kStagesPerBlock = 64;

  const SearchGraph& graph_;
  MemoryProfile profile_;
  struct Block {
    std::vector<std::uint32_t> ops;
    std::vector<std::uint32_t> places_in_all;  // of first runs: unused
  };
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> first_slot_;  // of a stage, in its block
  std::vector<std::vector<Stage>> runs_;   // of an op, upwards
  std::vector<Run> all_;
  double cost_ = 0;
};

}  // namespace checkmate
