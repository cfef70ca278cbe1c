#include "checkmate/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <sstream>

#include "support/graphs.h"

namespace checkmate {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

/// late_use(): keep-all needs 50 bytes at cost 4, x twice 40 at cost 5, and b alone 40.
SweepOptions three_budgets() {
  return {.budgets = {Bytes{50}, Bytes{30}, Bytes{40}}, .methods = {"keep-all", "brute"}, .solve = {}};
}

TEST(Sweep, HasAPointPerMethodAndRisingBudget) {
  const std::vector<SweepPoint> points = sweep(testing::late_use(), three_budgets()).value();
  ASSERT_EQ(points.size(), 6U);
  std::vector<std::int64_t> budgets;
  std::vector<Status> statuses;
  for (const SweepPoint& point : points) {
    budgets.push_back(point.budget.count());
    statuses.push_back(point.result.status);
  }
  EXPECT_THAT(budgets, ElementsAre(30, 40, 50, 30, 40, 50));
  EXPECT_EQ(points[2].method, "keep-all");
  EXPECT_EQ(points[3].method, "brute");
  EXPECT_THAT(statuses, ElementsAre(Status::kInfeasible, Status::kUnknown, Status::kOptimal,
                                    Status::kInfeasible, Status::kOptimal, Status::kOptimal));
  EXPECT_EQ(points[4].result.cost, Cost{5});
  EXPECT_EQ(points[5].result.cost, Cost{4});
}

TEST(Sweep, GivesEveryPointTheBestBoundThatHoldsForIt) {
  const auto point = [](std::int64_t budget, std::int64_t cost, std::int64_t bound,
                        std::optional<Cost> stage_bound = {}) {
    SolveResult result;
    result.status = Status::kFeasible;
    result.plan.emplace();
    result.cost = Cost{cost};
    result.lower_bound = Cost{bound};
    result.stage_lower_bound = stage_bound;
    return SweepPoint{Bytes{budget}, "some", std::move(result)};
  };
  std::vector<SweepPoint> points = {point(10, 30, 20), point(20, 25, 22), point(10, 40, 20, Cost{28}),
                                    point(20, 22, 10), point(30, 21, 15, Cost{29})};
  share_bounds(points);
  std::vector<Cost> bounds;
  bounds.reserve(points.size());
  for (const SweepPoint& p : points) bounds.push_back(p.result.lower_bound);
  // 22 was proven for 20 bytes, so it holds for 10 as well, but not for 30.
  EXPECT_THAT(bounds, ElementsAre(Cost{22}, Cost{22}, Cost{22}, Cost{22}, Cost{15}));
  EXPECT_EQ(points[0].result.stage_lower_bound, std::nullopt);  // its plan may be of any class
  EXPECT_EQ(points[2].result.stage_lower_bound, Cost{29});
  EXPECT_EQ(points[1].result.status, Status::kFeasible);  // 25 > 22
  EXPECT_EQ(points[3].result.status, Status::kOptimal);   // 22 = 22, another search's bound
}

TEST(Sweep, NeverCostsMoreWithMoreBudget) {
  const Graph graph = testing::chain(16);
  SweepOptions options{.budgets = {}, .methods = {}, .solve = {}};
  for (std::int64_t budget = 4; budget <= 18; ++budget) options.budgets.emplace_back(budget);
  for (const MethodInfo& method : methods()) {
    if (method.name.starts_with("chen") || method.name == "griewank" || method.name == "linear-greedy")
      options.methods.emplace_back(method.name);
  }
  const SweepPoint* before = nullptr;
  const std::vector<SweepPoint> points = sweep(graph, options).value();
  for (const SweepPoint& point : points) {
    if (before != nullptr && before->method == point.method && before->result.plan) {
      ASSERT_TRUE(point.result.plan) << point.method << " at " << point.budget.count();
      EXPECT_LE(point.result.cost, before->result.cost) << point.method << " at " << point.budget.count();
    }
    before = &point;
  }
}

TEST(Sweep, TellsEachPointAndStopsWhenAsked) {
  std::stop_source stop;
  SweepOptions options = three_budgets();
  std::vector<Bytes> told;
  options.on_point = [&](const SweepPoint& point) {
    told.push_back(point.budget);
    if (told.size() == 2) stop.request_stop();
  };
  const std::vector<SweepPoint> points = sweep(testing::late_use(), options, stop.get_token()).value();
  EXPECT_EQ(points.size(), 2U);
  EXPECT_THAT(told, ElementsAre(Bytes{30}, Bytes{40}));
}

TEST(Sweep, HandsOnWrongOptions) {
  SweepOptions options = three_budgets();
  options.methods = {"magic"};
  EXPECT_FALSE(sweep(testing::late_use(), options));
}

TEST(Sweep, IsATableWithEmptyCellsWhereThereIsNoPlan) {
  const Graph graph = testing::late_use();
  std::istringstream table(sweep_to_csv(graph, sweep(graph, three_budgets()).value()));
  std::vector<std::string> lines;
  for (std::string line; std::getline(table, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 1U + 6U);
  EXPECT_THAT(lines[0], StartsWith("budget_bytes,budget_share,method,status,cost,overhead,peak_bytes"));
  EXPECT_THAT(lines[1], StartsWith("30,0.6000,keep-all,infeasible,,,,5,,"));   // 30 / 50; the bound of 40
  EXPECT_THAT(lines[5], StartsWith("40,0.8000,brute,optimal,5,1.25,40,5,,"));  // 5 / 4
}

}  // namespace
}  // namespace checkmate
