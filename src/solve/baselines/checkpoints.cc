#include "solve/baselines/checkpoints.h"

#include <algorithm>
#include <cmath>

#include "solve/common/candidates.h"
#include "solve/common/expand.h"
#include "solve/common/forward.h"

// Chen et al. (2016) and the paper's two generalisations to any graph: a set of forward ops whose outputs are
// kept, the checkpoints, cuts the forward part into segments; in the backward pass each segment is recomputed
// from the checkpoint before it. The methods differ in which ops may be checkpoints (all of a chain,
// articulation points, all of the linearized forward part) and in how many are taken (one in sqrt(n), or one
// whenever so many bytes have gone by).

namespace checkmate {
namespace {

class Checkpoints : public Retention {
 public:
  Checkpoints(const Graph& graph, const std::vector<OpId>& chosen)
      : end_(static_cast<Stage>(graph.op_count())),
        last_segment_(chosen.empty() ? 0 : chosen.back().value + 1),
        forward_until_(last_forward_uses(graph)) {
    for (const OpId op : chosen) forward_until_[op.index()] = end_;
  }

  /// On the way forward, a value outside the checkpoints goes after its last forward use; the last segment
  /// stays, for the backward pass begins there. In the backward pass, what has been recomputed stays for as
  /// long as it is used.
  Stage keep_until(OpId op, TensorId /*output*/, Stage stage) override {
    return stage < forward_until_.size() && op.value < last_segment_ ? forward_until_[op.index()] : end_;
  }

 private:
  Stage end_;
  Stage last_segment_;                // where it begins
  std::vector<Stage> forward_until_;  // per forward op
};

std::vector<OpId> every_forward_op(const Graph& graph) {
  std::vector<OpId> ops;
  const std::uint32_t size = forward_size(graph);
  for (std::uint32_t op = 0; op < size; ++op) {
    if (graph.phase(OpId{op}) == Phase::kForward) ops.push_back(OpId{op});
  }
  return ops;
}

std::vector<OpId> one_in_sqrt(const std::vector<OpId>& eligible) {
  const auto length = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(eligible.size()))));
  std::vector<OpId> chosen;
  // Not the last one: nothing comes after it that could be recomputed from it.
  for (std::size_t i = length; i < eligible.size() && length > 0; i += length)
    chosen.push_back(eligible[i - 1]);
  return chosen;
}

std::int64_t output_bytes(const Graph& graph, OpId op) {
  Bytes bytes;
  for (const TensorId tensor : graph.outputs(op)) bytes += graph.bytes(tensor);
  return bytes.count();
}

/// A checkpoint at each eligible op, but the last, that more than `segment` bytes have led up to; and the
/// largest number of bytes that were not enough: the next smaller segment that makes a difference lies just
/// below it.
struct Cut {
  std::vector<OpId> chosen;
  std::int64_t next_segment = -1;
};
Cut cut_by_bytes(const Graph& graph, const std::vector<OpId>& eligible, std::int64_t segment) {
  Cut cut;
  std::int64_t since = 0;
  std::uint32_t op = 0;
  for (std::size_t i = 0; i + 1 < eligible.size(); ++i) {
    for (; op <= eligible[i].value; ++op) since += output_bytes(graph, OpId{op});
    if (since <= segment) {
      cut.next_segment = std::max(cut.next_segment, since - 1);
      continue;
    }
    cut.chosen.push_back(eligible[i]);
    since = 0;
  }
  return cut;
}

Outcome sqrt_segments(const SearchContext& search, const std::vector<OpId>& eligible) {
  Candidates candidates(search);
  Checkpoints checkpoints(search.graph, one_in_sqrt(eligible));
  candidates.offer(expand(search, checkpoints));
  return std::move(candidates).outcome();
}

/// Tries every segment size that makes a difference, from the whole forward part down: cost and peak are not
/// monotone in it. After kMostTried of them, in a large graph, sizes fall by an eighth instead.
Outcome greedy_segments(const SearchContext& search, const std::vector<OpId>& eligible) {
  constexpr std::size_t kMostTried = 2000;
  Candidates candidates(search);
  std::int64_t segment = INT64_MAX;
  for (std::size_t tried = 0; segment >= 0 && !search.stopped(); ++tried) {
    const Cut cut = cut_by_bytes(search.graph, eligible, segment);
    Checkpoints checkpoints(search.graph, cut.chosen);
    candidates.offer(expand(search, checkpoints));
    segment = tried < kMostTried ? cut.next_segment : std::min(cut.next_segment, segment - segment / 8 - 1);
  }
  return std::move(candidates).outcome();
}

using Rule = Outcome (*)(const SearchContext& search, const std::vector<OpId>& eligible);

Outcome on_chain(const SearchContext& search, Rule rule) {
  if (!forward_is_chain(search.graph))
    return {.detail = "the forward part is not a chain; ap-* and linear-* take any graph"};
  return rule(search, every_forward_op(search.graph));
}

Outcome on_graph(const SearchContext& search, Rule rule, std::vector<OpId> (*eligible)(const Graph& graph)) {
  if (forward_size(search.graph) == 0)
    return {.detail = "the graph has no forward part before a backward op to cut into segments"};
  return rule(search, eligible(search.graph));
}

}  // namespace

Outcome solve_chen_sqrt(const SearchContext& search) { return on_chain(search, sqrt_segments); }
Outcome solve_chen_greedy(const SearchContext& search) { return on_chain(search, greedy_segments); }
Outcome solve_ap_sqrt(const SearchContext& search) {
  return on_graph(search, sqrt_segments, articulation_points);
}
Outcome solve_ap_greedy(const SearchContext& search) {
  return on_graph(search, greedy_segments, articulation_points);
}
Outcome solve_linear_sqrt(const SearchContext& search) {
  return on_graph(search, sqrt_segments, every_forward_op);
}
Outcome solve_linear_greedy(const SearchContext& search) {
  return on_graph(search, greedy_segments, every_forward_op);
}

}  // namespace checkmate
