#include "checkmate/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>

#include "core/decimal.h"
#include "core/text.h"

namespace checkmate {
namespace {

struct Suffix {
  std::string_view name;
  std::int64_t factor;
};
constexpr std::array<Suffix, 11> kSuffixes = {{{"", 1},
                                               {"b", 1},
                                               {"kb", 1'000},
                                               {"mb", 1'000'000},
                                               {"gb", 1'000'000'000},
                                               {"tb", 1'000'000'000'000},
                                               {"kib", 1LL << 10},
                                               {"mib", 1LL << 20},
                                               {"gib", 1LL << 30},
                                               {"tib", 1LL << 40},
                                               {"pib", 1LL << 50}}};

}  // namespace

void raise_overflow() { throw std::overflow_error("an amount exceeds 2^63"); }

Result<Bytes> parse_bytes(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} is not a valid size: {}; for example, write 6GiB, 16GB or 12345",
                             in_quotes(text), why)};
  };
  const Decimal number = Decimal::read_prefix(text);
  if (number.length == 0)
    return wrong(text.starts_with('-') ? "it is negative" : "it does not start with a number");

  std::string unit(text.substr(number.length));
  unit.erase(0, unit.find_first_not_of(' ') == std::string::npos ? unit.size() : unit.find_first_not_of(' '));
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto* suffix =
      std::find_if(kSuffixes.begin(), kSuffixes.end(), [&](const Suffix& s) { return s.name == unit; });
  if (suffix == kSuffixes.end()) return wrong("the unit is not B, KB, MB, GB, TB, KiB, MiB, GiB, TiB or PiB");
  if (suffix->factor == 1 && number.fractional()) return wrong("it is not a whole number of bytes");
  const std::optional<std::int64_t> bytes = number.times(suffix->factor);
  if (!bytes || *bytes > kLargestTotal) return wrong("it exceeds 2^62 bytes");
  return Bytes{*bytes};
}

std::string to_string(Bytes bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  const std::int64_t count = bytes.count();
  if (count > -1024 && count < 1024) return fmt::format("{} B", count);
  double value = static_cast<double>(count) / 1024;
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && (value >= 1023.95 || value <= -1023.95)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace checkmate
