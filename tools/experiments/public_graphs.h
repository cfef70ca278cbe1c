#pragma once

#include <filesystem>
#include <string_view>

#include "checkmate/graph.h"
#include "checkmate/result.h"

/// The graphs of other people's papers, which docs/public_graphs.md names. They are not part of this project:
/// a user fetches them.
namespace checkmate::experiments {

/// The graph of this name (`RLG1`, `ResNet50`, ...) from a folder. The file is found by its digest, whatever
/// it is called. An error says which file is missing, or that it is another one than the published.
Result<Graph> read_public_graph(std::string_view name, const std::filesystem::path& folder);

/// An error with all of them that are missing or different.
Result<void> check_public_graphs(const std::filesystem::path& folder);

}  // namespace checkmate::experiments
