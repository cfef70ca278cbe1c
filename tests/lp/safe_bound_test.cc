#include "lp/safe_bound.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lp/linear_program.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using testing::diamond;  // keep-all's cost: 1 + 2 + 3 + 4 = 10

TEST(SafeBound, RoundsUpToTheNextWholeCost) {
  EXPECT_EQ(safe_bound(diamond(), 11.5), Cost{12});
  EXPECT_EQ(safe_bound(diamond(), 12), Cost{12});
}

TEST(SafeBound, TakesOffWhatTheSolversTolerancesMayAdd) {
  EXPECT_EQ(safe_bound(diamond(), 12.00001), Cost{12});  // 12 x 1e-6 off: 11.999998
  EXPECT_EQ(safe_bound(diamond(), 12.0001), Cost{13});
  // Relative: 1e-6 of 10^9 is 1000.
  EXPECT_EQ(safe_bound(diamond(), 1e9), Cost{999'999'000});
}

TEST(SafeBound, IsNeverBelowTheCostOfRunningEveryOpOnce) {
  EXPECT_EQ(safe_bound(diamond(), 3.5), Cost{10});
  EXPECT_EQ(safe_bound(diamond(), -7), Cost{10});
}

TEST(SafeBound, IsNothingWhereTheSolverKnowsNothing) {
  EXPECT_EQ(safe_bound(diamond(), std::nan("")), std::nullopt);
  EXPECT_EQ(safe_bound(diamond(), std::numeric_limits<double>::infinity()), std::nullopt);
  EXPECT_EQ(safe_bound(diamond(), -LinearProgram::kInfinity), std::nullopt);
  EXPECT_EQ(safe_bound(diamond(), 1e19), std::nullopt);  // no sum of costs gets there
}

}  // namespace
}  // namespace checkmate
