#include "checkmate/budget.h"

#include <fmt/format.h>

#include "checkmate/simulate.h"
#include "decimal.h"
#include "text.h"

namespace checkmate {

Result<Bytes> parse_budget(const Graph& graph, std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{} is no budget: {}", in_quotes(text), why)};
  };
  if (!text.ends_with('%')) {
    Result<Bytes> bytes = parse_bytes(text);
    if (!bytes) return bytes.error().at("budget");
    if (*bytes == Bytes{0}) return wrong("it must be positive; write for example 6GiB or 60%");
    return bytes;
  }
  constexpr std::string_view kShares = "a share of keep-all's peak is above 0% and at most 100%";
  const Decimal share = Decimal::read_prefix(text);
  if (share.length == 0 || share.length + 1 != text.size() || share.too_large || share.digits == 0)
    return wrong(kShares);
  if (share.digits > 100 * share.scale) return wrong(kShares);
  const Bytes budget = graph.fixed_bytes() + Bytes{*share.times(keep_all_peak(graph).count(), 100)};
  if (budget == Bytes{0}) return wrong("so small a share of keep-all's peak is less than a byte");
  return budget;
}

}  // namespace checkmate
