#pragma once

#include <cstdint>

namespace checkmate {

/// Stage t runs op t for the first time, after whatever must be recomputed for it.
using Stage = std::uint32_t;

}  // namespace checkmate
