#include "solve/baselines/last_node.h"

#include "solve/common/candidates.h"
#include "solve/common/expand.h"

namespace checkmate {
namespace {

/// Each stage hands on only the value that it was there for.
class LastNode : public Retention {
 public:
  Stage keep_until(OpId op, TensorId /*output*/, Stage stage) override {
    return op.value == stage ? stage + 1 : stage;
  }
};

}  // namespace

Outcome solve_last_node(const SearchContext& search) {
  LastNode last_node;
  Candidates candidates(search);
  candidates.offer(expand(search, last_node));
  return std::move(candidates).outcome();
}

}  // namespace checkmate
