#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "console.h"
#include "core/text.h"
#include "core/try.h"
#include "flags.h"
#include "interrupt.h"
#include "io/json_writer.h"

namespace checkmate::tool {
namespace {

struct Flags {
  std::string input;
  std::string plan;
  double time_limit = LayoutOptions{}.time_limit.count();
  std::int64_t seed = static_cast<std::int64_t>(LayoutOptions{}.seed);
  std::int64_t moves = static_cast<std::int64_t>(LayoutOptions{}.moves);
  std::string alignment = std::to_string(LayoutOptions{}.alignment.count());
  std::string capacity;
  std::string output;
  bool json = false;
};

Result<LayoutOptions> options_of(const Flags& flags) {
  if (flags.seed < 0 || flags.moves < 0)
    return Error{ErrorCode::kInvalidArgument, "--seed and --moves must be 0 or more"};
  LayoutOptions options{.time_limit = std::chrono::duration<double>(flags.time_limit),
                        .seed = static_cast<std::uint64_t>(flags.seed),
                        .moves = static_cast<std::uint64_t>(flags.moves)};
  const Result<Bytes> alignment = parse_bytes(flags.alignment);
  if (!alignment) return alignment.error().at("--alignment");
  options.alignment = *alignment;
  if (!flags.capacity.empty()) {
    const Result<Bytes> capacity = parse_bytes(flags.capacity);
    if (!capacity) return capacity.error().at("--capacity");
    options.capacity = *capacity;
  }
  return options;
}

double excess(const LayoutResult& result) {
  const auto over = static_cast<double>((result.layout.size - result.peak).count());
  return result.peak == Bytes{0} ? 0 : over / static_cast<double>(result.peak.count());
}

void print_result(const Flags& flags, std::size_t blocks, const LayoutResult& result) {
  if (flags.json) {
    JsonWriter json;
    json.begin_object().member("blocks", blocks).member("peak_bytes", result.peak.count());
    json.member("size_bytes", result.layout.size.count()).member("excess", excess(result));
    json.member("optimal", result.optimal).member("alignment", result.layout.alignment.count());
    json.member("moves", result.moves).member("seconds", result.seconds).end_object();
    print_json_line(json.text());
    return;
  }
  print_fact("blocks", grouped(static_cast<std::int64_t>(blocks)));
  print_fact("peak", exact(result.peak));
  print_fact("size", exact(result.layout.size) + (result.optimal ? ", the smallest possible" : ""));
  print_fact("excess", percent_at_most(excess(result)));
  print_fact("time", seconds_text(result.seconds));
}

int exit_code_of(const LayoutOptions& options, const LayoutResult& result) {
  if (!options.capacity || result.layout.size <= *options.capacity) return kDone;
  return result.optimal || result.peak > *options.capacity ? kInfeasible : kNoPlan;
}

/// Lays the blocks out, and writes what `text_of` makes of it.
template <class TextOf>
Result<int> lay_out_and_write(const Flags& flags, const std::vector<Block>& blocks, const TextOf& text_of) {
  CHECKMATE_TRY(const LayoutOptions options, options_of(flags));
  if (!flags.output.empty()) CHECKMATE_TRY(folder_is_there(flags.output));
  const Interrupt interrupt;
  CHECKMATE_TRY(const LayoutResult result, lay_out(blocks, options, interrupt.token()));
  if (!flags.output.empty()) CHECKMATE_TRY(write_output(flags.output, text_of(result.layout)));
  if (flags.output != "-") print_result(flags, blocks.size(), result);
  return exit_code_of(options, result);
}

Result<int> run(const Flags& flags) {
  if (flags.plan.empty()) {
    CHECKMATE_TRY(const BlockTable table, read_blocks(flags.input));
    return lay_out_and_write(flags, table.blocks,
                             [&](const Layout& layout) { return layout_to_csv(table, layout); });
  }
  CHECKMATE_TRY(const Graph graph, load_graph(flags.input));
  CHECKMATE_TRY(PlanRecord record, read_plan(flags.plan, graph));
  const Result<std::vector<Block>> blocks = blocks_of(graph, record.plan);
  if (!blocks) return blocks.error().at(printable(flags.plan, 4096));
  return lay_out_and_write(flags, *blocks, [&](const Layout& layout) {
    record.layout = layout;
    return plan_to_json(record);
  });
}

}  // namespace

void add_layout(Parser& parser) {
  auto flags = std::make_shared<Flags>();
  Verb verb =
      parser.add("layout", "Finds addresses in one piece of memory for the tensors of a plan, or for blocks",
                 [flags] { return run(*flags); });
  verb.example("checkmate layout 'zoo:unet?batch=32' --plan plan.json -o plan.json");
  verb.argument("INPUT", flags->input,
                "the graph of --plan, or a CSV file of blocks with the columns id, lower, upper and size");
  verb.option("--plan", flags->plan, "plan file");
  verb.option("--time-limit", flags->time_limit, "in seconds");
  verb.option("--seed", flags->seed, "of the search");
  verb.option("--moves", flags->moves, "stop after this many moves; 0 for no limit");
  verb.option("--alignment", flags->alignment, "of addresses; sizes count as rounded up to it");
  verb.option("--capacity", flags->capacity, "stop as soon as the layout is no larger, such as 6GiB");
  verb.option("-o,--output", flags->output,
              "write the plan with its layout, or the CSV with offsets; - for the standard output");
  verb.flag("--json", flags->json, "print one JSON object");
}

}  // namespace checkmate::tool
