#include "solve/chain/chain_sweeps.h"

#include <algorithm>
#include <utility>

#include "solve/common/forward.h"

namespace checkmate {
namespace {

using Layer = ChainModel::Layer;
constexpr Stage kNotYet = UINT32_MAX;

class Sweeper {
 public:
  Sweeper(const SearchContext& search, const ChainModel& chain, const Schedule& schedule)
      : search_(search),
        graph_(search.graph),
        chain_(chain),
        schedule_(schedule),
        forward_(forward_size(graph_)),
        sweeping_(chain.length()),
        kept_until_(graph_.tensor_count(), kNotYet),
        planned_in_(graph_.op_count(), kNotYet) {}

  std::optional<std::vector<OpId>> run() {
    for (const OpId op : graph_.ops()) {
      const Stage stage = op.value;
      if (stage % 64 == 0 && search_.stopped()) return std::nullopt;
      if (stage >= forward_) sweep_down_to(chain_.of(op), stage);
      want_inputs(op, stage);
      run_wanted(stage);
      run_op(op, stage);
      if (steps_.size() > kMostSteps) return std::nullopt;
    }
    return std::move(steps_);
  }

 private:
  bool there(TensorId tensor, Stage stage) const {
    const Stage until = kept_until_[tensor.index()];
    return graph_.resident(tensor) || (until != kNotYet && until >= stage);
  }

  void want(TensorId tensor, Stage stage) {
    if (there(tensor, stage)) return;
    const OpId maker = *graph_.producer(tensor);
    if (std::exchange(planned_in_[maker.index()], stage) != stage) wanted_.push_back(maker);
  }
  void want_inputs(OpId op, Stage stage) {
    for (const TensorId tensor : graph_.inputs(op)) want(tensor, stage);
  }

  /// The sweep for a layer without backward ops serves those before it.
  void sweep_down_to(Layer layer, Stage stage) {
    while (sweeping_ > layer) {
      want_sweep(--sweeping_, stage);
      run_wanted(stage);
    }
  }

  /// All that the sweep for the layer is to leave behind, and not only what its first gradient happens to
  /// read: the rest would have to come from further back, later.
  void want_sweep(Layer layer, Stage stage) {
    const Sweep& sweep = schedule_[layer];
    for (const Sweep::Stored& stored : sweep.stored) {
      for (const TensorId tensor : chain_.crossing(stored.boundary)) want(tensor, stage);
    }
    if (sweep.reads) {
      for (const TensorId tensor : chain_.read_before(layer)) want(tensor, stage);
    }
    for (const Layer kept : sweep.kept) {
      for (const TensorId tensor : chain_.read_of(kept)) want(tensor, stage);
    }
  }

  void run_wanted(Stage stage) {
    std::size_t seen = 0;
    while (seen < wanted_.size()) want_inputs(wanted_[seen++], stage);
    std::sort(wanted_.begin(), wanted_.end());
    for (const OpId op : wanted_) {
      run_op(op, stage);
      planned_in_[op.index()] = kNotYet;  // another sweep of the stage may run it again
    }
    wanted_.clear();
  }

  void run_op(OpId op, Stage stage) {
    for (const TensorId tensor : graph_.outputs(op))
      kept_until_[tensor.index()] = keep_until(op, tensor, stage);
    steps_.push_back(op);
  }

  Stage keep_until(OpId op, TensorId tensor, Stage stage) const {
    if (op.value >= forward_ || !graph_.recomputable(op) || graph_.output(tensor))
      return static_cast<Stage>(graph_.op_count());
    const Sweep& sweep = schedule_[sweeping_];
    const Layer made = chain_.of(op);
    Stage until = stage < forward_ ? chain_.last_forward_use(tensor) : stage;
    const auto keep_for = [&](Layer layer) {
      until = std::max(until, chain_.reversed(layer));
      if (layer == made && chain_.read_in_reverse(tensor)) until = std::max(until, chain_.last_use(tensor));
    };
    for (const Sweep::Stored& stored : sweep.stored) {
      if (chain_.crosses(op, tensor, stored.boundary)) keep_for(stored.until);
    }
    if (sweep.reads && chain_.read_reversing(tensor, sweeping_)) keep_for(sweeping_);
    if (chain_.read_in_reverse(tensor) &&
        std::find(sweep.kept.begin(), sweep.kept.end(), made) != sweep.kept.end()) {
      keep_for(made);
    }
    return until;
  }

  const SearchContext& search_;
  const Graph& graph_;
  const ChainModel& chain_;
  const Schedule& schedule_;
  Stage forward_;
  Layer sweeping_;                 // the layer that the sweep is for; the way forward is that for the last
  std::vector<Stage> kept_until_;  // per tensor
  std::vector<Stage> planned_in_;  // per op: the latest stage that runs it again
  std::vector<OpId> wanted_;
  std::vector<OpId> steps_;
};

}  // namespace

std::optional<std::vector<OpId>> run_schedule(const SearchContext& search, const ChainModel& chain,
                                              const Schedule& schedule) {
  return Sweeper(search, chain, schedule).run();
}

}  // namespace checkmate
