#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkmate/checkmate.h"
#include "support/command_line.h"
#include "support/graphs.h"

namespace checkmate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kThreeBlocks = "id,lower,upper,size\na,0,2,30\nb,1,4,20\nc,2,4,25\n";

TEST(LayoutVerb, AddsOffsetsToBlocks) {
  const ScratchFolder folder;
  const std::string blocks = folder.file("blocks.csv", kThreeBlocks);
  const std::string output = (folder.path() / "layout.csv").string();
  const Finished run = checkmate({"layout", blocks, "--alignment", "1", "-o", output});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("50 bytes, the smallest possible"), HasSubstr("excess")));  // 30 + 20
  EXPECT_THAT(*read_file(output), AllOf(HasSubstr("id,lower,upper,size,offset\na,0,2,30,"),
                                        HasSubstr("\nb,1,4,20,"), HasSubstr("\nc,2,4,25,")));
}

TEST(LayoutVerb, SaysWhetherTheCapacityIsEnough) {
  const ScratchFolder folder;
  const std::string blocks = folder.file("blocks.csv", kThreeBlocks);
  EXPECT_EQ(checkmate({"layout", blocks, "--alignment", "1", "--capacity", "50"}).exit_code, 0);
  EXPECT_EQ(checkmate({"layout", blocks, "--alignment", "1", "--capacity", "49"}).exit_code, 2);  // the peak
}

TEST(LayoutVerb, PutsTheLayoutIntoThePlanAndValidateChecksIt) {
  const ScratchFolder folder;
  const std::string graph = folder.file("graph.json", graph_to_json(full_featured()));
  PlanRecord bare;
  bare.plan = keep_all_plan(full_featured());
  const std::string plan = folder.file("plan.json", plan_to_json(bare));
  const Finished run = checkmate({"layout", graph, "--plan", plan, "-o", plan, "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("\"peak_bytes\""), HasSubstr("\"alignment\": 64")));
  EXPECT_EQ(checkmate({"validate", graph, "--plan", plan}).exit_code, 0);

  PlanRecord record = *read_plan(plan, full_featured());
  ASSERT_TRUE(record.layout);
  for (Bytes& offset : record.layout->offsets) offset = Bytes{0};
  const std::string wrong = folder.file("wrong.json", plan_to_json(record));
  const Finished refused = checkmate({"validate", graph, "--plan", wrong});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.out, AllOf(HasSubstr("layout: blocks"), HasSubstr("overlap at moment")));
}

TEST(LayoutVerb, RefusesWhatIsWrong) {
  const ScratchFolder folder;
  const auto of = [&](const std::string& text) { return complaint({"layout", folder.file("b.csv", text)}); };
  EXPECT_THAT(of("id,lower,size\n"), HasSubstr("there is no column 'upper'"));
  EXPECT_THAT(of("id,lower,upper,size\na,0,1,x\n"), HasSubstr("b.csv:2: size is 'x'"));
  EXPECT_THAT(of("id,lower,upper,size\na,3,1,5\n"), HasSubstr("b.csv:2: upper 1 is below lower 3"));
  EXPECT_THAT(of("id,lower,upper,size\na,0,4294967296,5\n"), HasSubstr("moment 4294967296 is above"));
  EXPECT_THAT(of("id,lower,upper,size\na,0,1,9223372036854775807\n"), HasSubstr("sum to more than"));
  EXPECT_THAT(complaint({"layout", (folder.path() / "none.csv").string()}), HasSubstr("none.csv"));
  const std::string blocks = folder.file("blocks.csv", kThreeBlocks);
  EXPECT_THAT(complaint({"layout", blocks, "--alignment", "0"}), HasSubstr("alignment"));
  EXPECT_THAT(complaint({"layout", blocks, "--capacity", "much"}), HasSubstr("--capacity"));
  EXPECT_THAT(complaint({"layout", blocks, "-o", (folder.path() / "no/folder.csv").string()}),
              HasSubstr("folder"));
}

}  // namespace
}  // namespace checkmate::testing
