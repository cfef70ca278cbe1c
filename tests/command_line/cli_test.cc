#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "checkmate/checkmate.h"
#include "support/graphs.h"
#include "support/program.h"

namespace checkmate {
namespace {

using ::testing::AllOf;
using testing::Finished;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::ScratchFolder;
using ::testing::StartsWith;

Finished checkmate(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), CHECKMATE_PROGRAM);
  return testing::run(arguments);
}

/// Exit 1, nothing on stdout, and one line on stderr, which is returned.
std::string complaint(const std::vector<std::string>& arguments) {
  const Finished run = checkmate(arguments);
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_THAT(run.err, StartsWith("checkmate: "));
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  return run.err;
}

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
  const Finished full = testing::run({"sh", "-c", std::string(CHECKMATE_PROGRAM) + " zoo > /dev/full"});
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_THAT(full.err, AllOf(HasSubstr("checkmate: "), Not(HasSubstr("bug"))));
}

TEST(CommandLine, EndsASearchOnCtrlC) {
  const Finished run = testing::run({"timeout", "--foreground", "--preserve-status", "-s", "INT", "5",
                                     CHECKMATE_PROGRAM, "solve", "zoo:fcn8?batch=32", "--budget", "70%",
                                     "--method", "milp", "--time-limit", "200", "--explain", "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;  // the plan that it started from, at least
  EXPECT_THAT(run.out, AllOf(HasSubstr("\"status\": \"feasible\""), HasSubstr("\"price\": null")));
}

TEST(CommandLine, RefusesWrongBudgets) {
  for (const char* budget : {"0", "-1", "5 potatoes", "200%", "", "NaN"}) {
    EXPECT_THAT(complaint({"solve", "zoo:linear?n=4", "--budget=" + std::string(budget)}),
                HasSubstr("budget"))
        << budget;
  }
  EXPECT_THAT(complaint({"solve", "zoo:linear?n=4"}), HasSubstr("--budget is required"));
}

TEST(CommandLine, RefusesWrongFiles) {
  const ScratchFolder folder;
  const std::string whole = graph_to_json(testing::diamond());
  EXPECT_THAT(complaint({"info", folder.file("empty.json", "")}),
              AllOf(HasSubstr("empty.json"), HasSubstr("the file is empty")));
  EXPECT_THAT(complaint({"info", folder.file("cut.json", whole.substr(0, 100))}), HasSubstr("truncated"));
  EXPECT_THAT(complaint({"info", folder.file("deep.json", std::string(100000, '['))}),
              HasSubstr("deep.json"));
  EXPECT_THAT(complaint({"info", folder.path().string()}), HasSubstr("Is a directory"));
  EXPECT_THAT(complaint({"info", (folder.path() / "none.json").string()}), HasSubstr("No such file"));
  EXPECT_THAT(complaint({"validate", "zoo:linear?n=4", "--plan", folder.file("graph.json", whole)}),
              HasSubstr("another kind of file"));
}

TEST(CommandLine, RefusesATwoGigabyteLine) {
  const ScratchFolder folder;
  const std::string path = folder.file("line.json", "{\"format\": \"");
  ASSERT_EQ(::truncate(path.c_str(), 2'000'000'000), 0);  // sparse: zeros that take no disk
  EXPECT_THAT(complaint({"info", path}), HasSubstr("larger than 1.0 GiB"));
}

TEST(CommandLine, RefusesAFileWithoutPermission) {
  const ScratchFolder folder;
  const std::string path = folder.file("secret.json", "{}");
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  std::vector<std::string> command = {CHECKMATE_PROGRAM, "info", path};
  if (::geteuid() == 0) {  // root may read everything, so somebody else has to try
    const std::vector<std::string> as_nobody = {"setpriv", "--reuid=65534", "--regid=65534",
                                                "--clear-groups"};
    command.insert(command.begin(), as_nobody.begin(), as_nobody.end());
  }
  const Finished run = testing::run(command);
  if (run.err.starts_with("setpriv")) GTEST_SKIP() << "only root can reach this checkout: " << run.err;
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, AllOf(StartsWith("checkmate: "), HasSubstr("Permission denied")));
}

TEST(CommandLine, LeavesNothingBehindWhenItCannotWrite) {
  const ScratchFolder folder;
  EXPECT_THAT(complaint({"convert", "zoo:linear?n=4", "-o", (folder.path() / "no" / "where.json").string()}),
              HasSubstr("No such file"));
  EXPECT_THAT(complaint({"solve", "zoo:linear?n=4", "--budget", "100%", "--plan", folder.path().string()}),
              HasSubstr("Is a directory"));
  EXPECT_EQ(folder.entries(), 0U);
}

TEST(CommandLine, InfoPrintsTheFiguresAsOneObject) {
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

TEST(CommandLine, InfoSaysThatNamesRepeat) {
  const ScratchFolder folder;
  GraphBuilder b("twins");
  for (int i = 0; i < 2; ++i)
    b.add_op_with_output({.name = "twin", .cost = Cost{1}, .inputs = {}, .outputs = {}}, Bytes{1});
  const std::string file = folder.file("twins.json", graph_to_json(std::move(b).build().value()));
  EXPECT_THAT(checkmate({"info", file}).out,
              HasSubstr("1 op has the same name as an earlier one; that is allowed"));
}

TEST(CommandLine, SolvesValidatesAndSimulatesAPlan) {
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

TEST(CommandLine, ExplainsAPlan) {
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

TEST(CommandLine, ValidateFindsFalseClaims) {
  const ScratchFolder folder;
  const std::string plan = folder.file(
      "plan.json",
      R"({"format": "checkmate.plan", "version": 1, "cost": 1, "peak_bytes": 2, "lower_bound": 99, "steps": [0, 1, 2, 3]})");
  const std::string graph = folder.file("graph.json", graph_to_json(testing::diamond()));
  const Finished run = checkmate({"validate", graph, "--plan", plan});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("says cost 1, but it is 10"), HasSubstr("says peak_bytes 2, but it is 30"),
                    HasSubstr("lower_bound 99, which is above the cost 10")));
  EXPECT_THAT(run.err, HasSubstr("3 violations"));
}

TEST(CommandLine, ExitCodesTellTheAnswer) {
  EXPECT_EQ(checkmate({"solve", "zoo:linear?n=8", "--budget", "100%"}).exit_code, 0);
  const Finished infeasible = checkmate({"solve", "zoo:linear?n=8", "--budget", "1", "--json"});
  EXPECT_EQ(infeasible.exit_code, 2);
  EXPECT_THAT(infeasible.out, AllOf(HasSubstr("\"status\": \"infeasible\""), HasSubstr("\"needed_bytes\": 4"),
                                    HasSubstr("\"cost\": null")));
  const Finished unknown =
      checkmate({"solve", "zoo:linear?n=8", "--budget", "5", "--method", "keep-all", "--json"});
  EXPECT_EQ(unknown.exit_code, 3);
  EXPECT_THAT(unknown.out, AllOf(HasSubstr("\"status\": \"unknown\""), HasSubstr("\"sufficient_bytes\": ")));
}

TEST(CommandLine, ComparesMethodsInOneTable) {
  const Finished run = checkmate(
      {"compare", "zoo:unet?batch=32", "--budget", "60%", "--methods", "keep-all,linear-greedy,chen-sqrt"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("does not fit"), HasSubstr("linear-greedy"), HasSubstr("not a chain")));
  const Finished all =
      checkmate({"compare", "zoo:linear?n=6", "--budget", "80%", "--moves", "1000", "--json"});
  EXPECT_THAT(all.out, AllOf(HasSubstr("\"results\": ["), HasSubstr("milp"), HasSubstr("lp-round"),
                             HasSubstr("griewank")));
  EXPECT_THAT(complaint({"compare", "zoo:unet", "--budget", "60%", "--methods", "keep-all,magic"}),
              HasSubstr("'magic'"));
}

TEST(CommandLine, SweepsBudgetsAsCsvAndJson) {
  const Finished run =
      checkmate({"sweep", "zoo:linear?n=12", "--budgets", "90%..40%", "--methods", "chen-greedy,lp-round"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'),
            1 + 2 * 6);  // a header, then two methods at six budgets
  EXPECT_THAT(checkmate({"sweep", "zoo:linear?n=12", "--methods", "keep-all", "--json"}).out,
              HasSubstr("\"points\": ["));
  for (const char* budgets : {"90%..", "..", "20%..110%", "90%..20%:0%", "60%,", "a..b"}) {
    EXPECT_EQ(checkmate({"sweep", "zoo:linear?n=12", "--budgets", budgets}).exit_code, 1) << budgets;
  }
}

TEST(CommandLine, BoundSaysWhatItHoldsFor) {
  const Finished run = checkmate({"bound", "zoo:linear?n=8", "--budget", "8", "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("\"lower_bound\": 19"), HasSubstr("\"kind\": \"stage\"")));
  EXPECT_THAT(checkmate({"bound", "zoo:linear?n=8", "--budget", "8", "--method", "brute", "--json"}).out,
              HasSubstr("\"kind\": \"order\""));
  EXPECT_EQ(checkmate({"bound", "zoo:linear?n=8", "--budget", "3"}).exit_code, 2);
}

TEST(CommandLine, FindsTheLargestBatch) {
  const Finished run =
      checkmate({"max-batch", "zoo:vgg19", "--memory", "16GB", "--method", "keep-all", "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  // (16e9 - 1149337920 fixed) / 66633728 a picture: 17058234368 / 256
  EXPECT_THAT(run.out, AllOf(HasSubstr("\"batch\": 222"), HasSubstr("\"proven\": false"),
                             HasSubstr("\"upper_limit\": 289")));
  EXPECT_THAT(complaint({"max-batch", "zoo:vgg19?batch=3", "--memory", "16GB"}), HasSubstr("omit batch="));
  EXPECT_THAT(complaint({"max-batch", "graph.json", "--memory", "16GB"}), HasSubstr("zoo:NAME"));
  EXPECT_THAT(complaint({"max-batch", "zoo:vgg19", "--memory", "60%"}), HasSubstr("--memory"));
  EXPECT_EQ(checkmate({"max-batch", "zoo:vgg19", "--memory", "1GB"}).exit_code, 2);
}

TEST(CommandLine, TakesCostModels) {
  EXPECT_THAT(checkmate({"info", "zoo:vgg16?batch=2", "--costs", "roofline:v100", "--json"}).out,
              HasSubstr("\"cost_unit\": \"ns\""));
  EXPECT_THAT(complaint({"info", "zoo:vgg16?batch=2", "--costs", "roofline:abacus"}), HasSubstr("v100"));
}

TEST(CommandLine, WritesThePapersProgram) {
  EXPECT_THAT(checkmate({"convert", "zoo:linear?n=3", "--to", "lp", "--budget", "100%"}).out,
              HasSubstr("R_2_1"));
  EXPECT_THAT(
      checkmate({"convert", "zoo:linear?n=3", "--to", "mps", "--budget", "100%", "--stages", "free"}).out,
      HasSubstr("R_1_2"));
  EXPECT_THAT(complaint({"convert", "zoo:linear?n=3", "--to", "mps"}), HasSubstr("--budget"));
}

TEST(CommandLine, ReproducesAnExperiment) {
  const ScratchFolder folder;
  const Finished run =
      checkmate({"reproduce", "integrality-gap", "--time-limit", "1", "-o", folder.path().string()});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("| unpartitioned"));
  EXPECT_EQ(folder.entries(), 2U);  // CSV and Markdown
  EXPECT_THAT(complaint({"reproduce", "everything"}), HasSubstr("integrality-gap"));
  EXPECT_THAT(complaint({"reproduce", "integrality-gap", "--time-limit", "-1"}), HasSubstr("positive"));
  EXPECT_THAT(complaint({"reproduce", "overhead", "--graphs", folder.path().string()}),
              HasSubstr("no graph that begins with"));
}

TEST(CommandLine, ReproducesTheFigures) {
  const ScratchFolder folder;
  const Finished run = checkmate({"reproduce", "stage-map", "--time-limit", "20", "-o",
                                  folder.path().string(), "--figure-format", "pdf"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("| keep-all | 65 |"));
  EXPECT_THAT(testing::read_text(folder.path() / "stage_map.pdf"), StartsWith("%PDF"));
  EXPECT_THAT(complaint({"reproduce", "stage-map", "--figure-format", "gif"}), HasSubstr("gif"));
}

TEST(CommandLine, DrawsPlans) {
  const ScratchFolder folder;
  const auto file = [&](const char* name) { return (folder.path() / name).string(); };
  EXPECT_EQ(checkmate({"solve", "zoo:linear?n=8", "--budget", "8", "--plan", file("plan.json")}).exit_code,
            0);
  for (const char* kind : {"timeline", "map"}) {
    const Finished drawn =
        checkmate({"plot", kind, "zoo:linear?n=8", "--plan", file("plan.json"), "-o", file("a.svg")});
    EXPECT_EQ(drawn.exit_code, 0) << drawn.err;
    EXPECT_THAT(testing::read_text(file("a.svg")), HasSubstr("linear?n=8"));
    EXPECT_EQ(checkmate({"plot", kind, "zoo:linear?n=8", "--budget", "8", "-o", file("b.png")}).exit_code, 0);
    EXPECT_THAT(testing::read_text(file("b.png")), StartsWith("\x89PNG"));
    EXPECT_THAT(
        complaint({"plot", kind, "zoo:linear?n=9", "--plan", file("plan.json"), "-o", file("no.svg")}),
        HasSubstr("another graph"));
    EXPECT_THAT(complaint({"plot", kind, "zoo:linear?n=8", "-o", file("no.svg")}),
                HasSubstr("--plan, or a --budget"));
    const Finished infeasible =
        checkmate({"plot", kind, "zoo:linear?n=8", "--budget", "1", "-o", file("no.svg")});
    EXPECT_EQ(infeasible.exit_code, 2);
    EXPECT_THAT(infeasible.err, HasSubstr("no plan to draw"));
  }
  EXPECT_FALSE(std::filesystem::exists(file("no.svg")));
}

TEST(CommandLine, DrawsTradeoffsAndBatches) {
  const ScratchFolder folder;
  const auto file = [&](const char* name) { return (folder.path() / name).string(); };
  const std::vector<std::string> chosen = {"zoo:linear?n=12", "--budgets", "90%..40%", "--methods",
                                           "chen-greedy,chain-dp"};
  const auto with = [](std::vector<std::string> all, const std::vector<std::string>& more) {
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  EXPECT_EQ(checkmate(with(with({"sweep"}, chosen), {"-o", file("s.csv")})).exit_code, 0);
  EXPECT_EQ(checkmate(with(with({"plot", "tradeoff"}, chosen), {"-o", file("a.svg"), "--title", "A title"}))
                .exit_code,
            0);
  EXPECT_EQ(
      checkmate({"plot", "tradeoff", "--from", file("s.csv"), "-o", file("b.svg"), "--title", "A title"})
          .exit_code,
      0);
  EXPECT_EQ(testing::read_text(file("a.svg")), testing::read_text(file("b.svg")));
  EXPECT_THAT(complaint({"plot", "tradeoff", "-o", file("no.svg")}), HasSubstr("give one graph"));
  EXPECT_THAT(
      complaint({"plot", "tradeoff", "--from", folder.file("x.csv", "a,b\n1,2\n"), "-o", file("no.svg")}),
      HasSubstr("no column"));

  const Finished bars = checkmate({"plot", "max-batch", "zoo:vgg19", "--memory", "16GB", "--methods",
                                   "keep-all,linear-greedy", "-o", file("c.svg")});
  EXPECT_EQ(bars.exit_code, 0) << bars.err;
  EXPECT_THAT(testing::read_text(file("c.svg")), HasSubstr("vgg19, keep-all: 222."));
  const std::string table = folder.file("b.csv", "network,method,batch\nvgg19,keep-all,222\n");
  EXPECT_EQ(checkmate({"plot", "max-batch", "--from", table, "-o", file("d.pdf")}).exit_code, 0);
  EXPECT_THAT(complaint({"plot", "max-batch", "zoo:vgg19", "-o", file("no.svg")}), HasSubstr("--memory"));
  EXPECT_THAT(complaint({"plot", "max-batch", "zoo:vgg19?batch=2", "--memory", "1GB", "-o", file("no.svg")}),
              HasSubstr("omit batch="));
  EXPECT_FALSE(std::filesystem::exists(file("no.svg")));
}

TEST(CommandLine, RefusesPicturesThatItCannotWrite) {
  const ScratchFolder folder;
  const auto refusal = [](const std::string& output) {
    return complaint({"plot", "timeline", "zoo:linear?n=8", "--budget", "8", "-o", output});
  };
  EXPECT_THAT(refusal("picture.gif"), HasSubstr(".svg, .png or .pdf"));
  EXPECT_THAT(refusal("-"), HasSubstr(".svg, .png or .pdf"));
  EXPECT_THAT(refusal((folder.path() / "no" / "where.svg").string()), HasSubstr("there is no folder"));
  EXPECT_THAT(complaint({"plot"}), HasSubstr("checkmate plot --help"));
  EXPECT_THAT(complaint({"plot", "pie"}), HasSubstr("checkmate plot --help"));
  EXPECT_THAT(complaint({"plot", "timeline", "zoo:linear?n=8", "--budget", "8", "--width", "1", "-o",
                         (folder.path() / "a.svg").string()}),
              HasSubstr("240 to 4000"));
  EXPECT_EQ(folder.entries(), 0U);
}

TEST(CommandLine, ConvertsAndWritesZooGraphs) {
  const ScratchFolder folder;
  const std::string file = (folder.path() / "g.json").string();
  EXPECT_EQ(checkmate({"zoo", "linear?n=4", "-o", file}).exit_code, 0);
  EXPECT_EQ(*read_graph(file), *zoo::build("linear?n=4"));
  EXPECT_EQ(checkmate({"convert", file}).out, testing::read_text(file));
  EXPECT_THAT(checkmate({"convert", file, "--to", "dot"}).out, StartsWith("digraph"));
  const Finished list = checkmate({"zoo"});
  for (const zoo::Network& network : zoo::networks())
    EXPECT_THAT(list.out, HasSubstr(std::string(network.name)));
}

TEST(CommandLine, HelpHasAnExampleForEveryVerb) {
  EXPECT_THAT(checkmate({"--help"}).out, HasSubstr("Example: checkmate solve"));
  for (const char* verb : {"solve", "compare", "sweep", "bound", "max-batch", "plot", "reproduce", "info",
                           "simulate", "validate", "convert", "zoo", "completion"}) {
    const Finished run = checkmate({verb, "--help"});
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_THAT(run.out, HasSubstr("Example: ")) << verb;
    EXPECT_THAT(checkmate({"completion"}).out, HasSubstr(std::string(verb) + ") words=\"--help")) << verb;
  }
  for (const char* picture : {"timeline", "map", "tradeoff", "max-batch"})
    EXPECT_THAT(checkmate({"plot", picture, "--help"}).out, HasSubstr("Example: checkmate plot"));
  EXPECT_THAT(checkmate({"--version"}).out, StartsWith("checkmate "));
  EXPECT_THAT(checkmate({"--help"}).out, Not(HasSubstr("reference")));
}

TEST(CommandLine, WritesAReport) {
  const ScratchFolder folder;
  const std::string page = (folder.path() / "report.html").string();
  const std::string plan = (folder.path() / "plan.json").string();
  const Finished searched = checkmate({"report", "zoo:linear?n=8", "--budget", "60%", "-o", page, "--methods",
                                       "chen-sqrt,auto", "--budgets", "100%..60%:20%"});
  EXPECT_EQ(searched.exit_code, 0) << searched.err;
  EXPECT_THAT(searched.out, StartsWith(page + ": "));
  EXPECT_THAT(testing::read_text(page), AllOf(StartsWith("<!doctype html>"), HasSubstr("\"chen-sqrt\"")));

  ASSERT_EQ(checkmate({"solve", "zoo:linear?n=8", "--budget", "60%", "--plan", plan}).exit_code, 0);
  const Finished shown =
      checkmate({"report", "zoo:linear?n=8", "--plan", plan, "-o", "-", "--methods", "none"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, AllOf(StartsWith("<!doctype html>"), HasSubstr("\"tradeoff\":null")));
  const Finished keep_all = checkmate({"report", "zoo:linear?n=8", "-o", "-", "--methods", "none"});
  EXPECT_THAT(keep_all.out, HasSubstr("\"method\":\"keep-all\""));
  EXPECT_EQ(folder.entries(), 2U);
}

TEST(CommandLine, WritesAReportOfWhatThereIsOnCtrlC) {
  std::vector<std::string> command = {"timeout", "--foreground", "--preserve-status", "-s", "INT", "5"};
  command.insert(command.end(), {CHECKMATE_PROGRAM, "report", "zoo:unet?batch=32", "--budget", "60%"});
  // Annealing with a gap of 0 never has enough.
  command.insert(command.end(), {"--method", "linear-greedy", "--methods", "linear-greedy,anneal"});
  command.insert(command.end(), {"--budgets", "80%,60%", "--gap", "0", "--point-time", "200", "-o", "-"});
  const Finished run = testing::run(command);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "checkmate: stopped at search 3 of 4\n");
  EXPECT_THAT(run.out, AllOf(StartsWith("<!doctype html>"), HasSubstr("{\"method\":\"anneal\"")));
}

TEST(CommandLine, SaysThatASweepWasStopped) {
  const std::vector<std::string> interrupted = {"timeout", "--foreground", "--preserve-status",
                                                "-s",      "INT",          "2"};
  std::vector<std::string> command = interrupted;
  command.insert(command.end(), {CHECKMATE_PROGRAM, "sweep", "zoo:unet?batch=32", "--methods", "anneal"});
  command.insert(command.end(), {"--budgets", "60%,80%", "--gap", "0", "--time-limit", "200"});
  const Finished run = testing::run(command);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "checkmate: stopped at search 1 of 2\n");
}

TEST(CommandLine, LooksForThePlaceOfItsFileBeforeTheWork) {
  for (const char* verb : {"sweep", "report"}) {
    EXPECT_THAT(complaint({verb, "zoo:linear?n=4", "-o", "/no/such/file"}),
                HasSubstr("no folder '/no/such'"));
  }
  EXPECT_THAT(complaint({"plot", "tradeoff", "zoo:linear?n=4", "-o", "/no/such/file.svg"}),
              HasSubstr("no folder '/no/such'"));
  EXPECT_EQ(complaint({"report", "zoo:linear?n=4", "--method", "milp"}),
            "checkmate: --method needs a --budget to search for a plan\n");
}

TEST(CommandLine, WritesNoReportOfWhatDoesNotHold) {
  const ScratchFolder folder;
  const std::string page = (folder.path() / "report.html").string();
  const std::string plan = (folder.path() / "plan.json").string();
  const Finished tight = checkmate({"report", "zoo:linear?n=8", "--budget", "1", "-o", page});
  EXPECT_EQ(tight.exit_code, 2) << tight.err;
  EXPECT_THAT(tight.err, AllOf(HasSubstr("no plan fits 1 B"), HasSubstr("no report was written")));
  const Finished none =
      checkmate({"report", "zoo:linear?n=8", "--budget", "60%", "--method", "keep-all", "-o", page});
  EXPECT_EQ(none.exit_code, 3) << none.err;
  EXPECT_THAT(none.err, HasSubstr("no plan was found within"));

  ASSERT_EQ(checkmate({"solve", "zoo:linear?n=8", "--budget", "60%", "--plan", plan}).exit_code, 0);
  EXPECT_THAT(complaint({"report", "zoo:linear?n=9", "--plan", plan, "-o", page}),
              HasSubstr("another graph"));
  EXPECT_THAT(complaint({"report", "zoo:linear?n=8", "--plan", plan, "--budget", "60%", "-o", page}),
              HasSubstr("not both"));
  EXPECT_THAT(complaint({"report", "zoo:linear?n=8", "--methods", "magic", "-o", page}), HasSubstr("magic"));
  EXPECT_THAT(complaint({"report", "zoo:linear?n=8", "--point-time", "0", "-o", page}),
              HasSubstr("--point-time"));
  EXPECT_THAT(complaint({"report", "zoo:linear?n=8", "--methods", "none", "-o",
                         (folder.path() / "missing" / "report.html").string()}),
              HasSubstr("missing"));
  EXPECT_EQ(folder.entries(), 1U);  // the plan
}

}  // namespace
}  // namespace checkmate
