#include "solve/common/expand.h"

#include <algorithm>

namespace checkmate {
namespace {

constexpr Stage kNever = UINT32_MAX;

class Expander {
 public:
  Expander(const SearchContext& search, Retention& retention)
      : search_(search),
        graph_(search.graph),
        retention_(retention),
        kept_until_(graph_.tensor_count(), kNever),
        planned_in_(graph_.op_count(), kNever) {}

  std::optional<std::vector<OpId>> run() {
    for (const OpId op : graph_.ops()) {
      const Stage stage = op.value;
      if (stage % 256 == 0 && search_.stopped()) return std::nullopt;
      collect_missing(op, stage);
      std::sort(missing_.begin(), missing_.end());
      for (const OpId again : missing_) run_op(again, stage);
      run_op(op, stage);
      if (steps_.size() > kMostSteps) return std::nullopt;
    }
    return std::move(steps_);
  }

 private:
  bool there(TensorId tensor, Stage stage) const {
    return graph_.resident(tensor) ||
           (kept_until_[tensor.index()] != kNever && kept_until_[tensor.index()] >= stage);
  }

  void collect_missing(OpId op, Stage stage) {
    missing_.clear();
    pending_.assign(1, op);
    while (!pending_.empty()) {
      const OpId user = pending_.back();
      pending_.pop_back();
      for (const TensorId tensor : graph_.inputs(user)) {
        if (there(tensor, stage)) continue;
        const OpId producer = *graph_.producer(tensor);
        if (std::exchange(planned_in_[producer.index()], stage) == stage) continue;
        missing_.push_back(producer);
        pending_.push_back(producer);
      }
    }
  }

  void run_op(OpId op, Stage stage) {
    const auto end = static_cast<Stage>(graph_.op_count());
    for (const TensorId tensor : graph_.outputs(op)) {
      const bool always = !graph_.recomputable(op) || graph_.output(tensor);
      kept_until_[tensor.index()] = always ? end : retention_.keep_until(op, tensor, stage);
    }
    steps_.push_back(op);
  }

  const SearchContext& search_;
  const Graph& graph_;
  Retention& retention_;
  std::vector<Stage> kept_until_;  // per tensor; kNever before its first run
  std::vector<Stage> planned_in_;  // per op: the latest stage that recomputes it
  std::vector<OpId> missing_;
  std::vector<OpId> pending_;
  std::vector<OpId> steps_;
};

}  // namespace

std::optional<std::vector<OpId>> expand(const SearchContext& search, Retention& retention) {
  return Expander(search, retention).run();
}

}  // namespace checkmate
