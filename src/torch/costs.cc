#include "torch/costs.h"

#include <ATen/Functions.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>

#include "core/try.h"
#include "io/json_reader.h"
#include "io/json_writer.h"
#include "io/sha256.h"
#include "torch/op_traits.h"
#include "torch/signature.h"

namespace checkmate::torch {
namespace {

constexpr int kFewestRuns = 3;
constexpr int kMostRuns = 12;
constexpr double kSeconds = 1.0;           // of timed runs, where more than the fewest are taken
constexpr std::int64_t kFlopsPerByte = 5;  // roughly what a current processor does while it moves a byte
constexpr std::int64_t kLargestRecorded = std::int64_t{1} << 53;

/// Multiplications and additions of a product of matrices or a convolution.
std::int64_t flops(const Captured& captured, const Node& node) {
  const std::string name = base_name(node.op);
  const auto layout = [&](std::size_t input) -> const Layout& {
    return captured.values[node.inputs[input].value].layout;
  };
  const auto made = [&] { return captured.values[node.outputs[0].value].layout.element_count(); };
  if (name == "mm" || name == "bmm") {
    return 2 * made() * layout(0).sizes.back();
  }
  if (name == "addmm" || name == "baddbmm") {
    return 2 * made() * layout(1).sizes.back();
  }
  if (name == "convolution" || name == "convolution_backward") {
    const bool backward = name == "convolution_backward";
    const Layout& weight = layout(backward ? 2 : 1);
    const std::int64_t results = backward ? layout(0).element_count() : made();
    return (backward ? 4 : 2) * results *
           (weight.element_count() / std::max<std::int64_t>(1, weight.sizes[0]));
  }
  return 0;
}

/// The lower quartile, as Python's statistics.quantiles() has it: what else the machine does makes a run
/// longer, never shorter.
double typical(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const std::size_t position = samples.size() + 1;
  const std::size_t below = std::clamp<std::size_t>(position / 4, 1, samples.size() - 1);
  const double rest = static_cast<double>(position) - 4.0 * static_cast<double>(below);
  return (samples[below - 1] * (4 - rest) + samples[below] * rest) / 4;
}

/// Peak of a unit beyond what it makes, and the bytes of what it makes.
void note_sizes(const Program& program, const Unit& unit, const UnitAllocations& seen, UnitCost& cost) {
  std::vector<std::int64_t> sizes;
  std::int64_t held = 0;
  std::int64_t most = 0;
  for (const std::int64_t event : seen.events) {
    if (event > 0) {
      sizes.push_back(event);
      held += event;
    } else {
      held -= sizes[static_cast<std::size_t>(-1 - event)];
    }
    most = std::max(most, held);
  }
  for (std::size_t i = 0; i < unit.makes.size(); ++i) {
    std::int64_t bytes = 0;
    for (std::size_t a = 0; a < sizes.size(); ++a) {
      bytes += seen.owners[a] == static_cast<std::int64_t>(i) ? sizes[a] : 0;
    }
    cost.made.push_back(bytes == 0 ? program.blocks[unit.makes[i]].bytes : bytes);
  }
  cost.workspace =
      std::max<std::int64_t>(0, most - std::accumulate(cost.made.begin(), cost.made.end(), std::int64_t{0}));
}

/// Results in layouts that the capture did not expect, by the text of the call; only the first, after which
/// nothing is certain.
class LayoutCheck {
 public:
  explicit LayoutCheck(const Program& program) : program_(program) {}

  /// The schedule, with each call followed by a look at its results.
  void install(Schedule& schedule) {
    for (std::size_t run = 0; run < schedule.units.size(); ++run) {
      const Unit& unit = program_.units[schedule.units[run]];
      std::size_t next = 0;
      for (runtime::Call& call : schedule.steps.runs[run].calls) {
        if (call.kernel.schema() != nullptr) {
          watch(call, unit.calls[next++]);
        }
      }
    }
  }
  const KnownLayouts& corrections() const { return corrections_; }

 private:
  void watch(runtime::Call& call, const UnitCall& made) {
    const Node& node = program_.node(made);
    if (node.writing != Writing::kNothing || made.written) {
      return;
    }
    call.kernel = runtime::Kernel::function(
        [this, &node, kernel = call.kernel](Stack& stack) {
          const std::string text = call_text(node.op, stack);
          kernel(stack);
          look(node, text, stack);
        },
        true);
  }

