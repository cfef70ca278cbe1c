#include "lp/linear_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace checkmate {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

TEST(LinearSolver, ReportsInfeasibility) {
  LinearProgram program;
  const Column x = program.add_column({.upper = 1, .whole = true});
  program.add_row(2, 3, std::array{Term{x, 1}});
  EXPECT_EQ(LinearSolver(program).solve({}).status, LinearSolution::Status::kInfeasible);
}

/// minimise x + 3 y subject to x + y >= 1.5 and x <= 1, y whole.
struct Small {
  LinearProgram program;
  Column x = program.add_column({.cost = 1, .upper = 1});
  Column y = program.add_column({.cost = 3, .upper = 5, .whole = true});
  Small() { program.add_row(1.5, LinearProgram::kInfinity, std::array{Term{x, 1}, Term{y, 1}}); }
};

TEST(LinearSolver, SolvesTheProgramAndItsRelaxation) {
  const Small small;
  LinearSolver solver(small.program);
  const LinearSolution relaxed = solver.solve({.relax = true});
  EXPECT_EQ(relaxed.status, LinearSolution::Status::kOptimal);
  EXPECT_NEAR(relaxed.objective, 2.5, 1e-6);  // x = 1, y = 0.5
  const LinearSolution whole = solver.solve({});
  EXPECT_EQ(whole.status, LinearSolution::Status::kOptimal);
  EXPECT_NEAR(whole.objective, 3.5, 1e-6);  // y = 1 and so x = 0.5
  EXPECT_THAT(whole.values, ElementsAre(DoubleNear(0.5, 1e-6), DoubleNear(1, 1e-6)));
}

TEST(LinearSolver, StartsAgainFromAChangedProgram) {
  const Small small;
  LinearSolver solver(small.program);
  solver.set_upper_bounds(small.x, small.x, 0);
  EXPECT_NEAR(solver.solve({}).objective, 6, 1e-6);  // y >= 1.5: y = 2
  solver.add_rows(std::array{LinearRow{3, LinearProgram::kInfinity, {{small.y, 1}}}});
  EXPECT_NEAR(solver.solve({}).objective, 9, 1e-6);  // y = 3
}

TEST(LinearProgram, NamesTheRowOrColumnThatValuesBreak) {
  const Small small;
  EXPECT_EQ(small.program.violated_row(std::array{0.5, 1.0}), std::nullopt);
  EXPECT_EQ(small.program.violated_row(std::array{0.5, 0.5}), 0);   // 1 is less than 1.5
  EXPECT_EQ(small.program.violated_row(std::array{1.0, 6.0}), -2);  // y, the second column, is at most 5
}

TEST(LinearProgram, AddsUpTheTermsOfOneColumn) {
  LinearProgram program;
  const Column x = program.add_column({.cost = 1, .upper = 10});
  program.add_row(6, LinearProgram::kInfinity, std::array{Term{x, 1}, Term{x, 2}});
  EXPECT_EQ(program.entry_count(), 1U);
  EXPECT_NEAR(LinearSolver(program).solve({}).objective, 2, 1e-6);  // 3 x >= 6
}

}  // namespace
}  // namespace checkmate
