#include "solve/anneal/anneal.h"

#include <algorithm>
#include <cmath>

#include "solve/anneal/annealer.h"
#include "solve/common/move_clock.h"
#include "solve/knapsack/knapsack.h"

namespace checkmate {
namespace {

constexpr std::string_view kName = "anneal";
constexpr std::uint32_t kLarge = 4000;

/// The recomputations of a plan. What a stage runs twice, or in another order, is put in order; what runs
/// after the last first run is left out where there are no outputs to make. Nothing for a plan whose first
/// runs do not follow the graph's order.
std::optional<std::vector<Run>> recomputations_of(const SearchGraph& graph, std::span<const OpId> steps) {
  std::vector<Run> runs;
  Stage stage = 0;
  for (const OpId op : steps) {
    if (op.value > stage) return std::nullopt;
    if (op.value == stage) {
      ++stage;
    } else if (stage < graph.ops) {
      runs.emplace_back(stage, op.value);
    }
  }
  std::sort(runs.begin(), runs.end());
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  return runs;
}

std::vector<OpId> steps_of(const SearchGraph& graph, std::vector<Run> runs) {
  std::sort(runs.begin(), runs.end());
  std::vector<OpId> steps;
  steps.reserve(runs.size() + graph.ops);
  auto run = runs.begin();
  for (std::uint32_t op = 0; op < graph.ops; ++op) {
    for (; run != runs.end() && run->stage() == op; ++run) steps.push_back(OpId{run->op()});
    if (op < graph.real_ops) steps.push_back(OpId{op});
  }
  return steps;
}

/// Good plans that differ, cheapest first.
class Elite {
 public:
  struct Member {
    double cost;
    std::vector<Run> runs;
  };
  void add(double cost, const std::vector<Run>& runs) {
    const auto place =
        std::find_if(members_.begin(), members_.end(), [&](const Member& m) { return m.cost >= cost; });
    if (place != members_.end() && place->cost == cost) return;
    members_.insert(place, {cost, runs});
    if (members_.size() > kMost) members_.pop_back();
  }
  bool empty() const { return members_.empty(); }
  std::size_t size() const { return members_.size(); }
  const Member& operator[](std::size_t place) const { return members_[place]; }

  /// The stages of one member, but between two random stages those of another.
  std::vector<Run> cross(Random& random, Stage stages) const {
    const Member& one = members_[random.below(members_.size())];
    const Member& other = members_[random.below(members_.size())];
    const auto low = static_cast<Stage>(random.below(stages));
    const auto high = static_cast<Stage>(low + random.below(stages - low) + 1);
    const auto inside = [&](Run run) { return run.stage() >= low && run.stage() < high; };
    std::vector<Run> child;
    std::copy_if(one.runs.begin(), one.runs.end(), std::back_inserter(child),
                 [&](Run r) { return !inside(r); });
    std::copy_if(other.runs.begin(), other.runs.end(), std::back_inserter(child), inside);
    return child;
  }

 private:
  static constexpr std::size_t kMost = 8;
  std::vector<Member> members_;
};

class Restarts {
 public:
  Restarts(const SearchContext& search, Incumbent& incumbent, std::uint64_t seed)
      : incumbent_(incumbent),
        graph_(search.graph, search.options.budget),
        annealer_(graph_, seed),
        mean_cost_(std::max(graph_.base_cost, 1.0) / graph_.ops),
        clock_(search) {}

  void run() {
    for (int round = 0; !over(); ++round) {
      const double elapsed = seconds();
      const double left = clock_.total() - elapsed;
      const double hottest = prepare(round, elapsed);
      double length = std::max({0.06, 15000 / rate(), elapsed * 0.3});
      if (left - length < 0.3 * length) length = left;
      cool(elapsed, std::min(length, left), hottest);
      share();
      if (annealer_.has_best()) {
        elite_.add(annealer_.best_cost(), annealer_.best());
      } else if (!incumbent_.has_plan()) {
        incumbent_.note_peak_of(annealer_.state().steps());
      }
    }
    share();
  }

 private:
  double seconds() const { return clock_.seconds(annealer_.moves()); }
  double rate() const {
    const double elapsed = seconds();
    return annealer_.moves() == 0 || elapsed <= 0 ? 3e5 : static_cast<double>(annealer_.moves()) / elapsed;
  }
  bool over() const { return seconds() >= clock_.total() || incumbent_.done(); }
  bool large() const { return graph_.ops > kLarge; }

