#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/text.h"
#include "zoo/recipe.h"

namespace checkmate::zoo {
namespace {

template <class Number>
std::optional<Number> parse(std::string_view text) {
  Number number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::string_view Arguments::value(std::string_view name) const { return values_.find(name)->second; }

void Arguments::refuse(std::string_view name, std::string_view expected) {
  if (error_) return;
  error_ = Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} must be {}, got {}", name, expected, in_quotes(value(name)))};
}

std::int64_t Arguments::number(std::string_view name, std::int64_t least, std::int64_t most) {
  const std::optional<std::int64_t> number = parse<std::int64_t>(value(name));
  if (number && *number >= least && *number <= most) return *number;
  refuse(name, fmt::format("a whole number from {} to {}", least, most));
  return least;
}

double Arguments::real(std::string_view name, double least, double most) {
  const std::optional<double> number = parse<double>(value(name));
  if (number && *number >= least && *number <= most) return *number;  // false for NaN
  refuse(name, fmt::format("a number from {} to {}", least, most));
  return least;
}

std::string_view Arguments::choice(std::string_view name, std::initializer_list<std::string_view> choices) {
  const auto* const found = std::find(choices.begin(), choices.end(), value(name));
  if (found != choices.end()) return *found;
  refuse(name, fmt::format("one of {}", fmt::join(choices, ", ")));
  return *choices.begin();
}

}  // namespace checkmate::zoo
