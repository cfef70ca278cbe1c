#include "solve/sparse_milp/sparse_rounding.h"

#include <algorithm>

#include "checkmate/plan.h"
#include "checkmate/simulate.h"

namespace checkmate {
namespace {

double value_of(std::span<const double> values, std::int32_t column) {
  return column == SparseModel::kNone ? 0 : values[static_cast<std::size_t>(column)];
}

class Rounder {
 public:
  /// Outputs that are missing in the last block are made before that first run, or after all.
  Rounder(const SparseModel& model, std::span<const double> values, Stage outputs_at)
      : model_(model),
        graph_(model.graph()),
        values_(values),
        outputs_at_(outputs_at),
        there_(graph_.tensor_count()),
        planned_(graph_.op_count()) {}

  std::vector<OpId> run() {
    for (std::uint32_t block = 0; block < model_.block_count(); ++block) {
      enter(block);
      const std::uint32_t end = model_.end_op(block);
      for (std::uint32_t i = model_.first_op(block); i < end; ++i) {
        for (const TensorId input : graph_.inputs(OpId{i})) want(input);
        if (i == (last(block) ? outputs_at_ : end - 1)) want_kept_out(block);
        run_missing();
        run_op(OpId{i});
      }
      if (last(block)) want_kept_out(block);
      run_missing();
    }
    return std::move(steps_);
  }

 private:
  bool last(std::uint32_t block) const { return block + 1 == model_.block_count(); }

  bool kept(std::uint32_t block, TensorId tensor) const {
    constexpr double kHalf = 0.5;
    return value_of(values_, model_.keep(block, tensor)) > kHalf;
  }

  void enter(std::uint32_t block) {
    for (std::uint32_t i = 0; i < model_.first_op(block); ++i) {
      const bool once = !graph_.recomputable(OpId{i});  // so it must have stayed
      for (const TensorId tensor : graph_.outputs(OpId{i}))
        there_[tensor.index()] = once || kept(block, tensor);
    }
  }

  void want(TensorId tensor) {
    pending_.assign(1, tensor);
    while (!pending_.empty()) {
      const TensorId wanted = pending_.back();
      pending_.pop_back();
      if (graph_.resident(wanted) || there_[wanted.index()]) continue;
      const OpId producer = *graph_.producer(wanted);
      if (planned_[producer.index()]) continue;
      planned_[producer.index()] = true;
      missing_.push_back(producer);
      const auto inputs = graph_.inputs(producer);
      pending_.insert(pending_.end(), inputs.begin(), inputs.end());
    }
  }

  void want_kept_out(std::uint32_t block) {
    for (std::uint32_t i = 0; i < model_.first_op(block); ++i) {
      for (const TensorId tensor : graph_.outputs(OpId{i})) {
        if (last(block) ? graph_.output(tensor) : kept(block + 1, tensor)) want(tensor);
      }
    }
  }

  void run_missing() {
    std::sort(missing_.begin(), missing_.end());
    for (const OpId op : missing_) {
      planned_[op.index()] = false;
      run_op(op);
    }
    missing_.clear();
  }

  void run_op(OpId op) {
    steps_.push_back(op);
    for (const TensorId tensor : graph_.outputs(op)) there_[tensor.index()] = true;
  }

  const SparseModel& model_;
  const Graph& graph_;
  std::span<const double> values_;
  Stage outputs_at_;
  std::vector<bool> there_;    // by tensor
  std::vector<bool> planned_;  // by op: among the missing
  std::vector<OpId> missing_;
  std::vector<TensorId> pending_;
  std::vector<OpId> steps_;
};

/// The most memory that the runs need, as a share of the budget.
double peak_share(const SparseModel& model, const std::vector<OpId>& steps) {
  const Graph& graph = model.graph();
  const Simulation simulation = simulate(graph, plan_from_steps(graph, steps).value()).value();
  return model.share(simulation.peak - graph.fixed_bytes());
}

}  // namespace

std::vector<OpId> steps_of(const SparseModel& model, std::span<const double> values) {
  constexpr Stage kMostPlaces = 16;
  const auto end = static_cast<Stage>(model.graph().op_count());
  std::vector<OpId> best = Rounder(model, values, end - 1).run();
  if (Rounder(model, values, end).run() == best) return best;  // no output is missing
  double least = peak_share(model, best);
  const Stage places = end - model.first_op(model.block_count() - 1);
  for (Stage back = 0; least > 1 && back <= places; back += 1 + places / kMostPlaces) {
    std::vector<OpId> steps = Rounder(model, values, end - back).run();
    if (const double share = peak_share(model, steps); share < least) {
      least = share;
      best = std::move(steps);
    }
  }
  return best;
}

std::vector<Tight> tightest_steps(const Graph& graph, Bytes budget, std::span<const OpId> steps) {
  const Plan plan = plan_from_steps(graph, {steps.begin(), steps.end()}).value();
  const Simulation simulation = simulate(graph, plan).value();
  const auto room = static_cast<double>(std::max((budget - graph.fixed_bytes()).count(), std::int64_t{1}));
  std::vector<Tight> tightest;
  Stage stage = 0;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    const double share = static_cast<double>((simulation.memory[step] - graph.fixed_bytes()).count()) / room;
    if (tightest.empty() || tightest.back().stage != stage) tightest.push_back({stage, steps[step], share});
    if (share >= tightest.back().share) tightest.back() = {stage, steps[step], share};
    if (steps[step].value == stage) ++stage;
  }
  return tightest;
}

std::vector<Tight> tightest_first_runs(const SparseModel& model, std::span<const double> values) {
  const Graph& graph = model.graph();
  std::vector<double> change(graph.op_count() + 1);
  const auto hold = [&](std::uint32_t from, std::uint32_t to, double bytes) {  // both included
    change[from] += bytes;
    change[to + std::size_t{1}] -= bytes;
  };
  for (const TensorId tensor : graph.tensors()) {
    if (graph.resident(tensor)) continue;
    const double share = model.share(graph.bytes(tensor));
    const std::uint32_t made = graph.producer(tensor)->value;
    const auto users = graph.users(tensor);
    for (std::uint32_t block = model.block_of(made); block < model.block_count(); ++block) {
      const std::uint32_t begin = std::max(model.first_op(block), made);
      const std::uint32_t end = model.end_op(block);
      if (begin >= end) continue;
      const bool new_here = made >= model.first_op(block);
      const double into = new_here ? 1 : value_of(values, model.keep(block, tensor));
      const double out = std::min(into, value_of(values, model.keep(block + 1, tensor)));
      const auto after = std::lower_bound(users.begin(), users.end(), OpId{end});
      const std::uint32_t last = after == users.begin() ? made : std::max(made, (after - 1)->value);
      const std::uint32_t used = std::max(last, begin);
      hold(begin, used, share * into);
      if (last >= begin) hold(last, last, share * (1 - into));  // it is rerun by then
      if (used + 1 < end) hold(used + 1, end - 1, share * out);
    }
  }
  std::vector<Tight> tightest;
  double share = 0;
  for (std::uint32_t t = 0; t < graph.op_count(); ++t) {
    share += change[t];
    tightest.push_back({t, OpId{t}, share + model.share(graph.workspace(OpId{t}))});
  }
  return tightest;
}

}  // namespace checkmate
