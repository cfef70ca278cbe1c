#include "solve/paper/lp_round.h"

#include <algorithm>
#include <array>

#include "core/random.h"
#include "lp/safe_bound.h"
#include "solve/common/candidates.h"
#include "solve/common/expand.h"
#include "solve/common/linear_options.h"
#include "solve/common/prune_recomputations.h"
#include "solve/paper/stage_model.h"

// The paper's two-phase rounding: solve the relaxation, round S, and let the least R follow. A rounded plan
// often needs more memory than the relaxation was allowed, so the relaxation is solved for smaller budgets
// too, and the cheapest plan that holds the real one is returned.

namespace checkmate {
namespace {

/// S rounded: tensor v is kept into stage t where its fraction is at least v's threshold.
class RoundedKeeps : public Retention {
 public:
  RoundedKeeps(const Graph& graph, const StageModel& model, std::span<const double> values,
               std::span<const double> thresholds)
      : tensors_(graph.tensor_count()), until_(graph.op_count() * tensors_) {
    const auto stages = static_cast<Stage>(graph.op_count());
    for (Stage stage = stages; stage-- > 0;) {
      for (const TensorId tensor : graph.tensors()) {
        const bool on =
            stage + 1 < stages && model.kept(values, OpId{stage + 1}, tensor) >= thresholds[tensor.index()];
        until_[at(stage, tensor)] = on ? until_[at(stage + 1, tensor)] : stage;
      }
    }
  }
  Stage keep_until(OpId /*op*/, TensorId output, Stage stage) override { return until_[at(stage, output)]; }

 private:
  std::size_t at(Stage stage, TensorId tensor) const { return stage * tensors_ + tensor.index(); }
  std::size_t tensors_;
  std::vector<Stage> until_;  // by stage and tensor: how long one that is there stays
};

class Rounding {
 public:
  Rounding(const SearchContext& search, const StageModel& model)
      : search_(search), model_(model), random_(search.options.seed) {}

  void round(std::span<const double> values, Candidates& candidates) {
    constexpr std::array kThresholds = {0.5, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95};
    std::vector<double> thresholds(search_.graph.tensor_count());
    const auto offer = [&] {
      RoundedKeeps keeps(search_.graph, model_, values, thresholds);
      candidates.offer_pruned(expand(search_, keeps));
    };
    for (const double threshold : kThresholds) {
      if (search_.stopped()) return;
      std::fill(thresholds.begin(), thresholds.end(), threshold);
      offer();
    }
    // Where nothing fits yet, some luck is worth more than another relaxation.
    constexpr int kPatience = 16;
    const int most = search_.options.samples * (candidates.best_cost() ? 1 : kPatience);
    for (int sample = 0; sample < most && !search_.stopped(); ++sample) {
      if (sample >= search_.options.samples && candidates.best_cost()) break;
      // One threshold per tensor, not per stage: it stays or goes as a whole, and is kept with the chance
      // that S says.
      constexpr std::uint64_t kGrain = 1U << 20U;
      for (double& threshold : thresholds) {
        threshold = (static_cast<double>(random_.below(kGrain)) + 0.5) / static_cast<double>(kGrain);
      }
      offer();
    }
  }

 private:
  const SearchContext& search_;
  const StageModel& model_;
  Random random_;
};

/// One stage an op, as the paper has it, where the relaxation is then solved in seconds, else as many as that
/// allows; and fewer: long stages cannot pay for a value in small fractions over and over, so their
/// relaxations are often nearer to a plan.
std::vector<std::uint32_t> stage_counts(const Graph& graph) {
  constexpr std::size_t kQuick = 25'000;  // columns
  const std::size_t a_stage = StageModel::column_estimate(graph, Partition::kFrontier, 1) + 1;
  const std::size_t most = std::min(std::max<std::size_t>(kQuick / a_stage, 8), graph.op_count());
  std::vector<std::uint32_t> counts = {static_cast<std::uint32_t>(most)};
  for (const std::uint32_t fewer : {24U, 12U}) {
    if (fewer < most) counts.push_back(fewer);
  }
  return counts;
}

/// Percent of the budget that are kept back from the relaxation. Long stages hold all that their ops need at
/// once, so there it gets more than the budget first.
std::span<const int> slacks_for(bool long_stages) {
  static constexpr std::array kSlacks = {-100, -50, -25, -10, 0, 2, 5, 10, 15, 20, 30, 40, 50};
  return std::span(kSlacks).subspan(long_stages ? 0 : 4);
}

/// Rounds the relaxations of one model, for less and less memory. The relaxation at the budget itself where
/// it was solved.
std::optional<Cost> round_model(const SearchContext& search, std::uint32_t stages, Candidates& candidates) {
  const StageModel model(search.graph, {.budget = search.options.budget, .stages = stages});
  LinearSolver solver(model.program());
  Rounding rounding(search, model);
  std::optional<Cost> at_budget;
  const Bytes fixed = search.graph.fixed_bytes();
  const std::int64_t room = (search.options.budget - fixed).count();
  for (const int slack : slacks_for(stages < search.graph.op_count())) {
    model.set_budget(solver, fixed + Bytes{room - room / 100 * slack});
    LinearOptions options = linear_options(search);
    options.relax = true;
    const LinearSolution solution = solver.solve(options);
    if (solution.status != LinearSolution::Status::kOptimal) break;  // with less memory there is none either
    const std::optional<Cost> relaxed = safe_bound(search.graph, model.cost_of(solution.objective));
    if (slack == 0) at_budget = relaxed;
    // With still less memory, even the relaxation costs more than the best plan.
    if (candidates.best_cost() && relaxed && *relaxed >= *candidates.best_cost()) break;
    rounding.round(solution.values, candidates);
    if (search.stopped()) break;
  }
  return at_budget;
}

}  // namespace

Outcome solve_lp_round(const SearchContext& search) {
  Candidates candidates(search);
  std::optional<Cost> bound;
  for (const std::uint32_t stages : stage_counts(search.graph)) {
    if (std::optional<std::string> refusal =
            stage_model_refusal(search.graph, Partition::kFrontier, stages)) {
      return {.detail = *refusal};
    }
    if (search.stopped()) break;
    const std::optional<Cost> relaxed = round_model(search, stages, candidates);
    if (stages == search.graph.op_count()) bound = relaxed;
  }
  Outcome outcome = std::move(candidates).outcome();
  if (search.options.order == Order::kFixed) outcome.stage_lower_bound = bound;
  return outcome;
}

}  // namespace checkmate