  void look(const Node& node, const std::string& text, const Stack& results) {
    bool same = true;
    for (const Output& output : node.outputs) {
      const c10::IValue& value = results[output.position];
      const at::Tensor found =
          output.element ? value.toListRef()[*output.element].toTensor() : value.toTensor();
      same = same && Layout::of(found) == program_.captured->values[output.value].layout;
    }
    if (same || !corrections_.empty()) {
      return;
    }
    std::vector<Layout>& layouts = corrections_[text];
    for (const c10::IValue& value : results) {
      if (value.isTensor() && value.toTensor().defined()) {
        layouts.push_back(Layout::of(value.toTensor()));
      } else if (value.isTensorList()) {
        for (const at::Tensor& tensor : value.toTensorVector()) {
          layouts.push_back(Layout::of(tensor));
        }
      }
    }
  }

  const Program& program_;
  KnownLayouts corrections_;
};

/// Copies of what the step writes into, the others as they are.
std::vector<at::Tensor> safe_inputs(const Program& program, std::vector<at::Tensor> inputs) {
  for (const Unit& unit : program.units) {
    if (!unit.effect) {
      continue;
    }
    for (const UnitCall& call : unit.calls) {
      const ValueId written = program.node(call).inputs[0].value;
      const auto& all = program.captured->inputs;
      if (const auto found = std::find(all.begin(), all.end(), written); found != all.end()) {
        at::Tensor& input = inputs[static_cast<std::size_t>(found - all.begin())];
        input = input.clone();
      }
    }
  }
  return inputs;
}

}  // namespace

std::string costs_to_json(const std::vector<UnitCost>& costs) {
  JsonWriter json;
  json.begin_array();
  const auto list = [&](const std::vector<std::int64_t>& numbers) {
    json.begin_array();
    for (const std::int64_t number : numbers) {
      json.value(number);
    }
    json.end_array();
  };
  for (const UnitCost& cost : costs) {
    json.begin_array().value(cost.cost).value(cost.workspace);
    list(cost.made);
    if (cost.allocations) {
      json.begin_array();
      list(cost.allocations->events);
      list(cost.allocations->owners);
      json.end_array();
    } else {
      json.null();
    }
    json.end_array();
  }
  json.end_array();
  return json.take();
}

namespace {

bool plausible(const UnitCost& cost, const Unit& unit) {
  const auto in_range = [](std::int64_t amount) { return amount >= 0 && amount <= kLargestRecorded; };
  if (!in_range(cost.cost) || !in_range(cost.workspace) ||
      (!cost.made.empty() && cost.made.size() != unit.makes.size()) ||
      !std::all_of(cost.made.begin(), cost.made.end(), in_range)) {
    return false;
  }
  if (!cost.allocations) {
    return true;
  }
  std::int64_t made = 0;
  for (const std::int64_t event : cost.allocations->events) {
    made += event > 0 ? 1 : 0;
    if (event == 0 || -event > made || event > kLargestRecorded) {
      return false;
    }
  }
  const auto known = [&](std::int64_t owner) {
    return -2 - static_cast<std::int64_t>(unit.reads.size()) < owner &&
           owner < static_cast<std::int64_t>(unit.makes.size());
  };
  const auto& owners = cost.allocations->owners;
  return static_cast<std::int64_t>(owners.size()) == made && std::all_of(owners.begin(), owners.end(), known);
}

}  // namespace

std::optional<std::vector<UnitCost>> costs_from_json(std::string text, const Program& program) {
  JsonReader json(std::move(text), "costs");
  std::vector<UnitCost> costs;
  const auto numbers = [&](std::vector<std::int64_t>& into) {
    json.array([&](std::size_t) { into.push_back(json.integer(-kLargestRecorded)); });
  };
  json.array([&](std::size_t) {
    UnitCost& cost = costs.emplace_back();
    json.array([&](std::size_t field) {
      if (field == 0) {
        cost.cost = json.integer();
      } else if (field == 1) {
        cost.workspace = json.integer();
      } else if (field == 2) {
        numbers(cost.made);
      } else if (json.type() == JsonReader::Type::kArray) {
        UnitAllocations& allocations = cost.allocations.emplace();
        json.array([&](std::size_t which) { numbers(which == 0 ? allocations.events : allocations.owners); });
      } else {
        json.skip();
      }
    });
  });
  if (!json.finish() || costs.size() != program.units.size()) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (!plausible(costs[i], program.units[i])) {
      return std::nullopt;
    }
  }
  return costs;
}

