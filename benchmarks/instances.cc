#include "instances.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>

#include "experiments/public_graphs.h"

namespace checkmate::bench {
namespace {

constexpr std::array<std::string_view, 5> kSets = {"public", "mac", "chain", "free", "scale"};

// Published: the better of Checkmate with Gurobi and Moccasin with CP-SAT on 16 cores, hours allowed.
constexpr Instance on_public(std::string_view name, std::string_view budget, std::string_view floor,
                             std::string_view gap, std::string_view published = "") {
  return {.set = "public",
          .name = name,
          .graph = name,
          .budget = budget,
          .floor = floor,
          .floor_gap = gap,
          .published = published};
}

// Published: FastSA, one core, about 10 to 40 s.
constexpr Instance in_free_order(std::string_view name, std::string_view budget, std::string_view floor,
                                 std::string_view published) {
  return {.set = "free",
          .name = name,
          .graph = name,
          .budget = budget,
          .order = Order::kFree,
          .floor = floor,
          .published = published};
}

constexpr Instance on_macs(std::string_view name, std::string_view graph, std::string_view budget,
                           std::string_view floor, bool against_milp = false) {
  return {.set = "mac",
          .name = name,
          .graph = graph,
          .budget = budget,
          .floor = floor,
          .against_milp = against_milp};
}

constexpr Instance plain(std::string_view set, std::string_view name, std::string_view graph,
                         std::string_view budget) {
  return {.set = set, .name = name, .graph = graph, .budget = budget};
}

constexpr std::array kListed = {
    on_public("RLG1", "90%", "0.789", "0.11 (0.09)", "0.8"),
    on_public("RLG1", "80%", "2.296", "0.73 (0)", "2.3"),
    on_public("RLG2", "90%", "0.904", "0.08 (0.05)", "0.9"),
    on_public("RLG2", "80%", "4.261", "0.65 (0.46)", "4.9"),
    on_public("RLG3", "90%", "0.701", "0.04", "0.7"),
    on_public("RLG3", "80%", "3.105", "0.25 (0.24)", "3.4"),
    on_public("RLG4", "90%", "0.683", "0.02", "0.7"),
    on_public("RLG4", "80%", "2.635", "0.10", "3.4"),
    on_public("FCN8", "90%", "0.0294", "0", "0.0"),
    on_public("FCN8", "80%", "0.1361", "0", "0.1"),
    on_public("FCN8", "70%", "0.891", "0"),
    on_public("ResNet50", "90%", "0.1085", "0", "0.1"),
    on_public("ResNet50", "80%", "0.2786", "0", "0.3"),
    on_public("ResNet50", "50%", "1.499", "0.01"),
    on_public("ResNet50", "30%", "3.638", "0.15"),
    on_public("ResNet50", "20%", "6.380", "0.78"),
    on_public("U-Net", "50%", "6.967", "0"),
    on_public("U-Net", "40%", "13.11", "0.04"),
    on_public("MobileNet", "50%", "1.635", "0"),
    on_public("MobileNet", "25%", "5.266", "0.04"),
    on_public("VGG16", "90%", "1.968", "0"),
    on_public("VGG19", "80%", "2.756", "0.07"),
    on_public("SegNet", "50%", "40.66", "0.001"),

    on_macs("U-Net", "zoo:unet?batch=32", "50%", "5.252", true),
    on_macs("SegNet", "zoo:segnet?batch=32", "50%", "", true),
    on_macs("MobileNet", "zoo:mobilenet?batch=512", "40%", "1.0574", true),
    on_macs("ResNet50", "zoo:resnet50?batch=256", "30%", ""),
    on_macs("ResNet50", "zoo:resnet50?batch=256", "15%", "8.49"),

    plain("chain", "chain of 32", "zoo:linear?n=32", "6"),
    plain("chain", "chain of 32", "zoo:linear?n=32", "8"),
    plain("chain", "chain of 32", "zoo:linear?n=32", "10"),
    plain("chain", "chain of 32", "zoo:linear?n=32", "12"),

    in_free_order("RLG1", "90%", "0", "0.0"),
    in_free_order("RLG1", "80%", "0", "0.3"),
    in_free_order("RLG1", "70%", "2.144", "2.2"),
    in_free_order("RLG2", "90%", "0", "0.0"),
    in_free_order("RLG2", "80%", "0", "0.0"),
    in_free_order("RLG2", "70%", "0.566", "2.6"),
    in_free_order("RLG3", "90%", "0", "0.03"),
    in_free_order("RLG3", "80%", "0.547", "2.3"),
    in_free_order("RLG3", "70%", "4.35", "4.8"),
    in_free_order("RLG4", "90%", "0.076", "0.4"),
    in_free_order("RLG4", "80%", "1.61", "2.5"),
    in_free_order("RLG4", "70%", "5.11", "7.4"),
};

/// By rising size. A small vocabulary, a short sequence and a large batch: neither the logits nor the scores
/// nor the weights' gradients, which stay, must set the least memory. In two layers one op alone takes more
/// than 25%.
std::vector<Instance> scale_instances() {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kGraphs = {{
      {"transformer, 21 layers", "zoo:gpt2?dropout=off&batch=64&vocabulary=256&sequence=256&layers=21"},
      {"Llama 7B", "zoo:llama7b?batch=64"},
      {"transformer, 106 layers", "zoo:gpt2?dropout=off&batch=64&vocabulary=256&sequence=256&layers=106"},
      {"transformer, 212 layers", "zoo:gpt2?dropout=off&batch=64&vocabulary=256&sequence=256&layers=212"},
      {"ResNet152 x 10", "zoo:resnet?depth=152&repeat=10"},
      {"transformer, 1063 layers", "zoo:gpt2?dropout=off&batch=64&vocabulary=256&sequence=256&layers=1063"},
  }};
  std::vector<Instance> found = {plain("scale", "transformer, 2 layers",
                                       "zoo:gpt2?dropout=off&batch=64&vocabulary=256&sequence=256&layers=2",
                                       "50%")};
  for (const auto& [name, graph] : kGraphs) {
    for (const std::string_view budget : {"50%", "25%", "10%"})
      found.push_back(plain("scale", name, graph, budget));
  }
  return found;
}

}  // namespace

std::span<const std::string_view> set_names() { return kSets; }

std::vector<Instance> instances_of(std::string_view set) {
  if (set == "scale") return scale_instances();
  std::vector<Instance> found;
  for (const Instance& instance : kListed) {
    if (instance.set == set) found.push_back(instance);
  }
  return found;
}

Result<Graph> load(const Instance& instance, const std::filesystem::path& folder) {
  if (instance.graph.starts_with("zoo:")) return load_graph(instance.graph);
  if (folder.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("set {} needs --graphs DIR, the folder of the public graphs", instance.set)};
  }
  return experiments::read_public_graph(instance.graph, folder);
}

double most(std::string_view figure) {
  const std::size_t point = figure.find('.');
  const std::size_t decimals = point == std::string_view::npos ? 0 : figure.size() - point - 1;
  const double value = std::strtod(std::string(figure).c_str(), nullptr);
  // A bare 0 is not rounded: nothing is recomputed.
  return figure == "0" ? 0 : value + 0.5 * std::pow(10.0, -static_cast<double>(decimals));
}

}  // namespace checkmate::bench
