#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "checkmate/checkmate.h"

namespace checkmate::bench {

/// A graph at a budget, and what others and our own prototypes reached there. Figures are percent of
/// keep-all's cost as they were printed, empty where there is none: `0.8` stands for all that rounds to it.
struct Instance {
  std::string_view set;
  std::string_view name;
  std::string_view graph;  ///< `zoo:...`, or the name of a public graph
  std::string_view budget;
  Order order = Order::kFixed;
  std::string_view floor = {};      ///< ours must not be more expensive
  std::string_view floor_gap = {};  ///< in brackets the stage gap where it differs; in 5 + 25 s on one core
  std::string_view published = {};  ///< the best of the same order
  bool against_milp = false;        ///< the paper's program in HiGHS is run as well
};

/// `public`, `mac`, `chain`, `free`, `scale`.
std::span<const std::string_view> set_names();
std::vector<Instance> instances_of(std::string_view set);

/// `folder` is for public graphs. An error says what is missing.
Result<Graph> load(const Instance& instance, const std::filesystem::path& folder);

/// The largest percentage that is printed as this figure: 0.8 for anything below 0.85.
double most(std::string_view figure);

}  // namespace checkmate::bench
