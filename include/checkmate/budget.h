#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "checkmate/graph.h"
#include "checkmate/result.h"
#include "checkmate/units.h"

#pragma GCC visibility push(default)
namespace checkmate {

/// How much memory a plan may take, as a person writes it: bytes for everything, fixed memory included
/// (`6GiB`, `16GB`, `12345`), or a share of keep-all's peak without fixed memory (`50%`, above 0 and at most
/// 100), to which the fixed bytes are added. Held exactly.
class Budget {
 public:
  /// An error for negative bytes.
  static Result<Budget> of(Bytes bytes);
  /// An error where the text is neither, is negative, or asks for more than 100%.
  static Result<Budget> parse(std::string_view text);

  bool is_share() const { return std::holds_alternative<Share>(amount_); }
  /// The bytes that the budget allows a plan of this graph. An error for less than one byte, unless
  /// needs_no_memory().
  Result<Bytes> bytes_for(const Graph& graph) const;

 private:
  /// Percent: numerator / denominator.
  struct Share {
    std::int64_t numerator;
    std::int64_t denominator;
  };
  explicit Budget(Bytes bytes) : amount_(bytes) {}
  explicit Budget(Share share) : amount_(share) {}

  std::variant<Bytes, Share> amount_;
};

/// All its tensors have 0 bytes, so a budget of 0 bytes will do.
bool needs_no_memory(const Graph& graph);

/// Budget::parse() and bytes_for() in one.
Result<Bytes> parse_budget(const Graph& graph, std::string_view text);

/// Budgets separated by commas, and ranges of percent such as `90%..20%` or `90%..20%:5%` (in steps of 10% by
/// default). In rising order, each once.
Result<std::vector<Bytes>> parse_budgets(const Graph& graph, std::string_view text);

}  // namespace checkmate
#pragma GCC visibility pop
