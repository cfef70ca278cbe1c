#pragma once

#include <cstdint>

namespace checkmate {

/// Random numbers that the same seed gives on every machine, compiler and standard library; the distributions
/// of <random> differ. SplitMix64: a counter, scrambled. It repeats after 2^64 numbers and keeps no secrets.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  /// Any 64 bits.
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  /// From 0 to bound - 1, equally likely except for a part in 2^64 / bound. The bound is positive.
  std::uint64_t below(std::uint64_t bound) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<Wide>(next()) * bound >> 64);
  }

  /// From `least` to `most`, both included.
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most - least) + 1));
  }

  /// From 0, included, to 1, not included.
  double share() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  /// True once in `times` draws.
  bool one_in(std::uint64_t times) { return below(times) == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace checkmate
