#include <checkmate/version.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <new>
#include <system_error>

#include "commands.h"

namespace checkmate::tool {
namespace {

/// A stream that the caller has closed stays unusable, but its number is taken: or the next file that is
/// opened would get it, and with it our output.
void occupy_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1) continue;
    const int other_way = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (::open("/dev/null", other_way) != stream) return;
  }
}

int cannot_write(int code) {
  return print_error({ErrorCode::kIo, fmt::format("cannot write the output: {}",
                                                  std::error_code(code, std::generic_category()).message())});
}

int run(int argc, char** argv) {
  occupy_closed_streams();
  (void)std::signal(SIGXFSZ, SIG_IGN);  // where `ulimit -f` ends a file, writing fails instead of the program
  Parser parser(
      "Trains networks that do not fit in memory: finds the cheapest plan of runs, recomputations and frees "
      "within a budget.\n"
      "Example: checkmate solve 'zoo:unet?batch=32' --budget 60%",
      std::string("checkmate ") + version());
  for (const auto add : {add_solve, add_compare, add_sweep, add_bound, add_least_budget, add_max_batch})
    add(parser);
#ifdef CHECKMATE_HAS_REPORT
  add_report(parser);
#endif
#ifdef CHECKMATE_HAS_PLOT
  add_plot(parser);
  add_reproduce(parser);
#endif
  for (const auto add : {add_info, add_simulate, add_validate, add_layout, add_convert, add_zoo, add_torch,
                         add_completion, add_reference})
    add(parser);
  const int exit_code = parser.run(argc, argv);
  return std::fflush(stdout) == 0 ? exit_code : cannot_write(errno);
}

}  // namespace
}  // namespace checkmate::tool

int main(int argc, char** argv) {
  using checkmate::ErrorCode;
  try {
    return checkmate::tool::run(argc, argv);
  } catch (const std::bad_alloc&) {
    return checkmate::tool::print_error({ErrorCode::kTooLarge, "not enough memory for this graph"});
  } catch (const std::system_error& failure) {  // fmt::print, where the output cannot be written
    return checkmate::tool::cannot_write(failure.code().value());
  } catch (const std::exception& bug) {
    return checkmate::tool::print_error(
        {ErrorCode::kInvalidArgument,
         fmt::format("this is a bug; please report it together with the command: {}", bug.what())});
  }
}
