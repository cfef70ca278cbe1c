#include "solve/paper/stage_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkmate/solve.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using ::testing::HasSubstr;
using testing::random_case;
using testing::share_of;
using testing::solved;

TEST(StageModel, MapsAPlanToColumnsAndBack) {
  for (std::uint64_t seed = 0; seed < share_of(200); ++seed) {
    SCOPED_TRACE(seed);
    const auto [graph, budget] = random_case(seed, 2);
    const SolveResult stages = solved(graph, "brute-stages", budget);
    if (!stages.plan) continue;
    for (const bool tight : {true, false}) {
      const StageModel model(graph, {.budget = budget, .tight = tight});
      const std::vector<double> columns = model.columns_of(stages.plan->steps);
      EXPECT_EQ(model.steps_of(columns), stages.plan->steps);
      EXPECT_EQ(model.program().violated_row(columns), std::nullopt);
    }
  }
}

TEST(StageModel, WritesItselfAsMpsAndLp) {
  const Graph graph = testing::diamond();
  const StageModel model(graph, {.budget = Bytes{30}, .named = true});
  LinearSolver solver(model.program());
  EXPECT_THAT(solver.text("mps").value(), HasSubstr("R_3_0"));
  EXPECT_THAT(solver.text("lp").value(), HasSubstr("U_3_3"));
}

}  // namespace
}  // namespace checkmate
