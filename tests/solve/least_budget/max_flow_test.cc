#include "solve/least_budget/max_flow.h"

#include <gtest/gtest.h>

#include <random>

#include "support/graphs.h"

namespace checkmate {
namespace {

using testing::below;

TEST(MaxFlow, IsTheLeastCutOfRandomNetworks) {
  constexpr MaxFlow::Node kNodes = 7;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    MaxFlow network;
    std::vector<std::array<std::int64_t, 3>> edges;
    for (std::uint64_t k = 0; k < 16; ++k) {
      const auto from = static_cast<MaxFlow::Node>(below(random, kNodes));
      const auto to = static_cast<MaxFlow::Node>(below(random, kNodes));
      if (from == to) continue;
      edges.push_back({from, to, static_cast<std::int64_t>(below(random, 9))});
      network.add_edge(from, to);
    }
    network.add_edge(0, kNodes - 1);  // so that both ends exist
    edges.push_back({0, kNodes - 1, 1});
    for (MaxFlow::Edge edge = 0; edge < edges.size(); ++edge) network.set_capacity(edge, edges[edge][2]);
    std::int64_t least = INT64_MAX;  // over all sets of nodes with the source and without the sink
    for (unsigned side = 0; side < 1U << kNodes; ++side) {
      if ((side & 1U) == 0 || (side >> (kNodes - 1) & 1U) != 0) continue;
      std::int64_t cut = 0;
      for (const auto& [from, to, capacity] : edges)
        cut += (side >> from & 1U) != 0 && (side >> to & 1U) == 0 ? capacity : 0;
      least = std::min(least, cut);
    }
    EXPECT_EQ(network.find(0, kNodes - 1, MaxFlow::kUnlimited), least);
    EXPECT_EQ(network.find(0, kNodes - 1, 2), std::min<std::int64_t>(least, 2));
    network.set_capacity(0, edges[0][2] + 100);  // again, with another capacity
    EXPECT_GE(network.find(0, kNodes - 1, MaxFlow::kUnlimited), least);
  }
}

}  // namespace
}  // namespace checkmate
