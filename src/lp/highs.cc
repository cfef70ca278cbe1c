#include <fmt/format.h>
#include <interfaces/highs_c_api.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "checkmate/file.h"
#include "lp/linear_program.h"

// The only file that knows HiGHS, through its C interface.

namespace checkmate {
namespace {

/// What the callback may touch. HiGHS calls it from the thread that called run, and looks at its own clock
/// less often.
struct Watch {
  using Clock = std::chrono::steady_clock;
  const LinearOptions* options = nullptr;
  std::size_t columns = 0;
  LinearProgress progress{};
  Clock::time_point start = Clock::now();

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start).count(); }

  static void call(int type, const char* /*message*/, const HighsCallbackDataOut* out,
                   HighsCallbackDataIn* in, void* context) {
    auto& watch = *static_cast<Watch*>(context);
    const LinearOptions& options = *watch.options;
    if (type == kHighsCallbackMipLogging || type == kHighsCallbackMipImprovingSolution) {
      watch.progress = {watch.seconds(), std::min(watch.progress.best, out->mip_primal_bound),
                        std::max(watch.progress.bound, out->mip_dual_bound)};
      if (type == kHighsCallbackMipImprovingSolution)
        watch.progress.values = {out->mip_solution, watch.columns};
      if (options.on_progress) options.on_progress(watch.progress);
    } else if (in != nullptr) {
      const bool stop = options.stop.stop_requested() || watch.seconds() > options.time_limit ||
                        (options.enough && options.enough());
      in->user_interrupt = stop ? 1 : 0;
    }
  }
};

void require(HighsInt status, std::string_view doing) {
  if (status == kHighsStatusError) throw std::logic_error(fmt::format("HiGHS failed to {}", doing));
}

}  // namespace

Column LinearProgram::add_column(ColumnSpec spec) {
  columns_.push_back(std::move(spec));
  return static_cast<Column>(columns_.size() - 1);
}

void LinearProgram::add_row(double lower, double upper, std::span<const Term> terms) {
  starts_.push_back(static_cast<std::int32_t>(indices_.size()));
  row_lower_.push_back(lower);
  row_upper_.push_back(upper);
  const std::size_t begin = indices_.size();
  for (const Term& term : terms) {
    const auto index = static_cast<std::int32_t>(term.column);
    const auto same = std::find(indices_.begin() + static_cast<std::ptrdiff_t>(begin), indices_.end(), index);
    if (same != indices_.end()) {
      values_[static_cast<std::size_t>(same - indices_.begin())] += term.coefficient;
    } else {
      indices_.push_back(index);
      values_.push_back(term.coefficient);
    }
  }
}

std::optional<std::int64_t> LinearProgram::violated_row(std::span<const double> values) const {
  constexpr double kTolerance = 1e-6;
  for (std::size_t row = 0; row < row_count(); ++row) {
    const std::size_t end =
        row + 1 < row_count() ? static_cast<std::size_t>(starts_[row + 1]) : indices_.size();
    double sum = 0;
    for (auto at = static_cast<std::size_t>(starts_[row]); at < end; ++at)
      sum += values_[at] * values[static_cast<std::size_t>(indices_[at])];
    if (sum < row_lower_[row] - kTolerance || sum > row_upper_[row] + kTolerance)
      return static_cast<std::int64_t>(row);
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (values[i] < columns_[i].lower - kTolerance || values[i] > columns_[i].upper + kTolerance)
      return -static_cast<std::int64_t>(i) - 1;
  }
  return std::nullopt;
}

struct LinearSolver::State {
  void* highs = Highs_create();
  std::vector<HighsInt> integrality;
  std::size_t entries = 0;
  ~State() { Highs_destroy(highs); }

  double number(const char* name) const {
    double value = 0;
    Highs_getDoubleInfoValue(highs, name, &value);
    return value;
  }
  int whole(const char* name) const {
    HighsInt value = 0;
    Highs_getIntInfoValue(highs, name, &value);
    return value;
  }
};

LinearSolver::LinearSolver(const LinearProgram& program) : state_(std::make_unique<State>()) {
  Highs_setBoolOptionValue(state_->highs, "output_flag", 0);
  const std::size_t columns = program.column_count();
  state_->entries = program.entry_count();
  std::vector<double> cost(columns);
  std::vector<double> lower(columns);
  std::vector<double> upper(columns);
  state_->integrality.resize(columns);
  for (std::size_t i = 0; i < columns; ++i) {
    const LinearProgram::ColumnSpec& spec = program.columns_[i];
    cost[i] = spec.cost;
    lower[i] = spec.lower;
    upper[i] = spec.upper;
    state_->integrality[i] = spec.whole ? kHighsVarTypeInteger : kHighsVarTypeContinuous;
  }
  require(
      Highs_passMip(state_->highs, static_cast<HighsInt>(columns), static_cast<HighsInt>(program.row_count()),
                    static_cast<HighsInt>(program.entry_count()), kHighsMatrixFormatRowwise,
                    kHighsObjSenseMinimize, 0, cost.data(), lower.data(), upper.data(),
                    program.row_lower_.data(), program.row_upper_.data(), program.starts_.data(),
                    program.indices_.data(), program.values_.data(), state_->integrality.data()),
      "load the program");
  for (std::size_t i = 0; i < columns; ++i) {
    if (!program.columns_[i].name.empty())
      Highs_passColName(state_->highs, static_cast<HighsInt>(i), program.columns_[i].name.c_str());
  }
}

LinearSolver::~LinearSolver() = default;

