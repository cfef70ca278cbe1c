#include "checkmate/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "checkmate/simulate.h"
#include "support/graphs.h"

namespace checkmate {
namespace {

using testing::below;
using testing::diamond;
using ::testing::ElementsAre;
using testing::Features;
using testing::full_featured;
using ::testing::IsEmpty;
using testing::random_graph;
using testing::random_steps;

constexpr Bytes kPlenty{INT64_MAX};
using namespace testing::diamond_ops;

/// Frees as lists that a test can change.
struct Loose {
  std::vector<OpId> steps;
  std::vector<std::vector<TensorId>> frees;

  explicit Loose(const Plan& plan) : steps(plan.steps) {
    for (std::size_t step = 0; step < plan.steps.size(); ++step) {
      frees.emplace_back(plan.frees.after(step).begin(), plan.frees.after(step).end());
    }
  }
  Plan plan() const {
    Plan plan{.steps = steps, .frees = {}};
    for (const auto& freed : frees) plan.frees.push_step(freed);
    return plan;
  }
};

std::vector<ViolationKind> kinds(const Graph& graph, const Plan& plan, Bytes budget = kPlenty,
                                 Order order = Order::kFixed) {
  std::vector<ViolationKind> found;
  for (const Violation& violation : validate(graph, plan, budget, order)) {
    found.push_back(violation.kind);
    EXPECT_FALSE(describe(graph, violation).empty());
  }
  return found;
}

TEST(Validate, AcceptsKeepAllAtItsPeakAndNotBelow) {
  const Graph graph = diamond();
  EXPECT_THAT(kinds(graph, keep_all_plan(graph), Bytes{30}), IsEmpty());
  const std::vector<Violation> over = validate(graph, keep_all_plan(graph), Bytes{29});
  ASSERT_EQ(over.size(), 2U);  // steps 2 and 3 have 30 bytes
  EXPECT_EQ(over[0].step, 2U);
  EXPECT_EQ(over[0].memory, Bytes{30});
  EXPECT_EQ(describe(graph, over[0]), "step 2 (op 2 'b') needs 30 bytes, over the budget");
}

TEST(Validate, NamesStepOpAndTensor) {
  const Graph graph = diamond();
  const std::vector<Violation> found = validate(graph, *plan_from_steps(graph, {kA, kX, kB, kY}), kPlenty);
  ASSERT_EQ(found.size(), 3U);  // out of order, x missing, and a's free of x comes before x
  EXPECT_EQ(describe(graph, found[0]),
            "step 0 (op 1 'a') is a first run that comes before the first run of an earlier op");
  EXPECT_EQ(describe(graph, found[1]),
            "after step 0 (op 1 'a'), tensor 0 'x' is freed, which is not in memory");
  EXPECT_EQ(describe(graph, found[2]), "step 0 (op 1 'a') reads tensor 0 'x', which is not in memory");
}

TEST(Validate, FindsAllViolationsNotOnlyTheFirst) {
  const Graph graph = diamond();
  EXPECT_THAT(kinds(graph, *plan_from_steps(graph, {kX})),
              ElementsAre(ViolationKind::kNeverRuns, ViolationKind::kNeverRuns, ViolationKind::kNeverRuns));
}

TEST(Validate, RefusesUnknownOpsAndTensors) {
  const Graph graph = diamond();
  Loose loose(keep_all_plan(graph));
  loose.steps.push_back(OpId{77});
  loose.frees.push_back({TensorId{88}});
  EXPECT_THAT(kinds(graph, loose.plan()),
              ElementsAre(ViolationKind::kUnknownOp, ViolationKind::kUnknownTensor));
}

TEST(Validate, RefusesFreesThatDoNotMatchTheSteps) {
  const Graph graph = diamond();
  Loose loose(keep_all_plan(graph));
  loose.frees.pop_back();
  EXPECT_THAT(kinds(graph, loose.plan()), ElementsAre(ViolationKind::kFreesDoNotMatchSteps));
}

TEST(Validate, RefusesToMakeALiveTensor) {
  const Graph graph = diamond();
  Loose loose(*plan_from_steps(graph, {kX, kA, kX, kB, kY}));
  loose.frees[1].clear();
  EXPECT_THAT(kinds(graph, loose.plan()), ElementsAre(ViolationKind::kMadeWhileLive));
}

TEST(Validate, RefusesToFreeAResidentTensorOrAnOutput) {
  const Graph graph = full_featured();
  Loose loose(keep_all_plan(graph));
  loose.frees[3].push_back(TensorId{0});
  loose.frees[3].push_back(TensorId{5});
  EXPECT_THAT(kinds(graph, loose.plan()),
              ElementsAre(ViolationKind::kFreedWhileAbsent, ViolationKind::kOutputNotKept));
}

TEST(Validate, LetsFirstRunsMoveInFreeOrderOnly) {
  const Graph graph = diamond();
  const Plan plan = *plan_from_steps(graph, {kX, kB, kA, kY});
  EXPECT_THAT(kinds(graph, plan), ElementsAre(ViolationKind::kFirstRunOutOfOrder));
  EXPECT_THAT(kinds(graph, plan, kPlenty, Order::kFree), IsEmpty());
}

TEST(Validate, RefusesACostThatOverflowsAsTheSimulatorDoes) {
  GraphBuilder b("dear");
  b.add_op_with_output({.name = "f", .cost = Cost{kLargestTotal}, .inputs = {}, .outputs = {}}, Bytes{1});
  const Graph graph = std::move(b).build().value();
  const Plan plan = *plan_from_steps(graph, {OpId{0}, OpId{0}});
  EXPECT_THAT(kinds(graph, plan), ElementsAre(ViolationKind::kCostOverflow));
  EXPECT_FALSE(simulate(graph, plan));
}

struct Case {
  Graph graph;
  Loose loose;
  std::mt19937_64 random;
};

Case random_case() {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto ops = *rc::gen::inRange<std::size_t>(1, 12);
  std::mt19937_64 random(seed);
  Graph graph = random_graph(seed, ops, *rc::gen::arbitrary<bool>() ? Features::all() : Features{});
  Loose loose(*plan_from_steps(graph, random_steps(graph, random)));
  return {std::move(graph), std::move(loose), random};
}

RC_GTEST_PROP(ValidateProperty, AcceptsTightPlansExactlyDownToTheirPeak, ()) {
  const Case c = random_case();
  const Plan plan = c.loose.plan();
  const Simulation run = simulate(c.graph, plan).value();
  RC_ASSERT(validate(c.graph, plan, run.peak).empty());
  const std::vector<Violation> over = validate(c.graph, plan, run.peak - Bytes{1});
  RC_ASSERT(!over.empty());
  RC_ASSERT(over.front().kind == ViolationKind::kOverBudget && over.front().step == run.peak_step);
}

/// Random edits: most break the plan, some do not. Simulator and validator must agree on which.
RC_GTEST_PROP(ValidateProperty, AgreesWithTheSimulatorOnEditedPlans, ()) {
  Case c = random_case();
  Loose& l = c.loose;
  for (std::uint64_t edits = 1 + below(c.random, 3); edits > 0 && !l.steps.empty(); --edits) {
    const std::size_t step = below(c.random, l.steps.size());
    const std::size_t other = below(c.random, l.steps.size());
    const TensorId tensor{static_cast<std::uint32_t>(below(c.random, c.graph.tensor_count()))};
    switch (below(c.random, 6)) {
      case 0:
        std::swap(l.steps[step], l.steps[other]);
        break;
      case 1:
        std::swap(l.frees[step], l.frees[other]);
        break;
      case 2:
        l.frees[step].clear();
        break;
      case 3:
        l.frees[step].push_back(tensor);
        break;
      case 4:
        l.steps.erase(l.steps.begin() + static_cast<std::ptrdiff_t>(step)),
            l.frees.erase(l.frees.begin() + static_cast<std::ptrdiff_t>(step));
        break;
      default:
        l.steps[step] = l.steps[other];
        break;
    }
  }
  const Plan plan = l.plan();
  const Result<Simulation> run = simulate(c.graph, plan);
  const std::vector<Violation> found = validate(c.graph, plan, kPlenty, Order::kFree);
  RC_ASSERT(run.has_value() == found.empty());
  if (run) {
    RC_ASSERT(validate(c.graph, plan, run->peak, Order::kFree).empty());
    RC_ASSERT(!validate(c.graph, plan, run->peak - Bytes{1}, Order::kFree).empty());
  }
}

/// Edits that always break a tight plan, each wherever it applies.
RC_GTEST_PROP(ValidateProperty, RefusesEveryMutation, ()) {
  const Case c = random_case();
  const auto refused = [&](const Loose& mutant, Order order = Order::kFixed) {
    const bool simulator_refuses = order == Order::kFixed || !simulate(c.graph, mutant.plan());
    return simulator_refuses && !validate(c.graph, mutant.plan(), kPlenty, order).empty();
  };
  for (std::size_t step = 0; step < c.loose.steps.size(); ++step) {
    const OpId op = c.loose.steps[step];
    for (const TensorId input : c.graph.inputs(op)) {
      if (c.graph.resident(input) || step == 0) continue;
      Loose early = c.loose;  // the input goes right before its use
      early.frees[step - 1].push_back(input);
      RC_ASSERT(refused(early, Order::kFree));
    }
    for (const TensorId freed : c.loose.frees[step]) {
      Loose twice = c.loose;
      twice.frees[step].push_back(freed);
      RC_ASSERT(refused(twice, Order::kFree));
    }
    if (std::count(c.loose.steps.begin(), c.loose.steps.end(), op) == 1) {
      Loose dropped = c.loose;
      dropped.steps.erase(dropped.steps.begin() + static_cast<std::ptrdiff_t>(step));
      dropped.frees.erase(dropped.frees.begin() + static_cast<std::ptrdiff_t>(step));
      RC_ASSERT(refused(dropped, Order::kFree));
    }
    if (!c.graph.recomputable(op)) {
      Loose again = c.loose;
      again.steps.push_back(op);
      again.frees.emplace_back();
      RC_ASSERT(refused(again, Order::kFree));
    }
  }
  for (const TensorId tensor : c.graph.tensors()) {
    if (!c.graph.output(tensor)) continue;
    Loose lost = c.loose;
    lost.frees.back().push_back(tensor);
    RC_ASSERT(refused(lost, Order::kFree));
  }
}

}  // namespace
}  // namespace checkmate
