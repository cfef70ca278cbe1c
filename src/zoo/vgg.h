#pragma once

#include <array>
#include <vector>

#include "zoo/layers.h"

namespace checkmate::zoo {

/// How many convolutions each of VGG's five blocks has.
using VggBlocks = std::array<int, 5>;
inline constexpr VggBlocks kVgg16 = {2, 2, 3, 3, 3};
inline constexpr VggBlocks kVgg19 = {2, 2, 4, 4, 4};

/// Adds the first `count` blocks to an empty network; returns each block's pooled output.
std::vector<LayerId> add_vgg_blocks(LayerNetwork& net, const VggBlocks& blocks, std::size_t count = 5);

}  // namespace checkmate::zoo