void LinearSolver::set_upper_bounds(Column first, Column last, double upper) {
  const auto count = static_cast<std::size_t>(last) - static_cast<std::size_t>(first) + 1;
  const std::vector<double> lower(count, 0);
  const std::vector<double> bound(count, upper);
  require(Highs_changeColsBoundsByRange(state_->highs, static_cast<HighsInt>(first),
                                        static_cast<HighsInt>(last), lower.data(), bound.data()),
          "change bounds");
}

void LinearSolver::add_rows(std::span<const LinearRow> rows) {
  std::vector<double> lower;
  std::vector<double> upper;
  std::vector<HighsInt> starts;
  std::vector<HighsInt> indices;
  std::vector<double> values;
  for (const LinearRow& row : rows) {
    lower.push_back(row.lower);
    upper.push_back(row.upper);
    starts.push_back(static_cast<HighsInt>(indices.size()));
    for (const Term& term : row.terms) {
      indices.push_back(static_cast<HighsInt>(term.column));
      values.push_back(term.coefficient);
    }
  }
  state_->entries += indices.size();
  require(Highs_addRows(state_->highs, static_cast<HighsInt>(rows.size()), lower.data(), upper.data(),
                        static_cast<HighsInt>(indices.size()), starts.data(), indices.data(), values.data()),
          "add rows");
}

LinearSolution LinearSolver::solve(const LinearOptions& options) {
  // HiGHS does not look at its clock before it has gone over the whole matrix a few times.
  constexpr double kSecondsPerEntry = 8e-7;
  if (options.time_limit < kSecondsPerEntry * static_cast<double>(state_->entries)) {
    return {.status = LinearSolution::Status::kStopped, .values = {}};
  }
  void* const highs = state_->highs;
  const auto columns = static_cast<HighsInt>(state_->integrality.size());
  const std::vector<HighsInt> continuous(state_->integrality.size(), kHighsVarTypeContinuous);
  Highs_changeColsIntegralityByRange(highs, 0, columns - 1,
                                     options.relax ? continuous.data() : state_->integrality.data());
  // HiGHS counts from the creation of the instance unless its clock is reset.
  Highs_zeroAllClocks(highs);
  Highs_setDoubleOptionValue(highs, "time_limit", std::max(options.time_limit, 0.0));
  Highs_setDoubleOptionValue(highs, "mip_rel_gap", options.relative_gap);
  Highs_setDoubleOptionValue(highs, "mip_abs_gap", 0);
  Highs_setIntOptionValue(highs, "simplex_iteration_limit",
                          options.relax ? options.iteration_limit : INT32_MAX);
  Highs_setIntOptionValue(highs, "mip_max_nodes", options.node_limit);
  // Its worker threads would outlive the call, and all instances of a process have to share them.
  Highs_setIntOptionValue(highs, "threads", 1);
  Highs_setIntOptionValue(highs, "random_seed", static_cast<HighsInt>(options.seed % INT32_MAX));
  if (!options.start.empty() && !options.relax)
    Highs_setSolution(highs, options.start.data(), nullptr, nullptr, nullptr);

  Watch watch{.options = &options,
              .columns = state_->integrality.size(),
              .progress = {0, LinearProgram::kInfinity, -LinearProgram::kInfinity}};
  Highs_setCallback(highs, Watch::call, &watch);
  for (const HighsInt type :
       {kHighsCallbackSimplexInterrupt, kHighsCallbackIpmInterrupt, kHighsCallbackMipInterrupt,
        kHighsCallbackMipLogging, kHighsCallbackMipImprovingSolution}) {
    Highs_startCallback(highs, type);
  }
  using Status = LinearSolution::Status;
  const auto feasible = [&] {
    return state_->whole("primal_solution_status") == kHighsSolutionStatusFeasible;
  };
  const auto run = [&] {
    const HighsInt ran = Highs_run(highs);
    const HighsInt status =
        ran == kHighsStatusError ? kHighsModelStatusSolveError : Highs_getModelStatus(highs);
    if (status == kHighsModelStatusOptimal && feasible()) return Status::kOptimal;
    if (status == kHighsModelStatusInfeasible) return Status::kInfeasible;
    const bool stopped = status == kHighsModelStatusTimeLimit || status == kHighsModelStatusInterrupt ||
                         status == kHighsModelStatusIterationLimit ||
                         status == kHighsModelStatusSolutionLimit;
    return stopped ? Status::kStopped : Status::kFailed;
  };
  LinearSolution solution;
  solution.status = run();
  if (solution.status == Status::kFailed && options.relax) {
    // An old basis can lead it astray: once more, from nothing.
    Highs_clearSolver(highs);
    solution.status = run();
  }
  solution.seconds = watch.seconds();
  if (solution.status == Status::kFailed || solution.status == Status::kInfeasible) return solution;
  if (feasible()) {
    solution.values.resize(state_->integrality.size());
    Highs_getSolution(highs, solution.values.data(), nullptr, nullptr, nullptr);
    solution.objective = state_->number("objective_function_value");
  }
  // A relaxation's objective bounds it only when it was solved to its end; a stopped branch and bound has its
  // own.
  if (options.relax) {
    if (solution.status == Status::kOptimal) solution.bound = solution.objective;
  } else {
    solution.bound = state_->number("mip_dual_bound");
  }
  return solution;
}

Result<std::string> LinearSolver::text(std::string_view format) {
  std::string folder = (std::filesystem::temp_directory_path() / "checkmate-model-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr)
    return Error{ErrorCode::kIo, "cannot create a temporary folder for the model"};
  const std::string file = fmt::format("{}/model.{}", folder, format);
  const HighsInt written = Highs_writeModel(state_->highs, file.c_str());
  Result<std::string> text =
      written == kHighsStatusError ? Error{ErrorCode::kIo, "HiGHS cannot write the model"} : read_file(file);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return text;
}

}  // namespace checkmate