namespace {

/// The state of the generator, put back at the end.
class RandomState {
 public:
  RandomState() : state_(at::detail::getDefaultCPUGenerator().get_state()) {}
  ~RandomState() { at::Generator(at::detail::getDefaultCPUGenerator()).set_state(state_); }
  RandomState(const RandomState&) = delete;
  RandomState& operator=(const RandomState&) = delete;

 private:
  at::Tensor state_;
};

Result<Measurement> measure(const std::shared_ptr<const Program>& program,
                            const std::vector<at::Tensor>& given, const Plan& rehearsal,
                            const std::vector<std::string>& signatures) {
  const std::vector<at::Tensor> inputs = safe_inputs(*program, given);
  const RandomState random;
  LayoutCheck check(*program);
  Schedule watched = schedule(program, rehearsal.steps, rehearsal.frees, {});
  check.install(watched);
  runtime::AllocationLog log;
  runtime::Executor(watched.steps).run(inputs, {.log = &log});
  if (!check.corrections().empty()) {
    return Measurement{.corrections = check.corrections()};
  }
  const std::vector<UnitAllocations> allocations = unit_allocations(watched, log);
  malloc_trim(0);  // the arena takes its place
  CHECKMATE_TRY(const StepLayout layout, planned_layout(*program, allocations, rehearsal, {}));
  const runtime::Executor executor(schedule(program, rehearsal.steps, rehearsal.frees, {}).steps);
  std::map<std::string, std::vector<double>> samples;
  std::vector<std::chrono::nanoseconds> times;
  executor.run(inputs, {.addresses = &layout.addresses});
  const auto begin = std::chrono::steady_clock::now();
  for (int run = 0; run < kMostRuns; ++run) {
    executor.run(inputs, {.addresses = &layout.addresses, .times = &times});
    for (std::size_t i = 0; i < rehearsal.steps.size(); ++i) {
      samples[signatures[rehearsal.steps[i].index()]].push_back(static_cast<double>(times[i].count()));
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    if (run + 1 >= kFewestRuns && taken.count() > kSeconds) {
      break;
    }
  }
  runtime::release_memory();  // a rehearsal takes more than the step will
  Measurement measured;
  for (std::size_t i = 0; i < program->units.size(); ++i) {
    UnitCost cost{.cost = std::max<std::int64_t>(1, std::llround(typical(samples[signatures[i]])))};
    note_sizes(*program, program->units[i], allocations[i], cost);
    cost.allocations = allocations[i];
    measured.costs.push_back(std::move(cost));
  }
  return measured;
}

}  // namespace

Result<KnownLayouts> checked_layouts(const std::shared_ptr<const Program>& program,
                                     const std::vector<at::Tensor>& inputs, const Plan& rehearsal) {
  const RandomState random;
  LayoutCheck check(*program);
  Schedule watched = schedule(program, rehearsal.steps, rehearsal.frees, {});
  check.install(watched);
  runtime::Executor(watched.steps).run(safe_inputs(*program, inputs), {});
  return check.corrections();
}

std::vector<UnitCost> estimated_costs(const Program& program) {
  std::vector<UnitCost> costs;
  costs.reserve(program.units.size());
  for (const Unit& unit : program.units) {
    std::int64_t moved = 0;
    for (const auto* blocks : {&unit.reads, &unit.makes}) {
      for (const StorageId block : *blocks) {
        moved += program.blocks[block].bytes;
      }
    }
    std::int64_t work = 0;
    for (const UnitCall& call : unit.calls) {
      work += flops(*program.captured, program.node(call));
    }
    costs.push_back({.cost = std::max(work, kFlopsPerByte * moved)});
  }
  return costs;
}

Result<Measurement> measured_costs(const std::shared_ptr<const Program>& program,
                                   const std::vector<at::Tensor>& inputs, const Plan& rehearsal,
                                   const Cache& cache) {
  std::vector<std::string> signatures;
  signatures.reserve(program->units.size());
  for (const Unit& unit : program->units) {
    signatures.push_back(unit_signature(*program, unit));
  }
  // As Python writes a list of texts.
  const std::string key =
      fmt::format("{} arena {}", machine(), sha256(fmt::format("['{}']", fmt::join(signatures, "', '"))));
  if (std::optional<std::string> text = cache.read("costs", key)) {
    if (auto known = costs_from_json(*std::move(text), *program)) {
      return Measurement{.costs = *std::move(known)};
    }
  }
  CHECKMATE_TRY(Measurement measured, measure(program, inputs, rehearsal, signatures));
  if (measured.corrections.empty()) {
    cache.write("costs", key, costs_to_json(measured.costs));
  }
  return measured;
}

}  // namespace checkmate::torch
