#include "solve/common/expand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/graphs.h"

namespace checkmate {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

/// Keeps every value for so many stages after the one that makes it.
class KeepFor : public Retention {
 public:
  explicit KeepFor(Stage stages) : stages_(stages) {}
  Stage keep_until(OpId, TensorId, Stage stage) override { return stage + stages_; }

 private:
  Stage stages_;
};

std::optional<std::vector<std::uint32_t>> expanded(const Graph& graph, Stage stages,
                                                   std::stop_token stop = {}) {
  const SolveOptions options{.budget = Bytes{1}};
  KeepFor retention(stages);
  const auto steps = expand(SearchContext(graph, options, std::move(stop)), retention);
  if (!steps) return std::nullopt;
  std::vector<std::uint32_t> ops;
  for (const OpId op : *steps) ops.push_back(op.value);
  return ops;
}

TEST(Expand, RunsEveryOpOnceWhereAllIsKept) {
  EXPECT_THAT(expanded(testing::diamond(), 4), Optional(ElementsAre(0, 1, 2, 3)));
}

TEST(Expand, RecomputesWhatIsMissingOncePerStageInIndexOrder) {
  // Nothing is kept: a, b and y make x again, and y makes a and b as well, both from one run of x.
  EXPECT_THAT(expanded(testing::diamond(), 0),
              Optional(ElementsAre(0, /**/ 0, 1, /**/ 0, 2, /**/ 0, 1, 2, 3)));
}

TEST(Expand, RecomputesOnlyWhatIsGone) {
  // Kept for one stage: x is there for a, but not for b; at y a is gone, and the x that was made for b is
  // not.
  EXPECT_THAT(expanded(testing::diamond(), 1), Optional(ElementsAre(0, 1, /**/ 0, 2, /**/ 1, 3)));
}

TEST(Expand, KeepsOutputsAndWhatRunsOnceWhateverTheRetention) {
  // norm makes `hidden` for drop and loss and `statistics` for grad; drop runs once, so its mask stays.
  EXPECT_THAT(expanded(testing::full_featured(), 0),
              Optional(ElementsAre(0, /**/ 0, 1, /**/ 0, 2, /**/ 0, 3)));
}

TEST(Expand, StopsWhenAsked) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(expanded(testing::diamond(), 4, stop.get_token()), std::nullopt);
}

}  // namespace
}  // namespace checkmate
