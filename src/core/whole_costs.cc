#include "checkmate/whole_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/text.h"

namespace checkmate {
namespace {

constexpr int kFarExponent = 1'000'000;  // beyond any power that matters

Error not_a_cost(std::string_view text) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("{} is not a cost; expected a number that is 0 or more", in_quotes(text))};
}

/// The exponent behind an `e`, cut to what matters; nothing where it is not one.
std::optional<int> read_exponent(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  int exponent = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    exponent = std::min(exponent * 10 + (c - '0'), kFarExponent);
  }
  return negative ? -exponent : exponent;
}

/// How many digits stand before the point: 3 for 123.4, -1 for 0.01.
int magnitude(const DecimalCost& cost) {
  return static_cast<int>(fmt::formatted_size("{}", cost.digits)) + cost.exponent;
}

/// cost x 10^power to the nearest whole number, halves upwards; nothing above kLargestTotal.
std::optional<std::int64_t> scaled(const DecimalCost& cost, int power) {
  std::int64_t number = cost.digits;
  int exponent = cost.exponent + power;
  for (; exponent > 0 && number > 0; --exponent) {
    if (number > kLargestTotal / 10) return std::nullopt;
    number *= 10;
  }
  for (; exponent < -1 && number > 0; ++exponent) number /= 10;
  if (exponent < 0) number = (number + 5) / 10;
  return number <= kLargestTotal ? std::optional(number) : std::nullopt;
}

bool fits(std::span<const DecimalCost> costs, int power) {
  std::int64_t rest = kLargestScaledTotal;
  return std::all_of(costs.begin(), costs.end(), [&](const DecimalCost& cost) {
    const std::optional<std::int64_t> number = scaled(cost, power);
    if (!number || *number > rest) return false;
    rest -= *number;
    return true;
  });
}

bool all_end_in_zero(std::span<const Cost> costs) {
  return std::all_of(costs.begin(), costs.end(), [](Cost cost) { return cost.count() % 10 == 0; });
}

int power_for(std::span<const DecimalCost> costs) {
  int needed = 0;
  int largest = -kFarExponent;
  for (const DecimalCost& cost : costs) {
    if (cost.digits == 0) continue;
    needed = std::max(needed, -cost.exponent);
    largest = std::max(largest, magnitude(cost));
  }
  constexpr int kTotalDigits = 16;  // of kLargestScaledTotal
  int power = std::min(needed, std::max(0, kTotalDigits - largest));
  while (power > 0 && !fits(costs, power)) --power;
  return power;
}

}  // namespace

Result<DecimalCost> parse_decimal_cost(std::string_view text) {
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  DecimalCost cost;
  bool point = false;
  bool any_digit = false;
  for (const char c : text.substr(0, e)) {
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9') return not_a_cost(text);
    any_digit = true;
    if (cost.digits <= (INT64_MAX - 9) / 10) {
      cost.digits = cost.digits * 10 + (c - '0');
      cost.exponent -= point ? 1 : 0;
    } else {
      cost.exponent += point ? 0 : 1;
    }
  }
  if (!any_digit) return not_a_cost(text);
  if (e < text.size()) {
    const std::optional<int> exponent = read_exponent(text.substr(e + 1));
    if (!exponent) return not_a_cost(text);
    cost.exponent = std::clamp(cost.exponent + *exponent, -kFarExponent, kFarExponent);
  }
  if (cost.digits == 0) return DecimalCost{};
  for (; cost.digits % 10 == 0; ++cost.exponent) cost.digits /= 10;
  return cost;
}

Result<WholeCosts> whole_costs(std::span<const DecimalCost> costs, std::string_view unit) {
  int power = power_for(costs);
  WholeCosts whole;
  whole.costs.reserve(costs.size());
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const std::optional<std::int64_t> number = scaled(costs[i], power);
    if (!number) {
      return Error{
          ErrorCode::kInvalidGraph,
          fmt::format("the cost of op {} exceeds 2^62; use a larger cost unit or a smaller batch", i)};
    }
    whole.costs.emplace_back(*number);
  }
  for (; power > 0 && all_end_in_zero(whole.costs); --power) {  // after rounding, a smaller power may do
    for (Cost& cost : whole.costs) cost = Cost{cost.count() / 10};
  }
  const auto [base, before] = scaled_unit(unit);
  whole.unit = power == 0 ? std::string(unit) : fmt::format("{}/10^{}", base, before + power);
  return whole;
}

ScaledUnit scaled_unit(std::string_view cost_unit) {
  constexpr std::string_view kMark = "/10^";
  const std::size_t at = cost_unit.rfind(kMark);
  if (at == std::string_view::npos) return {cost_unit};
  const std::string_view digits = cost_unit.substr(at + kMark.size());
  int power = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), power);
  if (failure != std::errc() || end != digits.data() + digits.size() || power <= 0 || power > kFarExponent)
    return {cost_unit};
  return {cost_unit.substr(0, at), power};
}

std::string to_string(Cost cost, std::string_view cost_unit) {
  const auto [unit, power] = scaled_unit(cost_unit);
  constexpr int kMostPlaces = 18;
  if (power == 0 || power > kMostPlaces)
    return fmt::format("{} {}", grouped(cost.count()), printable(cost_unit));
  std::int64_t one = 1;
  for (int i = 0; i < power; ++i) one *= 10;
  std::string fraction = fmt::format(".{:0{}}", cost.count() % one, power);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  if (fraction == ".") fraction.clear();
  return fmt::format("{}{} {}", grouped(cost.count() / one), fraction, printable(unit));
}

}  // namespace checkmate
