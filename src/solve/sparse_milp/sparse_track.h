#pragma once

#include <optional>
#include <set>
#include <span>
#include <vector>

#include "solve/common/incumbent.h"
#include "solve/sparse_milp/cover_cuts.h"
#include "solve/sparse_milp/path_cuts.h"
#include "solve/sparse_milp/sparse_model.h"
#include "solve/sparse_milp/sparse_rounding.h"

namespace checkmate {

/// A model over moments that grows by what its solutions ask for. What it learns goes to the incumbent at
/// once. Where the search counts moves instead of time, nothing depends on the clock but the search's
/// deadline.
class SparseTrack {
 public:
  SparseTrack(const SearchContext& search, Incumbent& incumbent, Scope scope);
  /// The same moments and cuts, for other plans.
  SparseTrack for_papers_class() const;

  /// False for graphs with too many ops even for one moment.
  bool takes_graph() const { return most_moments_ > 0; }
  std::size_t moment_count() const { return moments_.size(); }
  bool has_inner() const { return !inner_.empty(); }
  /// Whether a moment is so near that another one would add little.
  bool near_moment(Stage stage) const;
  std::size_t columns_per_moment() const;
  /// Nothing is left to do here: the gap is closed, or no moment or cut is left to ask for.
  bool done() const;

  /// Takes the tightest as moments, far enough from each other, if they need more than that share of the
  /// budget; how many rows that adds.
  std::size_t add_moments(std::vector<Tight> tightest, std::size_t count, double least_share);

  /// The relaxation, with cuts; `more_moments` adds some where its solution overflows. False if the time was
  /// too short even without them.
  bool relax(double seconds, bool more_moments);
  /// Branch and bound. Its plan is offered, or else asks for moments. Whether it came to its end.
  bool branch(double seconds);

 private:
  SparseModel model() const;
  std::optional<LinearSolution> relax_with_cuts(SparseModel& model, double until);
  void drop_slack_cuts(const SparseModel& model, std::span<const double> values);
  std::size_t drop_slack_moments(const SparseModel& model, std::span<const double> values);
  void raise_bound(const SparseModel& model, double objective);
  void check_infeasible(bool relaxed);
  std::size_t take_plan(const SparseModel& model, std::span<const double> values);
  double relative_gap() const;
  double time_until(double until) const;
  Stage apart() const;

  const SearchContext& search_;
  const Graph& graph_;
  Incumbent& incumbent_;
  Scope scope_;
  bool repeatable_;
  std::size_t most_moments_;
  std::set<Stage> moments_;
  std::set<Stage> dropped_;  // moments that were taken out once
  std::set<InnerMoment> inner_;
  std::vector<PathCut> cuts_;
  std::vector<CoverCut> covers_;
  double gap_share_ = 0.1;  // of the open gap that branch and bound may leave
  bool relaxed_ = false;    // the relaxation of these moments has been solved
  bool exhausted_ = false;
};

}  // namespace checkmate
