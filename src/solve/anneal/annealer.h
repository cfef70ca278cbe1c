#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "solve/anneal/recomputations.h"

namespace checkmate {

/// Random changes of a set of recomputations, taken or undone by Metropolis' rule on
/// cost + price x overflow. The price of overflow follows the share of states that fit.
class Annealer {
 public:
  Annealer(const SearchGraph& graph, std::uint64_t seed);

  Recomputations& state() { return state_; }
  Random& random() { return random_; }
  double price() const { return price_; }
  void set_price(double price);
  double standard_price() const { return standard_price_; }

  /// Replaces the state, and forgets the best.
  void load(std::span<const Run> recomputations);
  /// One random change at this temperature, taken or not.
  void step(double temperature);
  /// Lets the price follow: `progress` is from 0 to 1 over a run of annealing.
  void follow_feasibility(double progress);
  /// Drops what relieves the overflow at the least cost, until all fits, it gets nowhere or is stopped.
  void repair_greedily(const std::function<bool()>& stopped);
  /// Removes every recomputation that the budget makes unnecessary, the most expensive first.
  void remove_unneeded(const std::function<bool()>& stopped);

  /// The cheapest state within the budget since the last load().
  bool has_best() const { return best_cost_ < std::numeric_limits<double>::infinity(); }
  double best_cost() const { return best_cost_; }
  const std::vector<Run>& best() const { return best_; }
  std::uint64_t moves() const { return moves_; }

 private:
  struct Change {
    Run run;
    bool inserted;
  };
  struct Extension {
    std::uint32_t op;
    double overflow;
  };

  bool random_move();
  bool remove_one();
  bool drop_a_use(bool earlier);
  bool shift_one();
  bool move_stage();
  bool swap_one();
  bool clear_part_of_stage();
  bool clear_op();
  bool rebuild_window();
  bool relieve();

  std::optional<Run> random_recomputation();
  /// A run over the budget, if there is one: the worst, or any.
  std::optional<Run> overflow_at(bool worst);
  bool relieve_at(Run over, std::uint64_t samples);
  bool relieve_well(Run over, double patience);
  struct Drop {
    std::optional<Run> again;  // nothing where no value there can be dropped
    double worth = 0;
  };
  Drop best_drop(Run over, std::uint64_t samples);
  template <class Found>
  void for_random_drops(Run over, std::uint64_t samples, const Found& found);
  std::optional<Run> way_to_drop(std::uint32_t tensor, Run over) const;
  /// The overflow that goes when the tensor is absent there, for each unit of cost.
  double worth_of_dropping(std::uint32_t tensor, Run over, Run again);
  void relieve_worst(std::uint64_t most);
  /// Recomputes in that stage; each input that is not live is kept until then or recomputed too.
  void recompute(Run run, double eagerness);
  bool start_recompute(Run run, std::uint64_t most_ops);
  void remove_with_feeders(Run run);
  bool is_input(std::uint32_t tensor, std::uint32_t op) const;

  void insert(Run run);
  void erase(Run run);
  void undo_to(std::size_t mark);
  double energy() { return state_.cost() + price_ * state_.overflow(); }
  void record();

  const SearchGraph& graph_;
  Recomputations state_;
  Random random_;
  double standard_price_;
  double price_;
  std::vector<Change> changes_;
  std::vector<Extension> extensions_;
  double cost_limit_ = 0;  // a move that costs more cannot be taken
  bool aborted_ = false;
  std::uint64_t ops_left_ = 0;  // that a move may still recompute
  std::uint32_t fitting_ = 0, seen_ = 0;
  std::vector<Run> best_;
  double best_cost_ = std::numeric_limits<double>::infinity();
  std::uint64_t moves_ = 0;
};

}  // namespace checkmate
