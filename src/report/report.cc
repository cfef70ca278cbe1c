#include "checkmate/report.h"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>

#include "checkmate/validate.h"
#include "core/try.h"
#include "io/sha256.h"
#include "report/assets.h"
#include "report/report_data.h"

namespace checkmate {
namespace {

/// Base64 of the SHA-256, as a content security policy names a script or a style that may run.
std::string policy_hash(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::string hex = sha256(text);
  std::string base64;
  // Three bytes, six hexadecimal digits, are four digits here; the last two bytes are three and a sign.
  for (std::size_t at = 0; at < hex.size(); at += 6) {
    const std::string group = (hex.substr(at, 6) + "000000").substr(0, 6);
    std::uint32_t bits = 0;
    std::from_chars(group.data(), group.data() + group.size(), bits, 16);
    for (int shift = 18; shift >= 0; shift -= 6) base64 += kDigits[(bits >> shift) & 63U];
  }
  base64.back() = '=';
  return "'sha256-" + base64 + "'";
}

/// Puts a text in the place of each mark of the template. What is put in is not looked at: a name that reads
/// like a mark stays a name.
class Filler {
 public:
  explicit Filler(std::string_view text) : rest_(text) {}
  Filler& put(std::string_view mark, std::string_view text) {
    const std::size_t at = rest_.find(mark);
    if (at == std::string_view::npos)
      throw std::logic_error(fmt::format("the template has no {} after the mark before", mark));
    page_.append(rest_.substr(0, at)).append(text);
    rest_.remove_prefix(at + mark.size());
    return *this;
  }
  std::string finish() { return std::move(page_.append(rest_)); }

 private:
  std::string page_;
  std::string_view rest_;
};

Result<void> check(const Graph& graph, const Plan& plan, const ReportOptions& options) {
  const std::vector<Violation> violations =
      validate(graph, plan, options.budget.value_or(Bytes{INT64_MAX}), options.order);
  if (violations.empty()) return {};
  std::string message = describe(graph, violations.front());
  if (violations.size() > 1) message += fmt::format(" (and {} more)", violations.size() - 1);
  return Error{ErrorCode::kInvalidPlan, std::move(message)};
}

}  // namespace

std::vector<ReportPoint> report_points(const std::vector<SweepPoint>& points) {
  std::vector<ReportPoint> shown;
  shown.reserve(points.size());
  for (const auto& [budget, method, result] : points) {
    // Where no plan fits, every bound holds: it says nothing.
    const bool bounded = result.status != Status::kInfeasible;
    shown.push_back({.budget = budget,
                     .method = method,
                     .status = result.status,
                     .cost = result.cost,
                     .lower_bound = bounded ? std::optional(result.lower_bound) : std::nullopt});
  }
  return shown;
}

Result<std::string> report_html(const Graph& graph, const Plan& plan, const ReportOptions& options) {
  CHECKMATE_TRY(check(graph, plan, options));
  CHECKMATE_TRY(const Simulation run, simulate(graph, plan));
  if (options.lower_bound && *options.lower_bound > run.cost) {
    return Error{ErrorCode::kInvalidPlan, fmt::format("lower bound {} is above the plan's cost {}",
                                                      options.lower_bound->count(), run.cost.count())};
  }
  using namespace report;
  const std::string policy = fmt::format(
      "default-src 'none'; script-src {} {}; style-src {}; img-src data:; base-uri 'none'; form-action "
      "'none'",
      policy_hash(kD3), policy_hash(kScript), policy_hash(kStyle));
  return Filler(kTemplate)
      .put("@POLICY@", policy)
      .put("@STYLE@", kStyle)
      .put("@DATA@", inside_script(report_json(graph, plan, run, options)))
      .put("@D3@", kD3)
      .put("@SCRIPT@", kScript)
      .finish();
}

}  // namespace checkmate
