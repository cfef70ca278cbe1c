#include "solve/baselines/griewank.h"

#include <algorithm>

#include "solve/baselines/revolve.h"
#include "solve/common/candidates.h"
#include "solve/common/expand.h"
#include "solve/common/forward.h"

namespace checkmate {
namespace {

/// The forward part as a chain of blocks, each ending in a cut, the last at its end; and for each backward
/// stage the block that it reverses: the latest whose values it reads, never later than that of the stage
/// before.
class BlockChain {
 public:
  BlockChain(const Graph& graph, const std::vector<OpId>& cuts) : block_of_(graph.op_count()) {
    const std::uint32_t forward = forward_size(graph);
    std::size_t cut = 0;
    for (std::uint32_t op = 0; op < forward; ++op) {
      block_of_[op] = static_cast<std::uint32_t>(cut + 1);
      if (cut < cuts.size() && cuts[cut].value == op) ++cut;
    }
    length_ = forward == 0 ? 0 : block_of_[forward - 1];
    last_stage_.assign(length_ + std::size_t{1}, forward);
    std::uint32_t current = length_;
    for (std::uint32_t op = forward; op < graph.op_count(); ++op) {
      std::uint32_t latest = 0;
      for (const TensorId tensor : graph.inputs(OpId{op})) {
        if (graph.resident(tensor) || graph.producer(tensor)->value >= forward) continue;
        latest = std::max(latest, block_of_[graph.producer(tensor)->index()]);
      }
      if (latest > 0) current = std::min(current, latest);
      block_of_[op] = current;
      last_stage_[current] = op;
    }
    for (std::uint32_t block = length_;
         block-- > 0;) {  // a block that no stage reverses is done with the one after it
      last_stage_[block] = std::max(last_stage_[block], last_stage_[block + 1]);
    }
  }

  std::uint32_t length() const { return length_; }
  std::uint32_t of(std::uint32_t op) const { return block_of_[op]; }
  /// When the block has been reversed.
  Stage last_stage(std::uint32_t block) const { return last_stage_[block]; }

 private:
  std::vector<std::uint32_t> block_of_;  // per op, from 1
  std::uint32_t length_;
  std::vector<Stage> last_stage_;
};

class Revolve : public Retention {
 public:
  Revolve(const Graph& graph, const BlockChain& blocks, const std::vector<OpId>& cuts, std::uint32_t slots)
      : forward_size_(forward_size(graph)),
        end_(static_cast<Stage>(graph.op_count())),
        blocks_(blocks),
        stored_for_(revolve(blocks.length(), slots)),
        state_of_(graph.op_count()),
        forward_until_(last_forward_uses(graph)) {
    for (std::size_t k = 0; k < cuts.size(); ++k)
      state_of_[cuts[k].index()] = static_cast<std::uint32_t>(k + 1);
  }

  Stage keep_until(OpId op, TensorId /*output*/, Stage stage) override {
    if (op.value >= forward_size_) return end_;
    // The way forward is the advance to the last block.
    const std::uint32_t reversing = stage < forward_size_ ? blocks_.length() : blocks_.of(stage);
    const std::uint32_t state = state_of_[op.index()];
    const std::vector<std::uint32_t>& stored = stored_for_[reversing];
    Stage until = stage < forward_size_ ? forward_until_[op.index()] : stage;
    if (state > 0 && std::binary_search(stored.begin(), stored.end(), state)) {
      until = std::max(until, blocks_.last_stage(state));
    }
    if (blocks_.of(op.value) == reversing || (state > 0 && state + 1 == reversing)) {
      until = std::max(until, blocks_.last_stage(reversing));
    }
    return until;
  }

 private:
  Stage forward_size_;
  Stage end_;
  const BlockChain& blocks_;
  std::vector<std::vector<std::uint32_t>> stored_for_;
  std::vector<std::uint32_t> state_of_;  // per op: the block that it ends, 0 for none
  std::vector<Stage> forward_until_;
};

/// More slots cost less and, mostly, hold more. Every number is tried on short chains; on long ones the most
/// that fit are found by bisection, after the fewest.
Outcome most_slots(const SearchContext& search, const std::vector<OpId>& cuts) {
  constexpr std::uint32_t kShort = 256;
  const BlockChain blocks(search.graph, cuts);
  Candidates candidates(search);
  const auto fits = [&](std::uint32_t slots) {
    Revolve retention(search.graph, blocks, cuts, slots);
    return candidates.offer(expand(search, retention));
  };
  if (blocks.length() <= kShort) {
    for (std::uint32_t slots = 1; slots <= blocks.length() && !search.stopped(); ++slots) fits(slots);
    return std::move(candidates).outcome();
  }
  std::uint32_t low = 1;
  std::uint32_t high = blocks.length();
  fits(low);
  while (low < high && !search.stopped()) {
    const std::uint32_t middle = low + (high - low + 1) / 2;
    if (fits(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return std::move(candidates).outcome();
}

}  // namespace

Outcome solve_griewank(const SearchContext& search) {
  if (!forward_is_chain(search.graph))
    return {.detail = "the forward part is not a chain; ap-griewank takes any graph"};
  std::vector<OpId> cuts;
  const std::uint32_t size = forward_size(search.graph);
  for (std::uint32_t op = 0; op + 1 < size; ++op) cuts.push_back(OpId{op});
  return most_slots(search, cuts);
}

Outcome solve_ap_griewank(const SearchContext& search) {
  if (forward_size(search.graph) == 0)
    return {.detail = "the graph has no forward part before a backward op to reverse"};
  return most_slots(search, articulation_points(search.graph));
}

}  // namespace checkmate
