#pragma once

#include <cstdint>
#include <vector>

namespace checkmate {

/// Griewank and Walther's binomial checkpointing of a chain of `length` blocks with `slots` stored states,
/// the one before block 1 among them. Blocks are reversed from the last to the first; entry j lists the
/// states (numbered by the block that they follow) that are stored while advancing to reverse block j. State
/// j is needed until block j+1 is reversed. Fewest block runs for unit costs. Entry 0 is empty. Time O(length
/// x slots) at most.
std::vector<std::vector<std::uint32_t>> revolve(std::uint32_t length, std::uint32_t slots);

/// The block runs of that schedule beyond those of reversing itself: r l - beta(s+1, r-1).
std::uint64_t revolve_advances(std::uint64_t length, std::uint64_t slots);

}  // namespace checkmate
