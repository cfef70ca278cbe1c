#include <fmt/format.h>

#include <cstdio>
#include <new>
#include <system_error>

#include "commands.h"

namespace checkmate::tool {
namespace {

int run(int argc, char** argv) {
  Parser parser(
      "Trains networks that do not fit in memory: finds the cheapest plan of runs, recomputations and frees "
      "within a budget.\n"
      "Example: checkmate solve 'zoo:unet?batch=32' --budget 60%",
      "checkmate " CHECKMATE_VERSION);
  for (const auto add : {add_solve, add_compare, add_sweep, add_bound, add_max_batch}) add(parser);
#ifdef CHECKMATE_HAS_REPORT
  add_report(parser);
#endif
#ifdef CHECKMATE_HAS_PLOT
  add_plot(parser);
  add_reproduce(parser);
#endif
  for (const auto add : {add_info, add_simulate, add_validate, add_layout, add_convert, add_zoo,
                         add_completion, add_reference})
    add(parser);
  const int exit_code = parser.run(argc, argv);
  if (std::fflush(stdout) != 0)
    return print_error({ErrorCode::kIo, "cannot write the output; is the disk full?"});
  return exit_code;
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
    return checkmate::tool::print_error({ErrorCode::kIo, failure.what()});
  } catch (const std::exception& bug) {
    return checkmate::tool::print_error(
        {ErrorCode::kInvalidArgument,
         fmt::format("this is a bug; please report it together with the command: {}", bug.what())});
  }
}
