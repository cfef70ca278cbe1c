#include "experiments/public_graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "checkmate/file.h"
#include "checkmate/io.h"
#include "core/text.h"
#include "core/try.h"
#include "io/sha256.h"

namespace checkmate::experiments {
namespace {

struct PublicGraph {
  std::string_view name;
  std::string_view file;  ///< where it is published
  std::string_view sha256;
};

constexpr std::array<PublicGraph, 11> kPublicGraphs = {{
    {"VGG16", "VGG16 (MLSys)_256_(224, 224, 3)_train_nx.json",
     "4a62f7b7331e597b4b81fea77df7e1a8e31ca3e83b492d397cbee35975c1d30d"},
    {"VGG19", "VGG19 (MLSys)_256_(224, 224, 3)_train_nx.json",
     "cee494c535b1da611139bf418a1bfb801040588ba6926ff62d9baef8ca66a804"},
    {"MobileNet", "MobileNet (MLSys)_512_(224, 224, 3)_train_nx.json",
     "58fd766d2b36fc4b971e9fcf990f08444f7fbf22ccbebeee5fb0ce25bcad0ff0"},
    {"ResNet50", "ResNet50 (MLSys)_256_(224, 224, 3)_train_nx.json",
     "ad49efb20824a07ece0b11ba9a5449ba06e63ef352f0914decbe5471dbab1b57"},
    {"U-Net", "vgg_unet (MLSys)_32_(416, 608, 3)_train_nx.json",
     "c87900dddeeddc071307862ca7fbd9d60c5c23d5e2ef025f219cd7e12d4d80aa"},
    {"FCN8", "fcn_8_vgg (MLSys)_32_(416, 608, 3)_train_nx.json",
     "9bbdd4c8615068f80ceae170ba89bc1541de9fca3a583ca47f5e29d483c00435"},
    {"SegNet", "segnet (MLSys)_32_(416, 608, 3)_train_nx.json",
     "82fdcd648d4371c8a9691ea4fdd9a0e740d3dcbe63f4e142c78b835f934d8bfd"},
    {"RLG1", "random_layered_n100_w0.27_nlv0.75_ed0.2_scd0.14.json",
     "9d8c75c4962d0bc45bf4fd73a51a8e66cbb975904bba0c133ea1bfca2032419e"},
    {"RLG2", "random_layered_n250_w0.43_nlv0.75_ed0.2_scd0.14.json",
     "b048fb63c4857481fa53b31775507d21dceb5e203da3a63f95691eb9343d227d"},
    {"RLG3", "random_layered_n500_w0.36_nlv0.75_ed0.2_scd0.14.json",
     "6a437a2c7eef7ad7d13f2dad9cae0ae8823c15454d900ec06292f22809ba4138"},
    {"RLG4", "random_layered_n1000_w0.31_nlv0.75_ed0.2_scd0.14.json",
     "adb564e95412b872dfb97db78618d364c7f8207664ff74d603f0d52b78fac582"},
}};

Error not_found(const std::filesystem::path& folder, std::string_view what) {
  return {ErrorCode::kIo, fmt::format("{}: {}; docs/public_graphs.md says where to get the public graphs",
                                      printable(folder.string(), 4096), what)};
}

/// Where the graphs of a folder are, by digest.
Result<std::map<std::string, std::filesystem::path>> files_by_digest(const std::filesystem::path& folder) {
  std::map<std::string, std::filesystem::path> files;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
    if (entry.path().extension() != ".json" || !entry.is_regular_file()) continue;
    CHECKMATE_TRY(const std::string text, read_file(entry.path()));
    files.emplace(sha256(text), entry.path());
  }
  if (failure) return not_found(folder, failure.message());
  return files;
}

/// A file of another content under the published name is told apart from one that is not there.
std::string why_absent(const PublicGraph& graph, const std::filesystem::path& folder) {
  std::error_code ignored;
  const bool other = std::filesystem::exists(folder / graph.file, ignored);
  return fmt::format("{} is {}", in_quotes(graph.file),
                     other ? "not the file that was published: its SHA-256 differs" : "missing");
}

}  // namespace

Result<Graph> read_public_graph(std::string_view name, const std::filesystem::path& folder) {
  const auto* const graph = std::find_if(kPublicGraphs.begin(), kPublicGraphs.end(),
                                         [&](const PublicGraph& known) { return known.name == name; });
  if (graph == kPublicGraphs.end())
    return Error{ErrorCode::kInvalidArgument, fmt::format("there is no public graph {}", in_quotes(name))};
  CHECKMATE_TRY(const auto files, files_by_digest(folder));
  const auto found = files.find(std::string(graph->sha256));
  if (found == files.end()) return not_found(folder, why_absent(*graph, folder));
  return read_graph(found->second);
}

Result<void> check_public_graphs(const std::filesystem::path& folder) {
  CHECKMATE_TRY(const auto files, files_by_digest(folder));
  std::string absent;
  for (const PublicGraph& graph : kPublicGraphs) {
    if (files.contains(std::string(graph.sha256))) continue;
    absent += (absent.empty() ? "" : ", ") + why_absent(graph, folder);
  }
  if (!absent.empty()) return not_found(folder, absent);
  return {};
}

}  // namespace checkmate::experiments
