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
    if (!bytes) {
      const Error error = bytes.error().at("budget");
      return Error{error.code, error.message + ", or for a share 60%"};
    }
    if (*bytes == Bytes{0}) return wrong("it must be positive; write for example 6GiB or 60%");
    return bytes;
  }
  const Decimal share = Decimal::read_prefix(text);
  const std::string_view rest = text.substr(share.length);
  if (share.length == 0 || rest.find_first_not_of(' ') != rest.size() - 1)
    return wrong("a share is a number and a %; write for example 60%");
  if (share.too_large || share.digits == 0 || share.digits > 100 * share.scale)
    return wrong("a share of keep-all's peak is above 0% and at most 100%");
  const Bytes budget = graph.fixed_bytes() + Bytes{*share.times(keep_all_peak(graph).count(), 100)};
  if (budget == Bytes{0}) return wrong("so small a share of keep-all's peak is less than a byte");
  return budget;
}

}  // namespace checkmate
