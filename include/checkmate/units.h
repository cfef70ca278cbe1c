#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "checkmate/result.h"

#pragma GCC visibility push(default)
namespace checkmate {

/// Throws std::overflow_error; that ends a program built without exceptions.
[[noreturn]] void raise_overflow();

/// A signed 64-bit amount of one unit. Amounts of different units do not mix; arithmetic that leaves the
/// range of int64 is raise_overflow(). A Graph keeps the sum of all its bytes, and of all its costs, below
/// 2^62, so only a plan with very many recomputations can get there.
template <class Unit>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(std::int64_t count) : count_(count) {}

  constexpr std::int64_t count() const { return count_; }
  constexpr auto operator<=>(const Quantity&) const = default;

  constexpr Quantity& operator+=(Quantity other) {
    if (__builtin_add_overflow(count_, other.count_, &count_)) raise_overflow();
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    if (__builtin_sub_overflow(count_, other.count_, &count_)) raise_overflow();
    return *this;
  }
  constexpr Quantity& operator*=(std::int64_t factor) {
    if (__builtin_mul_overflow(count_, factor, &count_)) raise_overflow();
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr Quantity operator*(Quantity a, std::int64_t factor) { return a *= factor; }
  friend constexpr Quantity operator*(std::int64_t factor, Quantity a) { return a *= factor; }

 private:
  std::int64_t count_ = 0;
};

using Bytes = Quantity<struct BytesUnit>;
/// In the unit that the graph declares: nanoseconds, multiply-accumulates, ...
using Cost = Quantity<struct CostUnit>;

/// The largest sum of bytes, and of costs, that a graph may hold.
inline constexpr std::int64_t kLargestTotal = std::int64_t{1} << 62;

/// Reads `12345`, `12345B`, `1.5GiB`, `16GB`, `512 MiB` (powers of 1024 with an i, of 1000 without), rounded
/// down to whole bytes. Negative sizes, fractions without a unit and sizes above 2^62 are errors.
Result<Bytes> parse_bytes(std::string_view text);

/// For people: `6.4 GiB`, `512 B`.
std::string to_string(Bytes bytes);

namespace literals {
constexpr Bytes operator""_B(unsigned long long n) { return Bytes{static_cast<std::int64_t>(n)}; }
constexpr Bytes operator""_KiB(unsigned long long n) {
  return Bytes{static_cast<std::int64_t>(n)} * (1LL << 10);
}
constexpr Bytes operator""_MiB(unsigned long long n) {
  return Bytes{static_cast<std::int64_t>(n)} * (1LL << 20);
}
constexpr Bytes operator""_GiB(unsigned long long n) {
  return Bytes{static_cast<std::int64_t>(n)} * (1LL << 30);
}
}  // namespace literals

}  // namespace checkmate
#pragma GCC visibility pop
