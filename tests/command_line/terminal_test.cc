#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "support/program.h"

// What the program shows to people: on terminals of several kinds, and in a pipe.

namespace checkmate::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> solving() {
  return {CHECKMATE_PROGRAM, "solve", "zoo:unet?batch=32", "--budget", "60%", "--method", "linear-greedy"};
}
std::vector<std::string> comparing() {
  return {CHECKMATE_PROGRAM,
          "compare",
          "zoo:unet?batch=32",
          "--budget",
          "60%",
          "--methods",
          "keep-all,chen-sqrt,linear-greedy"};
}
constexpr unsigned short kNarrow = 60;

/// An environment in which nothing is inherited that matters.
std::vector<std::string> environment(const std::string& terminal, const std::string& locale,
                                     const std::string& no_color = "") {
  return {"TERM=" + terminal, "LC_ALL=" + locale, "LC_CTYPE=", "LANG=", "NO_COLOR=" + no_color};
}

/// The lines as they stand in the end: a carriage return begins a line anew; colours take no room.
std::vector<std::string> lines(const std::string& shown) {
  std::vector<std::string> found;
  std::istringstream text(shown);
  for (std::string line; std::getline(text, line);) {
    line = line.substr(line.rfind('\r') == std::string::npos ? 0 : line.rfind('\r') + 1);
    for (std::size_t at = line.find('\x1b'); at != std::string::npos; at = line.find('\x1b'))
      line.erase(at, line.find_first_of("mK", at) - at + 1);
    found.push_back(line);
  }
  return found;
}

std::size_t columns_of(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(
      line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::size_t widest(const std::string& shown) {
  std::size_t most = 0;
  for (const std::string& line : lines(shown)) most = std::max(most, columns_of(line));
  return most;
}

bool plain_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= ' ' && c <= '~') || c == '\n'; });
}

TEST(Terminal, ShowsMemoryAndColours) {
  const Finished run = run_on_terminal(solving(), 80, environment("xterm", "C.UTF-8"));
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, AllOf(HasSubstr("\x1b[32mfeasible\x1b[0m"), HasSubstr("memory, keep-all"),
                             HasSubstr("memory, plan"), HasSubstr("█")));
  EXPECT_THAT(run.out, HasSubstr("\x1b[31m")) << "what keep-all needs over the budget";
}

TEST(Terminal, HasNoColoursWithNoColor) {
  for (const auto& command : {solving(), comparing()}) {
    const Finished run = run_on_terminal(command, 80, environment("xterm", "C.UTF-8", "1"));
    EXPECT_EQ(run.exit_code, 0);
    for (const char* colour : {"\x1b[3", "\x1b[0m", "\x1b[2m"}) EXPECT_THAT(run.out, Not(HasSubstr(colour)));
    EXPECT_THAT(run.out, HasSubstr("█"));
  }
}

TEST(Terminal, IsPlainWhereItIsDumb) {
  for (const auto& command : {solving(), comparing()}) {
    const Finished run = run_on_terminal(command, 80, environment("dumb", "C.UTF-8"));
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_TRUE(plain_ascii(run.out)) << run.out;
    EXPECT_THAT(run.out, HasSubstr("@"));  // the sparkline's highest
  }
}

TEST(Terminal, IsPlainWhereTheLocaleIsNotUtf8) {
  const Finished run = run_on_terminal(solving(), 80, environment("xterm", "C"));
  for (const std::string& line : lines(run.out)) EXPECT_TRUE(plain_ascii(line)) << line;
}

TEST(Terminal, FitsSixtyColumns) {
  for (const auto& command : {solving(), comparing()}) {
    const Finished run = run_on_terminal(command, kNarrow, environment("xterm", "C.UTF-8"));
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_LE(widest(run.out), kNarrow) << run.out;
    EXPECT_THAT(run.out, AllOf(HasSubstr("overhead"), HasSubstr("memory, keep-all")));
  }
  std::vector<std::string> explained = solving();
  explained.emplace_back("--explain");
  const Finished run = run_on_terminal(explained, kNarrow, environment("xterm", "C.UTF-8"));
  EXPECT_LE(widest(run.out), kNarrow) << run.out;
}

