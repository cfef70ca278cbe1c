#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/command_line.h"

namespace checkmate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(CommandLine, NamesWhatIsUnknown) {
  EXPECT_THAT(complaint({}), HasSubstr("give a verb: solve"));
  EXPECT_THAT(complaint({"sovle"}), HasSubstr("unknown verb 'sovle'; perhaps you meant solve"));
  EXPECT_THAT(complaint({"frobnicate"}), HasSubstr("unknown verb 'frobnicate'; known are solve, compare"));
  EXPECT_THAT(complaint({"solve", "zoo:linear?n=4", "--budgt", "60%"}),
              HasSubstr("unknown option '--budgt'; perhaps you meant --budget"));
  EXPECT_THAT(complaint({"plot", "tradeof", "-o", "x.svg"}),
              HasSubstr("unknown picture 'tradeof'; perhaps you meant tradeoff"));
  EXPECT_EQ(checkmate({"help"}).out, checkmate({"--help"}).out);
  EXPECT_THAT(complaint({"info"}), HasSubstr("GRAPH is required"));
  EXPECT_THAT(complaint({"info", "zoo:unet", "--potato"}),
              AllOf(HasSubstr("--potato"), HasSubstr("checkmate info --help")));
  EXPECT_THAT(complaint({"info", "zoo:unte"}), AllOf(HasSubstr("unknown network 'unte'"), HasSubstr("unet")));
  EXPECT_THAT(complaint({"info", "zoo:unet?potato=1"}),
              AllOf(HasSubstr("unknown parameter 'potato'"), HasSubstr("batch")));
  EXPECT_THAT(complaint({"info", "zoo:unet?batch=0"}), HasSubstr("batch must be a whole number from 1"));
  EXPECT_THAT(complaint({"info", "zoo:unet?batch"}), HasSubstr("write name=value"));
  EXPECT_THAT(complaint({"info", "zoo:unet?batch=1&batch=2"}), HasSubstr("given twice"));
  EXPECT_THAT(complaint({"solve", "zoo:unet", "--budget", "60%", "--method", "magic"}),
              HasSubstr("unknown method 'magic'"));
  EXPECT_THAT(complaint({"solve", "zoo:unet", "--budget", "60%", "--order", "sideways"}),
              HasSubstr("fixed or free"));
  EXPECT_THAT(complaint({"solve", "zoo:unet", "--budget", "60%", "--seed", "x"}), HasSubstr("seed"));
  EXPECT_THAT(complaint({"convert", "zoo:unet", "--to", "png"}), HasSubstr("png"));
}

TEST(CommandLine, DoesNotTakeAnOptionForTheValueOfAnother) {
  const ScratchFolder folder;
  EXPECT_THAT(complaint({"solve", "zoo:linear?n=4", "-b", "12", "--plan", "--json"}),
              HasSubstr("--plan needs a value, but is followed by '--json'; if that is the value, write "
                        "--plan=--json"));
  EXPECT_THAT(complaint({"solve", "zoo:linear?n=4", "-b", "--json"}), HasSubstr("write --budget=--json"));
  EXPECT_THAT(complaint({"plot", "tradeoff", "zoo:linear?n=4", "-o", "-b"}),
              HasSubstr("-o needs a value, but is followed by '-b'"));
  const std::string in_folder = fmt::format("cd {} && {} ", folder.path().string(), CHECKMATE_PROGRAM);
  EXPECT_EQ(run({"sh", "-c", in_folder + "convert zoo:linear?n=4 --output=--json"}).exit_code, 0);
  EXPECT_EQ(run({"sh", "-c", in_folder + "convert zoo:linear?n=4 --output ./--dot --to dot"}).exit_code, 0);
  EXPECT_EQ(folder.entries(), 2U);  // files named --json and --dot, for those who want them
}

TEST(CommandLine, RefusesNumbersThatDoNotFit) {
  const auto refusal = [](const char* flag, const char* value) {
    return complaint({"solve", "zoo:linear", "--budget", "100%", flag, value});
  };
  const char* const huge = "99999999999999999999";
  for (const char* flag : {"--seed", "--moves", "--threads", "--samples"}) {
    for (const char* value : {huge, "1e3", "0x10", "1.5", "", " 7"}) {
      EXPECT_THAT(refusal(flag, value),
                  AllOf(HasSubstr(std::string(flag) + " must be a whole number from -"), HasSubstr(value)))
          << value;
    }
  }
  EXPECT_THAT(refusal("--moves", huge), HasSubstr("to 9223372036854775807, got '99999999999999999999'"));
  EXPECT_THAT(refusal("--threads", "1000000"), HasSubstr("threads must be at most 256"));
  EXPECT_THAT(refusal("--samples", "2000000000"), HasSubstr("samples must be from 0 to 1000000"));
  EXPECT_THAT(complaint({"info", "zoo:unet?batch=" + std::string(huge)}), HasSubstr("batch must be"));
  EXPECT_THAT(complaint({"solve", "zoo:linear", "--budget", huge}), HasSubstr(huge));
  EXPECT_THAT(complaint({"max-batch", "zoo:vgg16", "--memory", huge}), HasSubstr(huge));
}

TEST(CommandLine, RefusesWhatContradictsItself) {
  EXPECT_THAT(complaint({"info", "zoo:linear", "solve", "zoo:linear", "--budget", "5"}), HasSubstr("solve"));
  EXPECT_THAT(complaint({"solve", "zoo:linear", "--budget", "100%", "--seed", "-1"}),
              HasSubstr("--seed must be 0 or more"));
  EXPECT_THAT(complaint({"solve", "zoo:linear", "--budget", "100%", "--moves", "-1"}),
              HasSubstr("--moves must be 0 or more"));
  EXPECT_THAT(complaint({"solve", "zoo:linear", "--budget", "100%", "--plan", "-", "--json"}),
              HasSubstr("standard output"));
  EXPECT_THAT(complaint({"solve", "zoo:linear", "--budget", "100%", "--plan", "-", "--explain"}),
              HasSubstr("standard output"));
  EXPECT_THAT(complaint({"solve", "zoo:linear", "--budget", "9", "--stages", "free"}),
              HasSubstr("free order"));
  EXPECT_THAT(complaint({"info", "zoo:linear", "--po\x1b[31mtato"}), HasSubstr("\\x1b"));
  const Finished full = run({"sh", "-c", std::string(CHECKMATE_PROGRAM) + " zoo > /dev/full"});
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_THAT(full.err, AllOf(HasSubstr("checkmate: "), Not(HasSubstr("bug"))));
}

TEST(CommandLine, HelpHasAnExampleForEveryVerb) {
  EXPECT_THAT(checkmate({"--help"}).out, HasSubstr("Example: checkmate solve"));
  for (const char* verb : kVerbs) {
    const Finished run = checkmate({verb, "--help"});
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_THAT(run.out, HasSubstr("Example: ")) << verb;
  }
  for (const char* picture : {"timeline", "map", "tradeoff", "max-batch"})
    EXPECT_THAT(checkmate({"plot", picture, "--help"}).out, HasSubstr("Example: checkmate plot"));
  EXPECT_THAT(checkmate({"--version"}).out, StartsWith("checkmate "));
  EXPECT_THAT(checkmate({"--help"}).out, Not(HasSubstr("reference")));
}

}  // namespace
}  // namespace checkmate::testing
