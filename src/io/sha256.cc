#include "io/sha256.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace checkmate {
namespace {

using Word = std::uint32_t;

constexpr std::array<Word, 64> kFirstPrimes = [] {
  std::array<Word, 64> primes{};
  std::size_t count = 0;
  for (Word candidate = 2; count < primes.size(); ++candidate) {
    bool prime = true;
    for (std::size_t i = 0; i < count && prime; ++i) prime = candidate % primes[i] != 0;
    if (prime) primes[count++] = candidate;
  }
  return primes;
}();

/// The first 32 bits of the fraction of the `degree`-th root: how the standard defines its constants. Found
/// bit by bit as the largest x with x^degree <= prime, in fixed point, so that no floating point is trusted.
constexpr Word root_fraction(Word prime, int degree) {
  __extension__ using Wide = unsigned __int128;
  // Roots are below 2^5, so x < 2^37; x^3 < 2^111 fits.
  const Wide target = static_cast<Wide>(prime) << (32 * degree);
  Wide root = 0;
  for (int bit = 36; bit >= 0; --bit) {
    const Wide trial = root | (Wide{1} << bit);
    Wide power = trial;
    for (int k = 1; k < degree; ++k) power *= trial;
    if (power <= target) root = trial;
  }
  return static_cast<Word>(root);
}

constexpr std::array<Word, 64> kRound = [] {
  std::array<Word, 64> constants{};
  for (std::size_t i = 0; i < constants.size(); ++i) constants[i] = root_fraction(kFirstPrimes[i], 3);
  return constants;
}();

using Digest = std::array<Word, 8>;

constexpr Digest kStart = [] {
  Digest start{};
  for (std::size_t i = 0; i < start.size(); ++i) start[i] = root_fraction(kFirstPrimes[i], 2);
  return start;
}();

void compress(Digest& digest, const unsigned char* block) {
  std::array<Word, 64> w{};
  for (std::size_t i = 0; i < 16; ++i) {
    w[i] = static_cast<Word>(block[4 * i]) << 24 | static_cast<Word>(block[4 * i + 1]) << 16 |
           static_cast<Word>(block[4 * i + 2]) << 8 | static_cast<Word>(block[4 * i + 3]);
  }
  for (std::size_t i = 16; i < 64; ++i) {
    const Word s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const Word s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = digest;
  for (std::size_t i = 0; i < 64; ++i) {
    const Word s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const Word t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    const Word s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const Word t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const Digest mixed = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < digest.size(); ++i) digest[i] += mixed[i];
}

}  // namespace

std::string sha256(std::string_view data) {
  constexpr std::size_t kBlock = 64;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(data.data());
  Digest digest = kStart;
  const std::size_t whole = data.size() / kBlock * kBlock;
  for (std::size_t at = 0; at < whole; at += kBlock) compress(digest, bytes + at);

  // The rest, a 1 bit, zeros, and the length in bits fill one block or two.
  std::array<unsigned char, 2 * kBlock> tail{};
  const std::size_t rest = data.size() - whole;
  for (std::size_t i = 0; i < rest; ++i) tail[i] = bytes[whole + i];
  tail[rest] = 0x80;
  const std::size_t tail_size = rest + 9 <= kBlock ? kBlock : 2 * kBlock;
  const std::uint64_t bits = static_cast<std::uint64_t>(data.size()) * 8;
  for (std::size_t i = 0; i < 8; ++i) tail[tail_size - 1 - i] = static_cast<unsigned char>(bits >> (8 * i));
  for (std::size_t at = 0; at < tail_size; at += kBlock) compress(digest, tail.data() + at);

  std::string text;
  for (const Word word : digest) text += fmt::format("{:08x}", word);
  return text;
}

}  // namespace checkmate