TEST(Terminal, HelpFitsSixtyColumnsToo) {
  for (const char* verb : {"solve", "max-batch", "convert"}) {
    const Finished run =
        run_on_terminal({CHECKMATE_PROGRAM, verb, "--help"}, kNarrow, environment("xterm", "C.UTF-8"));
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_LE(widest(run.out), kNarrow) << run.out;
    EXPECT_THAT(run.out, HasSubstr("Example: checkmate "));
  }
}

TEST(Terminal, BreaksLongFactsBetweenWords) {
  const Finished run = run_on_terminal({CHECKMATE_PROGRAM, "solve", "zoo:unet?batch=32", "--budget", "5%"},
                                       kNarrow, environment("xterm", "C.UTF-8"));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_LE(widest(run.out), kNarrow) << run.out;
  EXPECT_THAT(run.out, HasSubstr("\x1b[31minfeasible\x1b[0m"));
}

TEST(Terminal, LivesOnOneLineWhileItSearches) {
  const std::vector<std::string> command = {
      CHECKMATE_PROGRAM, "solve", "zoo:unet?batch=32", "--budget", "50%",
      "--moves",         "2000",  "--time-limit",      "20"};
  const Finished run = run_on_terminal(command, 40, environment("xterm", "C.UTF-8"));
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, AllOf(HasSubstr(" s  best "), HasSubstr("bound ")));
  // Every state of the line leaves the last column free.
  std::istringstream text(run.out.substr(0, run.out.find("status")));
  std::size_t states = 0;
  for (std::string state; std::getline(text, state, '\r'); ++states) {
    if (state.starts_with("\x1b[K")) state.erase(0, 3);
    EXPECT_LT(columns_of(state), 40U) << state;
  }
  EXPECT_GT(states, 2U);
  const Finished dumb = run_on_terminal(command, 40, environment("dumb", "C.UTF-8"));
  EXPECT_TRUE(plain_ascii(dumb.out)) << dumb.out;
}

TEST(Terminal, SaysWhichSearchAReportIsAt) {
  const ScratchFolder folder;
  const std::string page = (folder.path() / "report.html").string();
  std::vector<std::string> command = {CHECKMATE_PROGRAM, "report", "zoo:unet?batch=32", "--budget", "60%"};
  command.insert(command.end(), {"--moves", "2000", "--time-limit", "20", "--point-time", "20", "-o", page});
  command.insert(command.end(), {"--methods", "linear-greedy,anneal", "--budgets", "80%,60%"});
  const Finished run = run_on_terminal(command, 100, environment("xterm", "C.UTF-8"));
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_THAT(run.out, AllOf(HasSubstr("linear-greedy at 11.8 GiB (1 of 4): "),
                             HasSubstr("anneal at 15.7 GiB (4 of 4): "), HasSubstr(" s  best ")));
  ASSERT_EQ(lines(run.out).size(), 1U) << run.out;
  EXPECT_TRUE(lines(run.out)[0].starts_with(page)) << run.out;
  command.insert(command.begin(), {"env", "TERM=xterm"});
  EXPECT_TRUE(testing::run(command).err.empty());
}

TEST(Terminal, APipeGetsTheWholeTextWithoutColours) {
  std::vector<std::string> command = {"env", "-u", "NO_COLOR", "TERM=xterm", "LC_ALL=C.UTF-8"};
  const std::vector<std::string> compared = comparing();
  command.insert(command.end(), compared.begin(), compared.end());
  const Finished run = testing::run(command);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, AllOf(Not(HasSubstr("\x1b")), HasSubstr("of keep-all"), HasSubstr("█")));
  EXPECT_TRUE(run.err.empty()) << run.err;
}

TEST(Terminal, JsonHasNoSparkline) {
  std::vector<std::string> command = solving();
  command.emplace_back("--json");
  const Finished run = run_on_terminal(command, 80, environment("xterm", "C.UTF-8"));
  EXPECT_THAT(run.out, AllOf(HasSubstr("\"status\": \"feasible\""), Not(HasSubstr("memory, "))));
}

}  // namespace
}  // namespace checkmate::testing
