#pragma once

#include <cstdlib>

/// A property that must hold for any input; libFuzzer reports the abort with the input that caused it.
inline void require(bool holds) {
  if (!holds) std::abort();
}
