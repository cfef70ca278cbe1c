#include "solve/sparse_milp/path_cuts.h"

#include <algorithm>

namespace checkmate {
namespace {

/// Below this a cut is not worth its row.
constexpr double kLeastBreach = 0.01;

struct Breach {
  double by;
  PathCut cut;
};

/// The cuts over the blocks [first, end) of one interval.
class Separator {
 public:
  Separator(const SparseModel& model, std::span<const double> values)
      : model_(model),
        graph_(model.graph()),
        values_(values),
        needed_(graph_.tensor_count()),
        reruns_(graph_.op_count()),
        most_(graph_.op_count()),
        through_(graph_.op_count()) {}

  /// Intervals with the same first block must come with rising ends, one block more each time.
  void look(std::uint32_t first, std::uint32_t end, std::vector<Breach>& found) {
    first_ = first;
    end_ = end;
    if (end == first + 1) {
      std::fill(reruns_.begin(), reruns_.end(), 0.0);
      std::fill(needed_.begin(), needed_.end(), false);
    }
    follow_paths();
    if (end == first + 1) return;  // the model's own rows say as much
    for (std::uint32_t i = 0; i < model_.first_op(first); ++i) {
      for (const TensorId tensor : graph_.outputs(OpId{i})) check(tensor, found);
    }
  }

 private:
  double value(std::int32_t column) const {
    return column == SparseModel::kNone ? 0 : values_[static_cast<std::size_t>(column)];
  }
  double there(TensorId tensor) const {
    return value(model_.keep(first_, tensor)) + most_[graph_.producer(tensor)->index()];
  }

  /// The most of each op that its inputs allow to be rerun within the interval.
  void follow_paths() {
    for (std::uint32_t i = 0; i < model_.first_op(first_); ++i) {
      reruns_[i] += value(model_.run(end_ - 1, OpId{i}));
      for (const TensorId tensor : graph_.outputs(OpId{i}))
        needed_[tensor.index()] = needed_[tensor.index()] || model_.needed_first(end_ - 1, tensor);
      most_[i] = std::min(1.0, reruns_[i]);
      through_[i] = kSelf;
      for (const TensorId input : graph_.inputs(OpId{i})) {
        if (graph_.resident(input) || there(input) >= most_[i]) continue;
        most_[i] = there(input);
        through_[i] = input;
      }
    }
  }

  void check(TensorId tensor, std::vector<Breach>& found) {
    const double have = there(tensor);
    if (have >= 1 - kLeastBreach) return;
    PathCut cut{.from = model_.moments()[first_ - 1],
                .to = end_ < model_.block_count() ? model_.moments()[end_ - 1]
                                                  : static_cast<Stage>(graph_.op_count())};
    if (needed_[tensor.index()]) {
      add(cut, tensor, 1 - have, found);
      return;
    }
    if (const double breach = value(model_.keep(end_, tensor)) - have; breach > kLeastBreach) {
      cut.demand = PathCut::Demand::kKept;
      add(cut, tensor, breach, found);
    }
    double worst = kLeastBreach;
    for (const OpId user : graph_.users(tensor)) {
      if (user.value >= model_.first_op(first_)) break;
      for (std::uint32_t block = first_; block < end_; ++block) {
        const double breach = value(model_.run(block, user)) - have;
        if (breach <= worst) continue;
        worst = breach;
        cut.demand = PathCut::Demand::kRerun;
        cut.user = user;
        cut.user_from = model_.moments()[block - 1];
      }
    }
    if (worst > kLeastBreach) add(cut, tensor, worst, found);
  }

  void add(PathCut cut, TensorId tensor, double by, std::vector<Breach>& found) const {
    for (TensorId at = tensor;; at = through_[cut.source.index()]) {
      cut.kept.push_back(at);
      cut.source = *graph_.producer(at);
      if (through_[cut.source.index()] == kSelf) break;
    }
    found.push_back({by, std::move(cut)});
  }

  static constexpr TensorId kSelf{UINT32_MAX};
  const SparseModel& model_;
  const Graph& graph_;
  std::span<const double> values_;
  std::uint32_t first_ = 0;
  std::uint32_t end_ = 0;
  std::vector<bool> needed_;       // by tensor: by a first run within the interval
  std::vector<double> reruns_;     // by op: the sum of R over the interval
  std::vector<double> most_;       // by op: the most of it that the interval can rerun
  std::vector<TensorId> through_;  // by op: the input that allows no more than that, or kSelf
};

}  // namespace

std::vector<PathCut> broken_path_cuts(const SparseModel& model, std::span<const double> values,
                                      std::size_t limit) {
  std::vector<Breach> found;
  Separator separator(model, values);
  for (std::uint32_t first = 1; first < model.block_count(); ++first) {
    for (std::uint32_t end = first + 1; end <= model.block_count(); ++end) separator.look(first, end, found);
  }
  const std::size_t count = std::min(limit, found.size());
  std::stable_sort(found.begin(), found.end(), [](const Breach& a, const Breach& b) { return a.by > b.by; });
  std::vector<PathCut> cuts;
  for (std::size_t i = 0; i < count; ++i) cuts.push_back(std::move(found[i].cut));
  return cuts;
}

LinearRow row_of(const SparseModel& model, const PathCut& cut) {
  LinearRow row{.lower = cut.demand == PathCut::Demand::kFirstRun ? 1.0 : 0.0,
                .upper = LinearProgram::kInfinity,
                .terms = {}};
  const auto add = [&](std::int32_t column, double coefficient) {
    if (column != SparseModel::kNone) row.terms.push_back({static_cast<Column>(column), coefficient});
  };
  const std::uint32_t first = model.block_of(cut.from + 1);
  const std::uint32_t end =
      cut.to == model.graph().op_count() ? model.block_count() : model.block_of(cut.to) + 1;
  for (std::uint32_t block = first; block < end; ++block) add(model.run(block, cut.source), 1);
  for (const TensorId tensor : cut.kept) add(model.keep(first, tensor), 1);
  if (cut.demand == PathCut::Demand::kKept) add(model.keep(end, cut.kept.front()), -1);
  if (cut.demand == PathCut::Demand::kRerun) add(model.run(model.block_of(cut.user_from + 1), cut.user), -1);
  return row;
}

}  // namespace checkmate
