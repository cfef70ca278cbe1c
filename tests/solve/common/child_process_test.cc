#include "solve/common/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "support/graphs.h"

namespace checkmate {
namespace {

using namespace testing::diamond_ops;
using ::testing::HasSubstr;
using ::testing::Optional;

const std::vector<OpId> x_again = {kX, kA, kB, kX, kY};  // late_use(): cost 5, peak 40

Outcome run(const SolveOptions& options, const Method& method) {
  const Graph graph = testing::late_use();
  const SearchContext search(graph, options, {});
  Incumbent incumbent(search);
  Outcome outcome = run_in_child(search, incumbent, method);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // no child is left
  EXPECT_EQ(errno, ECHILD);
  return outcome;
}

TEST(ChildProcess, BringsTheOutcomeBack) {
  const Outcome outcome = run({.budget = Bytes{40}}, [](const SearchContext& search, Incumbent& incumbent) {
    incumbent.offer(x_again, "test");
    Outcome found = incumbent.outcome();
    found.stage_lower_bound = search.graph.keep_all_cost() + Cost{1};
    found.detail = "done in process " + std::to_string(::getpid());
    return found;
  });
  EXPECT_THAT(outcome.steps, Optional(x_again));
  EXPECT_EQ(outcome.stage_lower_bound, Cost{5});
  EXPECT_THAT(outcome.detail, HasSubstr("done"));
  EXPECT_NE(outcome.detail, "done in process " + std::to_string(::getpid()));
}

TEST(ChildProcess, IsEndedWhenTimeIsUpAndKeepsWhatItReported) {
  const SolveOptions options{.budget = Bytes{40}, .time_limit = std::chrono::milliseconds(300)};
  const Outcome outcome = run(options, [](const SearchContext&, Incumbent& incumbent) {
    incumbent.offer(x_again, "test");
    while (true) std::this_thread::sleep_for(std::chrono::hours(1));  // it never looks up
    return Outcome{};
  });
  EXPECT_THAT(outcome.steps, Optional(x_again));
}

TEST(ChildProcess, MayBreak) {
  const Outcome outcome =
      run({.budget = Bytes{40}}, [](const SearchContext&, Incumbent&) -> Outcome { throw std::bad_alloc(); });
  EXPECT_FALSE(outcome.steps);
  EXPECT_THAT(outcome.detail, HasSubstr("without an answer"));
}

}  // namespace
}  // namespace checkmate
