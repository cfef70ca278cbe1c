#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "solve/common/solver.h"

namespace checkmate {

/// Whether first runs come in index order.
bool keeps_order(std::span<const OpId> steps);

/// The best plan and the best bounds of one search: the blackboard that searches for plans and searches for
/// bounds share. Thread-safe.
class Incumbent {
 public:
  explicit Incumbent(const SearchContext& search);

  /// Takes the runs if they are a plan of the order, within the budget and cheaper than the best so far;
  /// returns whether it did. Cheaper runs over the budget are kept as a hint, and their peak is noted.
  /// O(steps + edges run).
  bool offer(std::vector<OpId> steps, std::string_view source);
  /// No plan of the order is cheaper than this.
  void raise_bound(Cost bound, std::string_view source);
  /// No plan of the paper's class is cheaper than this.
  void raise_stage_bound(Cost bound, std::string_view source);
  /// No plan of the order fits in less, which may still be within the budget.
  void raise_needed(Bytes needed);
  /// No plan of the order fits the budget: none fits in less than `least` bytes, which is above the budget.
  void prove_infeasible(Bytes least, std::string detail);
  /// A plan with this peak exists, though it is over the budget.
  void note_peak(Bytes peak);
  /// The same for the peak of these runs, which must be a plan of the order.
  void note_peak_of(std::vector<OpId> steps);
  /// All that another incumbent of the same search knows, but its moves. No other thread may use that one.
  void take_over(const Incumbent& other);
  /// The method broke: the search goes on without it, and the outcome says so.
  void note_failure(std::string_view source, const Error& error);
  void count_moves(std::uint64_t moves) { moves_ += moves; }

  bool has_plan() const { return cost() < kNone; }
  Cost cost() const { return Cost{cost_.load()}; }  ///< kNone without a plan
  Cost bound() const { return Cost{bound_.load()}; }
  Cost stage_bound() const { return Cost{stage_bound_.load()}; }  ///< at least bound()
  /// (cost - bound) / cost; 1 without a plan.
  double gap() const;
  double stage_gap() const;
  /// Grows whenever a plan is taken.
  std::uint64_t version() const { return version_; }
  std::vector<OpId> steps() const;  ///< empty without a plan
  /// The latest runs that were offered but did not fit, once: perhaps they can be repaired.
  std::optional<std::vector<OpId>> take_hint();

  /// Nothing is left to find: the gap asked for is reached, infeasibility is proven, or the search is
  /// stopped.
  bool done() const;
  /// Stopped when a plan or bound ends the search.
  std::stop_token enough() const { return enough_.get_token(); }

  Outcome outcome() const;

  const SearchContext& search() const { return search_; }

  static constexpr Cost kNone{INT64_MAX};

 private:
  void note_peak_of(Bytes peak, std::vector<OpId> steps);  // with the lock
  bool out_of_patience() const;
  void tell(std::string_view source);  // without the lock: callbacks take their time, and ask for steps()

  const SearchContext search_;
  mutable std::mutex mutex_;
  std::atomic<std::int64_t> cost_{kNone.count()};
  std::atomic<std::int64_t> bound_;
  std::atomic<std::int64_t> stage_bound_;
  std::atomic<std::uint64_t> version_{0};
  std::atomic<std::uint64_t> moves_{0};
  std::atomic<bool> stage_proven_{false};  // by the paper's class alone
  std::vector<OpId> steps_;
  std::optional<std::vector<OpId>> hint_;
  std::string_view source_;
  std::optional<double> first_plan_seconds_;
  std::optional<Bytes> sufficient_, needed_;
  std::vector<OpId> sufficient_steps_;  // empty: a plan with that peak is not at hand
  std::string detail_, failure_;
  mutable std::stop_source enough_;
  // For patience: the latest plan that was much cheaper than the one before, and when it came.
  Cost landmark_ = kNone;
  std::atomic<double> landmark_seconds_{0};
  mutable std::atomic<bool> impatient_{false};
};

}  // namespace checkmate
