#include <fmt/format.h>

#include <memory>

#include "console.h"
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

int run(const Flags& flags) {
  const auto wrong = [](std::string message) {
    return report({ErrorCode::kInvalidArgument, std::move(message)});
  };
  if (!flags.network.starts_with("zoo:"))
    return wrong("only a network of the zoo has a batch to change: write zoo:NAME");
  if (flags.network.find("batch=") != std::string::npos)
    return wrong("leave out batch=: it is what is looked for");
  if (!(flags.extra_forward >= 0)) return wrong("--extra-forward is 0 or more");
  const Result<Bytes> memory = parse_bytes(flags.memory);
  if (!memory) return report(memory.error().at("--memory"));
  Result<SolveOptions> options = flags.search.options();
  if (!options) return report(options.error());
  options->method = flags.method;

  const Interrupt interrupt;
  const bool talk = progress_wanted();
  const Result<MaxBatch> answer =
      max_batch(with_batch(flags.network, flags.costs),
                {.memory = *memory,
                 .extra_forward = flags.extra_forward,
                 .solve = *options,
                 .on_probe =
                     [&](std::int64_t batch, bool fits) {
                       if (talk) fmt::print(stderr, "batch {}: {}\n", batch, fits ? "fits" : "no plan found");
                     }},
                interrupt.token());
  if (!answer) return report(answer.error());
  if (flags.json) {
    JsonWriter json;
    json.begin_object().member("batch", answer->batch).member("proven", answer->proven);
    json.member("upper_limit", answer->upper_limit).member("certificate", answer->certificate);
    json.member("overhead", answer->overhead).member("seconds", answer->seconds).end_object();
    fmt::print("{}\n", json.text());
  } else {
    print_fact("largest batch", fmt::format("{}{}", answer->batch, answer->proven ? ", proven" : ""));
    print_fact("upper limit", fmt::format("{}: {}", answer->upper_limit, answer->certificate));
    print_fact("overhead", times(answer->overhead));
    print_fact("time", seconds_text(answer->seconds));
  }
  if (answer->batch > 0) return kDone;
  return answer->proven ? kInfeasible : kNoPlan;
}

}  // namespace

void add_max_batch(Parser& parser) {
  auto flags = std::make_shared<Flags>();
  Verb verb = parser.add("max-batch", "Finds the largest batch that fits", [flags] { return run(*flags); });
  verb.example("checkmate max-batch zoo:vgg19 --memory 16GB --extra-forward 1");
  verb.argument("NETWORK", flags->network, "zoo:NAME?key=value&... without batch");
  verb.option("--costs", flags->costs, "file, flops, roofline:DEVICE[:TYPE] or profile:FILE");
  verb.option("--memory", flags->memory, "bytes for everything, such as 16GB", Verb::Need::kRequired);
  verb.option("--extra-forward", flags->extra_forward, "how many forward passes the plan may add");
  verb.option("-m,--method", flags->method, "how to search at each batch; the time limit is for one");
  flags->search.add_to(verb);
  verb.flag("--json", flags->json, "print one JSON object");
}

}  // namespace checkmate::tool
