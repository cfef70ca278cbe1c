#pragma once

#include <cstddef>
#include <cstring>

namespace checkmate {

/// What memory above a budget counts: the bytes above it and a toll for each position that is over, so that
/// many small overflows are not an escape. Amounts are whole numbers in doubles; sums are exact below 2^53.
class Overflow {
 public:
  Overflow(double budget, double toll)
      : budget_(budget), free_(budget - toll), budgets_{budget, budget}, frees_{free_, free_} {}

  double of(double memory) const { return memory > budget_ ? memory - free_ : 0; }

  double sum(const double* memory, std::size_t count) const {
    return fold(
        count, [=, this](std::size_t i) { return of(load(memory + i)); },
        [=, this](std::size_t i) { return of(memory[i]); });
  }

  /// How the sum changes if `bytes` come to each.
  double change(const double* memory, std::size_t count, double bytes) const {
    const Pair more{bytes, bytes};
    return fold(
        count, [=, this](std::size_t i) { return of(load(memory + i) + more) - of(load(memory + i)); },
        [=, this](std::size_t i) { return of(memory[i] + bytes) - of(memory[i]); });
  }

  /// Adds `bytes` to each and returns how the sum changes.
  double add(double* memory, std::size_t count, double bytes) const {
    const Pair more{bytes, bytes};
    return fold(
        count,
        [=, this](std::size_t i) {
          const Pair before = load(memory + i);
          const Pair after = before + more;
          std::memcpy(memory + i, &after, sizeof after);
          return of(after) - of(before);
        },
        [=, this](std::size_t i) {
          const double before = memory[i];
          memory[i] += bytes;
          return of(memory[i]) - of(before);
        });
  }

 private:
  // Two neighbours at once. A compiler may not reorder a sum of doubles, not knowing that it is exact, so it
  // does not get there by itself.
  using Pair = double __attribute__((vector_size(16)));

  static Pair load(const double* from) {
    Pair pair;
    std::memcpy(&pair, from, sizeof pair);
    return pair;
  }
  Pair of(Pair memory) const { return memory > budgets_ ? memory - frees_ : Pair{}; }

  template <class OfPair, class OfOne>
  static double fold(std::size_t count, const OfPair& of_pair, const OfOne& of_one) {
    Pair even{};
    Pair odd{};
    std::size_t i = 0;
    for (; i + 4 <= count; i += 4) {
      even += of_pair(i);
      odd += of_pair(i + 2);
    }
    even += odd;
    double sum = even[0] + even[1];
    for (; i < count; ++i) sum += of_one(i);
    return sum;
  }

  double budget_, free_;
  Pair budgets_, frees_;
};

}  // namespace checkmate
