#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "checkmate/result.h"

namespace checkmate {

/// A place in a program's list of columns.
enum class Column : std::int32_t {};

struct Term {
  Column column;
  double coefficient;
};

/// lower <= sum of terms <= upper.
struct LinearRow {
  double lower;
  double upper;
  std::vector<Term> terms;
};

/// minimise cost x  subject to  lower <= rows <= upper, bounds on x, some x whole.
class LinearProgram {
 public:
  static constexpr double kInfinity = 1e30;
  struct ColumnSpec {
    double cost = 0;
    double lower = 0;
    double upper = 1;
    bool whole = false;
    std::string name = {};  ///< for files
  };

  Column add_column(ColumnSpec spec);
  /// Terms of one column add up.
  void add_row(double lower, double upper, std::span<const Term> terms);

  /// The first row, or column bound by its negative, that the values break by more than 1e-6; for checks.
  std::optional<std::int64_t> violated_row(std::span<const double> values) const;

  std::size_t column_count() const { return columns_.size(); }
  std::size_t row_count() const { return row_lower_.size(); }
  std::size_t entry_count() const { return indices_.size(); }
  const ColumnSpec& column(Column column) const { return columns_[static_cast<std::size_t>(column)]; }

 private:
  friend class LinearSolver;
  std::vector<ColumnSpec> columns_;
  std::vector<double> row_lower_, row_upper_;
  std::vector<std::int32_t> starts_;  // of each row in the two below
  std::vector<std::int32_t> indices_;
  std::vector<double> values_;
};

/// A lower bound or a better solution, while the search goes on.
struct LinearProgress {
  double seconds;
  double best;                          ///< infinite before the first solution
  double bound;                         ///< minus infinite before the first bound
  std::span<const double> values = {};  ///< of a new solution
};

struct LinearOptions {
  bool relax = false;  ///< forget that some columns are whole
  double time_limit = LinearProgram::kInfinity;
  double relative_gap = 0;
  std::int32_t iteration_limit = INT32_MAX;  ///< simplex iterations of a relaxation
  std::int32_t node_limit = INT32_MAX;       ///< nodes of branch and bound
  std::uint64_t seed = 0;
  std::span<const double> start = {};  ///< a solution to start from
  std::function<void(const LinearProgress&)> on_progress = {};
  std::function<bool()> enough = {};  ///< asked often: true stops, as the token does
  std::stop_token stop = {};
};

struct LinearSolution {
  enum class Status : std::uint8_t {
    kOptimal,     ///< within the gap asked for
    kInfeasible,  ///< proven
    kStopped,     ///< by a limit or the token; values may be there
    kFailed,      ///< numerical trouble: nothing is known
  };
  Status status = Status::kFailed;
  std::vector<double> values;  ///< empty without a solution
  double objective = LinearProgram::kInfinity;
  double bound = -LinearProgram::kInfinity;  ///< a stopped relaxation has none
  double seconds = 0;
};

/// HiGHS with a program in it. Solving again after a change continues from the previous solution. Not
/// thread-safe.
class LinearSolver {
 public:
  explicit LinearSolver(const LinearProgram& program);
  ~LinearSolver();
  LinearSolver(const LinearSolver&) = delete;
  LinearSolver& operator=(const LinearSolver&) = delete;

  LinearSolution solve(const LinearOptions& options);
  /// Adds rows, of distinct columns each, to the program.
  void add_rows(std::span<const LinearRow> rows);
  /// Columns first..last, both included.
  void set_upper_bounds(Column first, Column last, double upper);
  /// The program as a file of that format, `mps` or `lp`.
  Result<std::string> text(std::string_view format);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace checkmate
