#include "solve/anneal.h"

#include <algorithm>
#include <cmath>

#include "solve/annealer.h"

namespace checkmate {
namespace {

constexpr std::string_view kName = "anneal";
constexpr std::uint32_t kLarge = 4000;

/// The recomputations of a plan. What a stage runs twice, or in another order, is put in order.
std::vector<Run> recomputations_of(std::span<const OpId> steps) {
  std::vector<Run> runs;
  Stage stage = 0;
  for (const OpId op : steps) {
    if (op.value == stage) {
      ++stage;
    } else {
      runs.emplace_back(stage, op.value);
    }
  }
  std::sort(runs.begin(), runs.end());
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  return runs;
}

class Restarts {
 public:
  Restarts(const Search& search, Incumbent& incumbent, std::uint64_t seed)
      : search_(search),
        incumbent_(incumbent),
        graph_(search.graph, search.options.budget),
        annealer_(graph_, seed),
        mean_cost_(std::max(graph_.base_cost, 1.0) / graph_.ops) {}

  void run() {
    begin_ = search_.by_moves() ? 0 : search_.seconds();
    take_over();
    for (int round = 0; !over(); ++round) {
      const double start = clock();
      const double left = end() - start;
      const bool fresh = round > 0 && round % 3 == 1 && graph_.ops <= kLarge;
      const double elapsed = start - begin_;
      double length = std::max(round == 0 ? 0.06 : 0.0, elapsed * (fresh ? 0.35 : 0.25));
      length = std::max({length, 0.06, 15000 / rate()});
      if (left - length < 0.3 * length) length = left;
      prepare(round, fresh);
      cool(start, std::min(length, left), hottest(round, fresh, elapsed));
      share();
    }
    share();
    incumbent_.count_moves(annealer_.moves() - counted_);
  }

 private:
  /// Seconds, or with a limit of moves what so many moves would take.
  static constexpr double kSecondsAMove = 2e-6;
  double clock() const {
    return search_.by_moves() ? static_cast<double>(annealer_.moves()) * kSecondsAMove : search_.seconds();
  }
  double end() const {
    return search_.by_moves() ? static_cast<double>(search_.moves()) * kSecondsAMove : search_.end();
  }
  double rate() const {
    const double seconds = clock() - begin_;
    return annealer_.moves() == 0 || seconds <= 0 ? 3e5 : static_cast<double>(annealer_.moves()) / seconds;
  }
  bool over() const { return clock() >= end() || incumbent_.done(); }

  void prepare(int round, bool fresh) {
    const double standard = annealer_.standard_price();
    take_over();
    if (!annealer_.has_best() && round % 4 != 0) {  // nothing fits yet: go on from here
      annealer_.set_price(annealer_.price() * 3);
    } else if (!annealer_.has_best() || fresh) {
      annealer_.load({});
      annealer_.set_price(standard * (round == 0 ? 10 : 1));
      if (round == 0) annealer_.repair_greedily(2000);
    } else {
      const std::vector<Run> best = annealer_.best();
      annealer_.load(best);
      annealer_.set_price(graph_.ops > kLarge ? standard * 30 : std::max(annealer_.price(), standard * 0.1));
    }
  }

  /// The temperature to begin with, in mean costs.
  double hottest(int round, bool fresh, double elapsed) {
    if (!annealer_.has_best()) return round == 0 ? 0.02 : 0.05;
    const double draw = annealer_.random().share();
    if (graph_.ops > kLarge) return 0.0003 * std::pow(0.02 / 0.0003, draw);
    if (fresh) return elapsed < 1 ? 0.3 : 0.2 * std::pow(10, draw);
    return 0.02 * std::pow(100, draw);
  }

  void cool(double start, double length, double hottest) {
    const double coldest = std::min(hottest, graph_.ops > kLarge ? 1e-4 : 1e-3);
    double temperature = hottest * mean_cost_;
    for (std::uint64_t k = 0;; ++k) {
      if (k % 64 == 0) {
        const double now = clock();
        const double progress = (now - start) / length;
        if (progress >= 1 || incumbent_.done()) return;
        temperature = mean_cost_ * hottest * std::pow(coldest / hottest, progress);
        annealer_.follow_feasibility(progress);
        if (now - shared_at_ > 0.02) share();
      }
      annealer_.step(temperature);
    }
  }

  void take_over() {
    if (!incumbent_.has_plan() || incumbent_.version() == known_version_) return;
    known_version_ = incumbent_.version();
    const double cost = static_cast<double>(incumbent_.cost().count());
    if (cost < annealer_.best_cost()) annealer_.load(recomputations_of(incumbent_.steps()));
  }

  void share() {
    shared_at_ = clock();
    incumbent_.count_moves(annealer_.moves() - counted_);
    counted_ = annealer_.moves();
    if (annealer_.best_cost() >= shared_cost_) return;
    shared_cost_ = annealer_.best_cost();
    if (shared_cost_ >= static_cast<double>(incumbent_.cost().count())) return;
    incumbent_.offer(steps_of(annealer_.best()), kName);
    known_version_ = incumbent_.version();
  }

  std::vector<OpId> steps_of(std::vector<Run> runs) const {
    std::sort(runs.begin(), runs.end());
    std::vector<OpId> steps;
    steps.reserve(runs.size() + graph_.ops);
    auto run = runs.begin();
    for (std::uint32_t op = 0; op < graph_.ops; ++op) {
      for (; run != runs.end() && run->stage() == op; ++run) steps.push_back(OpId{run->op()});
      steps.push_back(OpId{op});
    }
    return steps;
  }

  const Search& search_;
  Incumbent& incumbent_;
  SearchGraph graph_;
  Annealer annealer_;
  double mean_cost_;
  double begin_ = 0;
  double shared_at_ = 0;
  double shared_cost_ = std::numeric_limits<double>::infinity();
  std::uint64_t known_version_ = 0;
  std::uint64_t counted_ = 0;
};

}  // namespace

void anneal(const Search& search, Incumbent& incumbent, std::uint64_t seed) {
  Restarts(search, incumbent, seed).run();
}

Outcome solve_anneal(const Search& search) {
  Incumbent incumbent(search);
  anneal(search, incumbent, search.options.seed);
  return incumbent.outcome();
}

}  // namespace checkmate