  /// Chooses where to start from; returns the temperature to begin with, in mean costs.
  double prepare(int round, double elapsed) {
    const double standard = annealer_.standard_price();
    Random& random = annealer_.random();
    take_over();
    if (const auto hint = round > 0 ? incumbent_.take_hint() : std::nullopt) {
      if (const auto runs = recomputations_of(graph_, *hint)) {
        annealer_.load(*runs);
        annealer_.set_price(standard);
        return large() ? 0.01 : 0.1;
      }
    }
    if (elite_.empty()) {
      if (round % 4 == 0) {
        annealer_.load({});
        annealer_.set_price(standard * (round == 0 ? 10 : 1));
        if (round == 0) {
          annealer_.repair_greedily([this] { return incumbent_.done(); });
          if (large()) annealer_.remove_unneeded([this] { return incumbent_.done(); });
        }
        return round == 0 ? 0.02 : 0.3;
      }
      annealer_.set_price(annealer_.price() * 3);  // nothing fits yet: go on from here
      return 0.05;
    }
    const int kind = large() ? 0 : round % 4;
    if (kind == 1) {
      annealer_.load({});
      annealer_.set_price(standard);
      return elapsed < 1 ? 0.3 : 0.2 * std::pow(10, random.share());
    }
    if (kind == 3 && elite_.size() > 1) {
      annealer_.load(elite_.cross(random, graph_.ops));
      annealer_.set_price(standard);
      return 0.02 * std::pow(20, random.share());
    }
    annealer_.load(elite_[0].runs);
    annealer_.set_price(large() ? standard * 30 : std::max(annealer_.price(), standard * 0.1));
    return large() ? 0.0003 * std::pow(0.02 / 0.0003, random.share()) : 0.02 * std::pow(100, random.share());
  }

  void cool(double start, double length, double hottest) {
    const double coldest = std::min(hottest, large() ? 1e-4 : 1e-3);
    double temperature = hottest * mean_cost_;
    for (std::uint64_t k = 0;; ++k) {
      if (k % 64 == 0) {
        const double now = seconds();
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
    if (!elite_.empty() && static_cast<double>(incumbent_.cost().count()) >= elite_[0].cost) return;
    const auto runs = recomputations_of(graph_, incumbent_.steps());
    if (!runs) return;
    annealer_.load(*runs);
    if (annealer_.has_best()) elite_.add(annealer_.best_cost(), annealer_.best());
  }

  void share() {
    shared_at_ = seconds();
    incumbent_.count_moves(annealer_.moves() - counted_);
    counted_ = annealer_.moves();
    if (annealer_.best_cost() >= static_cast<double>(incumbent_.cost().count())) return;
    incumbent_.offer(steps_of(graph_, annealer_.best()), kName);
    known_version_ = incumbent_.version();
  }

  Incumbent& incumbent_;
  SearchGraph graph_;
  Annealer annealer_;
  Elite elite_;
  double mean_cost_;
  MoveClock clock_;  // the last to be made: what comes before takes its time
  double shared_at_ = 0;
  std::uint64_t known_version_ = 0;
  std::uint64_t counted_ = 0;
};

}  // namespace

void anneal(const SearchContext& search, Incumbent& incumbent, std::uint64_t seed) {
  Restarts(search, incumbent, seed).run();
}

std::optional<std::vector<OpId>> anneal_into(const SearchContext& search, Bytes budget,
                                             std::span<const OpId> steps, double seconds,
                                             std::uint64_t seed) {
  constexpr double kHottest = 0.05;  // in mean costs
  constexpr double kColdest = 0.001;
  constexpr double kPrice = 10;  // only the memory counts
  const SearchGraph graph(search.graph, budget);
  const std::optional<std::vector<Run>> runs = recomputations_of(graph, steps);
  if (!runs) return std::nullopt;
  Annealer annealer(graph, seed);
  annealer.load(*runs);
  annealer.set_price(kPrice * annealer.standard_price());
  const double start = search.seconds();
  const double mean_cost = std::max(graph.base_cost, 1.0) / graph.ops;
  const auto progress = [&] { return (search.seconds() - start) / seconds; };
  const auto over = [&](double share) { return search.stopped() || progress() >= share; };
  annealer.repair_greedily([&] { return over(0.5); });
  while (!annealer.has_best() && !over(1)) {
    annealer.follow_feasibility(1);  // the price only rises
    const double temperature = mean_cost * kHottest * std::pow(kColdest / kHottest, progress());
    for (int k = 0; k < 64 && !annealer.has_best(); ++k) annealer.step(temperature);
  }
  if (!annealer.has_best()) return std::nullopt;
  return steps_of(graph, annealer.best());
}

Outcome solve_anneal(const SearchContext& search) {
  Incumbent incumbent(search);
  if (!search.options.start.empty()) incumbent.offer(search.options.start, "start");
  // It proves nothing by itself; where a quick bound is reached, there is nothing left to look for.
  raise_knapsack_bound(search, incumbent);
  if (!incumbent.done()) anneal(search, incumbent, search.options.seed);
  return incumbent.outcome();
}

}  // namespace checkmate
