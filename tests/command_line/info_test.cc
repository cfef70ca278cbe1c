#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "checkmate/checkmate.h"
#include "support/command_line.h"

namespace checkmate::testing {
namespace {

using ::testing::HasSubstr;

TEST(InfoVerb, PrintsTheFiguresAsOneObject) {
  const Finished run = checkmate({"info", "zoo:vgg19?batch=256", "--json"});
  EXPECT_EQ(run.exit_code, 0);
  for (const char* part :
       {"\"ops\": 51", "\"edges\": 99", "\"keep_all_peak_bytes\": 17058234368", "\"fixed_bytes\": 1149337920",
        "\"structural_min_bytes\": 13153337344", "\"structural_min_op\": \"block1_conv1_grad\""}) {
    EXPECT_THAT(run.out, HasSubstr(part));
  }
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 1);
  EXPECT_THAT(checkmate({"info", "zoo:vgg19?batch=256"}).out, HasSubstr("15.9 GiB (17,058,234,368 bytes)"));
}

TEST(InfoVerb, SaysThatNamesRepeat) {
  const ScratchFolder folder;
  GraphBuilder b("twins");
  for (int i = 0; i < 2; ++i)
    b.add_op_with_output({.name = "twin", .cost = Cost{1}, .inputs = {}, .outputs = {}}, Bytes{1});
  const std::string file = folder.file("twins.json", graph_to_json(std::move(b).build().value()));
  EXPECT_THAT(checkmate({"info", file}).out,
              HasSubstr("1 op has the same name as an earlier one; that is allowed"));
}

TEST(InfoVerb, PrintsCostsWithFractionsInTheUnitOfTheFile) {
  const ScratchFolder folder;
  const std::string file = folder.file(
      "fractions.json",
      R"({"format": "checkmate.graph", "version": 1, "cost_unit": "ms", "tensors": [{"bytes": 1}, {"bytes": 1}],
          "ops": [{"cost": 1.5, "inputs": [], "outputs": [0]}, {"cost": 0.25, "inputs": [0], "outputs": [1]}]})");
  const Finished run = checkmate({"info", file});
  EXPECT_THAT(run.out, HasSubstr("cost, each op once    1.75 ms\n"));
  EXPECT_THAT(run.out, HasSubstr("count in ms/10^2"));
  EXPECT_THAT(checkmate({"info", file, "--json"}).out,
              HasSubstr("\"cost_unit\": \"ms/10^2\", \"keep_all_cost\": 175"));
  EXPECT_THAT(checkmate({"solve", file, "--budget", "100%"}).out, HasSubstr("1.75 ms"));
}

TEST(InfoVerb, TakesCostModels) {
  EXPECT_THAT(checkmate({"info", "zoo:vgg16?batch=2", "--costs", "roofline:v100", "--json"}).out,
              HasSubstr("\"cost_unit\": \"ns\""));
  EXPECT_THAT(complaint({"info", "zoo:vgg16?batch=2", "--costs", "roofline:abacus"}), HasSubstr("v100"));
}

}  // namespace
}  // namespace checkmate::testing
