#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/command_line.h"

namespace checkmate::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

/// With another program in the place of Python.
Finished torch_with(const std::string& interpreter, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"env", "CHECKMATE_PYTHON=" + interpreter, CHECKMATE_PROGRAM, "torch"});
  return run(arguments);
}

TEST(TorchVerb, BecomesTheInterpreterWithAllOptions) {
  const Finished echoed = torch_with("echo", {"train:example", "--budgets", "60%", "--json", "--seed", "7"});
  EXPECT_EQ(echoed.exit_code, 0);
  EXPECT_THAT(echoed.out,
              EndsWith("train:example --reserve=0 --order=fixed --time-limit=1 --threads=1 --seed=7 "
                       "--budgets=60% --json\n"));
  EXPECT_EQ(torch_with("false", {"train:example"}).exit_code, 1);
}

TEST(TorchVerb, SaysHowToGetAnInterpreter) {
  const Finished lost = torch_with("/no/such/python", {"train:example"});
  EXPECT_EQ(lost.exit_code, 1);
  EXPECT_THAT(lost.err,
              AllOf(HasSubstr("cannot run '/no/such/python': No such file"),
                    HasSubstr("interpreter that has the package checkmate"), HasSubstr("CHECKMATE_PYTHON")));
}

TEST(TorchVerb, RefusesBeforePythonStarts) {
  EXPECT_THAT(complaint({"torch"}), HasSubstr("FUNCTION is required"));
  EXPECT_THAT(complaint({"torch", "train:example", "--order", "odd"}), HasSubstr("odd"));
  EXPECT_THAT(complaint({"torch", "train:example", "--report", "no/such/folder.html"}),
              HasSubstr("there is no folder 'no/such'"));
}

}  // namespace
}  // namespace checkmate::testing
