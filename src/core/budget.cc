#include "checkmate/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "checkmate/simulate.h"
#include "checkmate/structural_minimum.h"
#include "core/decimal.h"
#include "core/text.h"
#include "core/try.h"

namespace checkmate {
namespace {

Error not_a_budget(std::string_view text, std::string_view why) {
  return {ErrorCode::kInvalidArgument, fmt::format("{} is not a valid budget: {}", in_quotes(text), why)};
}

Error not_a_range(std::string_view text) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("{} is not a valid range of budgets; for example, write 90%..20% or 90%..20%:5%",
                      in_quotes(text))};
}

/// Whole percent, 1 to 100.
std::optional<std::int64_t> parse_percent(std::string_view text) {
  const Decimal number = Decimal::read_prefix(text);
  if (number.length == 0 || text.substr(number.length) != "%" || number.fractional() || number.too_large)
    return std::nullopt;
  const std::int64_t percent = number.digits / number.scale;
  return percent >= 1 && percent <= 100 ? std::optional(percent) : std::nullopt;
}

Result<std::vector<Bytes>> parse_range(const Graph& graph, std::string_view text) {
  const std::size_t dots = text.find("..");
  const std::size_t colon = text.find(':', dots);
  const std::optional<std::int64_t> first = parse_percent(text.substr(0, dots));
  const std::optional<std::int64_t> last =
      parse_percent(text.substr(dots + 2, colon == std::string_view::npos ? colon : colon - dots - 2));
  const std::optional<std::int64_t> step =
      colon == std::string_view::npos ? 10 : parse_percent(text.substr(colon + 1));
  if (!first || !last || !step) return not_a_range(text);
  std::vector<Bytes> budgets;
  for (std::int64_t percent = std::min(*first, *last); percent <= std::max(*first, *last); percent += *step) {
    CHECKMATE_TRY(const Bytes budget, parse_budget(graph, fmt::format("{}%", percent)));
    budgets.push_back(budget);
  }
  return budgets;
}

}  // namespace

bool needs_no_memory(const Graph& graph) {
  return graph.fixed_bytes() + structural_minimum(graph).bytes == Bytes{0};
}

Result<Budget> Budget::of(Bytes bytes) {
  if (bytes >= Bytes{0}) return Budget(bytes);
  return Error{ErrorCode::kInvalidArgument, fmt::format("budget must be positive, got {}", bytes.count())};
}

Result<Budget> Budget::parse(std::string_view text) {
  if (!text.ends_with('%')) {
    const Result<Bytes> bytes = parse_bytes(text);
    if (!bytes) {
      const Error error = bytes.error().at("budget");
      return Error{error.code, error.message + ", or 60% for a share"};
    }
    return Budget(*bytes);
  }
  const Decimal share = Decimal::read_prefix(text);
  const std::string_view rest = text.substr(share.length);
  if (share.length == 0 || rest.find_first_not_of(' ') != rest.size() - 1)
    return not_a_budget(text, "a share is a number followed by %, for example 60%");
  if (share.too_large || share.digits == 0 || share.digits > 100 * share.scale)
    return not_a_budget(text, "a share of keep-all's peak must be above 0% and at most 100%");
  return Budget(Share{share.digits, share.scale});
}

Result<Bytes> Budget::bytes_for(const Graph& graph) const {
  const auto or_none = [&](Bytes budget, std::string_view why) -> Result<Bytes> {
    if (budget > Bytes{0} || needs_no_memory(graph)) return budget;
    return Error{ErrorCode::kInvalidArgument, std::string(why)};
  };
  if (const Bytes* const bytes = std::get_if<Bytes>(&amount_)) {
    return or_none(*bytes,
                   "0 bytes are a budget only for a graph that needs none; for example, write 6GiB or 60%");
  }
  const Share share = std::get<Share>(amount_);
  const Decimal percent{.digits = share.numerator, .scale = share.denominator};
  const Bytes budget = graph.fixed_bytes() + Bytes{*percent.times(keep_all_peak(graph).count(), 100)};
  return or_none(budget, "this share of keep-all's peak is less than one byte");
}

Result<Bytes> parse_budget(const Graph& graph, std::string_view text) {
  CHECKMATE_TRY(const Budget budget, Budget::parse(text));
  const Result<Bytes> bytes = budget.bytes_for(graph);
  return bytes ? *bytes : Result<Bytes>(not_a_budget(text, bytes.error().message));
}

Result<std::vector<Bytes>> parse_budgets(const Graph& graph, std::string_view text) {
  std::vector<Bytes> budgets;
  while (true) {
    const std::string_view part = text.substr(0, text.find(','));
    if (part.find("..") != std::string_view::npos) {
      CHECKMATE_TRY(const std::vector<Bytes> range, parse_range(graph, part));
      budgets.insert(budgets.end(), range.begin(), range.end());
    } else {
      CHECKMATE_TRY(const Bytes budget, parse_budget(graph, part));
      budgets.push_back(budget);
    }
    if (part.size() == text.size()) break;
    text.remove_prefix(part.size() + 1);
  }
  std::sort(budgets.begin(), budgets.end());
  budgets.erase(std::unique(budgets.begin(), budgets.end()), budgets.end());
  return budgets;
}

}  // namespace checkmate
