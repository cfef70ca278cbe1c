#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/command_line.h"

namespace checkmate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(SolveVerb, WritesAPlanThatValidateAndSimulateTake) {
  const ScratchFolder folder;
  const std::string plan = (folder.path() / "plan.json").string();
  const Finished solved =
      checkmate({"solve", "zoo:unet?batch=32", "--budget", "60%", "--plan", plan, "--json"});
  EXPECT_EQ(solved.exit_code, 0) << solved.err;
  EXPECT_THAT(solved.out, AllOf(HasSubstr("\"status\": \"feasible\""), HasSubstr("\"order\": \"fixed\""),
                                HasSubstr("\"stage_lower_bound\": null")));
  EXPECT_EQ(checkmate({"validate", "zoo:unet?batch=32", "--plan", plan}).exit_code, 0);
  EXPECT_EQ(checkmate({"validate", "zoo:unet?batch=32", "--plan", plan, "--budget", "60%"}).exit_code, 0);
  const Finished over = checkmate({"validate", "zoo:unet?batch=32", "--plan", plan, "--budget", "50%"});
  EXPECT_EQ(over.exit_code, 1);
  EXPECT_THAT(over.out, HasSubstr("over the budget"));
  EXPECT_THAT(checkmate({"simulate", "zoo:unet?batch=32", "--plan", plan}).out, HasSubstr("largest of"));
  EXPECT_THAT(complaint({"validate", "zoo:unet?batch=31", "--plan", plan}),
              HasSubstr("for another graph, 'unet?batch=32'"));
}

TEST(SolveVerb, ExplainsAPlan) {
  const Finished large =
      checkmate({"solve", "zoo:unet?batch=32", "--budget", "60%", "--method", "linear-greedy", "--explain"});
  EXPECT_EQ(large.exit_code, 0) << large.err;
  EXPECT_THAT(large.out, AllOf(HasSubstr("recomputes"), HasSubstr("more ops"), HasSubstr("longest kept"),
                               HasSubstr("of the peak"), HasSubstr("of 1 GiB")));
  // Four bytes are a gradient with its inputs and outputs: with three there is no plan.
  const std::vector<std::string> tight = {"solve", "zoo:linear?n=8", "--budget", "4", "--explain"};
  EXPECT_THAT(checkmate(tight).out, AllOf(HasSubstr("6 ops in 21 runs"), HasSubstr("of 1 B, more and less"),
                                          HasSubstr("no plan fits: op 10 'layer7_grad'")));
  std::vector<std::string> as_json = tight;
  as_json.emplace_back("--json");
  EXPECT_THAT(checkmate(as_json).out,
              AllOf(HasSubstr("\"explanation\": {\"recomputed_cost\": 21"), HasSubstr("\"step_bytes\": 1"),
                    HasSubstr("\"less_costs\": null")));
  EXPECT_THAT(checkmate({"solve", "zoo:linear?n=8", "--budget", "3", "--explain", "--json"}).out,
              HasSubstr("\"explanation\": null"));
}

TEST(SolveVerb, ExitCodesTellTheAnswer) {
  EXPECT_EQ(checkmate({"solve", "zoo:linear?n=8", "--budget", "100%"}).exit_code, 0);
  const Finished infeasible = checkmate({"solve", "zoo:linear?n=8", "--budget", "1", "--json"});
  EXPECT_EQ(infeasible.exit_code, 2);
  EXPECT_THAT(infeasible.out, AllOf(HasSubstr("\"status\": \"infeasible\""), HasSubstr("\"needed_bytes\": 4"),
                                    HasSubstr("\"stop_reason\": \"infeasible\""), HasSubstr("\"cost\": null"),
                                    HasSubstr("\"peak_bytes\": null")));
  const Finished unknown =
      checkmate({"solve", "zoo:linear?n=8", "--budget", "5", "--method", "keep-all", "--json"});
  EXPECT_EQ(unknown.exit_code, 3);
  EXPECT_THAT(unknown.out, AllOf(HasSubstr("\"status\": \"unknown\""), HasSubstr("\"sufficient_bytes\": ")));
}

TEST(SolveVerb, TellsWhyTheSearchStopped) {
  EXPECT_THAT(checkmate({"solve", "zoo:linear?n=8", "--budget", "100%"}).out,
              HasSubstr("the gap asked for is closed"));
  EXPECT_THAT(checkmate({"solve", "zoo:random_layered?n=200", "--budget", "80%", "--time-limit", "0.3"}).out,
              HasSubstr("the time limit"));
}

TEST(SolveVerb, PlansWhereMemoryForThreadsAndMethodsRunsOut) {
#ifdef CHECKMATE_SANITIZED
  GTEST_SKIP() << "the address sanitizer reserves more address space than any limit leaves";
#endif
  const std::string command =
      "exec '" CHECKMATE_PROGRAM "' solve zoo:resnet50 --budget 40% --threads 8 --time-limit 2";
  for (const char* kilobytes : {"60000", "100000", "140000"}) {
    const Finished limited = run({"sh", "-c", "ulimit -v " + std::string(kilobytes) + "; " + command});
    EXPECT_EQ(limited.exit_code, 0) << kilobytes << limited.err;
    EXPECT_THAT(limited.out, HasSubstr("feasible"));
  }
}

TEST(SolveVerb, RefusesWrongBudgets) {
  for (const char* budget : {"0", "-1", "5 potatoes", "200%", "", "NaN"}) {
    EXPECT_THAT(complaint({"solve", "zoo:linear?n=4", "--budget=" + std::string(budget)}),
                HasSubstr("budget"))
        << budget;
  }
  EXPECT_THAT(complaint({"solve", "zoo:linear?n=4"}), HasSubstr("--budget is required"));
}

TEST(SolveVerb, EndsTheSearchOnCtrlC) {
  const Finished run = interrupted(5, {"solve", "zoo:fcn8?batch=32", "--budget", "70%", "--method", "milp",
                                       "--time-limit", "200", "--explain", "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;  // the plan that it started from, at least
  EXPECT_THAT(run.out, AllOf(HasSubstr("\"status\": \"feasible\""), HasSubstr("\"price\": null")));
}

}  // namespace
}  // namespace checkmate::testing
