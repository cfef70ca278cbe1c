#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "console.h"
#include "core/try.h"
#include "flags.h"
#include "interrupt.h"
#include "io/json_writer.h"

namespace checkmate::tool {
namespace {

struct Flags {
  std::string network;
  std::string costs = "file";
  std::string memory;
  double extra_forward = 1;
  std::string method = "auto";
  SearchFlags search;
  bool json = false;
};

Result<int> run(const Flags& flags) {
  CHECKMATE_TRY(const auto network, by_batch(flags.network, flags.costs));
  if (!(flags.extra_forward >= 0))
    return Error{ErrorCode::kInvalidArgument, "--extra-forward must be 0 or more"};
  const Result<Bytes> memory = parse_bytes(flags.memory);
  if (!memory) return memory.error().at("--memory");
  CHECKMATE_TRY(SolveOptions options, flags.search.options());
  options.method = flags.method;

  const Interrupt interrupt;
  const auto tell_probe = [talk = progress_wanted()](std::int64_t batch, bool fits) {
    if (talk) tell(fmt::format("batch {}: {}\n", batch, fits ? "fits" : "no plan found"));
  };
  CHECKMATE_TRY(
      const MaxBatch answer,
      max_batch(
          network,
          {.memory = *memory, .extra_forward = flags.extra_forward, .solve = options, .on_probe = tell_probe},
          interrupt.token()));
  if (flags.json) {
    JsonWriter json;
    json.begin_object().member("batch", answer.batch).member("proven", answer.proven);
    json.member("upper_limit", answer.upper_limit).member("certificate", answer.certificate);
    json.member("overhead", answer.overhead).member("seconds", answer.seconds).end_object();
    print_json_line(json.text());
  } else {
    print_fact("largest batch", fmt::format("{}{}", answer.batch, answer.proven ? ", proven" : ""));
    print_fact("upper limit", fmt::format("{}: {}", answer.upper_limit, answer.certificate));
    print_fact("overhead", times(answer.overhead));
    print_fact("time", seconds_text(answer.seconds));
  }
  if (answer.batch > 0) return kDone;
  return answer.proven ? kInfeasible : kNoPlan;
}

}  // namespace

void add_max_batch(Parser& parser) {
  auto flags = std::make_shared<Flags>();
  Verb verb = parser.add("max-batch", "Finds the largest batch that fits", [flags] { return run(*flags); });
  verb.example("checkmate max-batch zoo:vgg19 --memory 16GB --extra-forward 1");
  verb.argument("NETWORK", flags->network, "zoo:NAME?key=value&... without batch");
  verb.option("--costs", flags->costs, "file, flops, roofline:DEVICE[:TYPE] or profile:FILE");
  verb.option("--memory", flags->memory, "bytes for everything, such as 16GB", Verb::Need::kRequired);
  verb.option("--extra-forward", flags->extra_forward, "how many extra forward passes a plan may cost");
  verb.option("-m,--method", flags->method, "method for each batch; the time limit is per batch");
  flags->search.add_to(verb);
  verb.flag("--json", flags->json, "print one JSON object");
}

}  // namespace checkmate::tool
