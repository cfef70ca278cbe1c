#include "solve/anneal/recomputations.h"

#include <algorithm>
#include <cmath>

namespace checkmate {

Recomputations::Recomputations(const SearchGraph& graph)
    : graph_(graph), profile_(graph.budget, std::floor(graph.budget / 1000)) {
  clear();
}

void Recomputations::clear() {
  const std::uint32_t ops = graph_.ops;
  blocks_.assign((ops + kStagesPerBlock - 1) / kStagesPerBlock, {});
  first_slot_.resize(ops);
  runs_.resize(ops);
  all_.clear();
  cost_ = graph_.base_cost;

  std::vector<double> growth(ops + 1);
  for (std::uint32_t op = 0; op < ops; ++op) {
    runs_[op].assign(1, op);
    first_slot_[op] = op % kStagesPerBlock;
    blocks_[op / kStagesPerBlock].ops.push_back(op);
    blocks_[op / kStagesPerBlock].places_in_all.push_back(0);
    for (const std::uint32_t tensor : graph_.outputs[op]) {
      const auto users = graph_.users[tensor];
      const std::uint32_t last = users.empty() ? op : users.back();
      growth[op] += graph_.bytes[tensor];
      growth[last + 1] -= graph_.bytes[tensor];
    }
  }
  std::vector<std::vector<double>> memory(blocks_.size());
  double live = 0;
  for (std::uint32_t op = 0; op < ops; ++op) {
    live += growth[op];
    memory[op / kStagesPerBlock].push_back(live + graph_.workspace[op]);
  }
  profile_.reset(std::move(memory));
}

bool Recomputations::contains(Run run) const {
  const std::vector<Stage>& stages = runs_[run.op()];
  return std::find(stages.begin(), stages.end(), run.stage()) != stages.end();
}

void Recomputations::insert(Run run) {
  const Place here = place(run);
  const std::uint32_t op = run.op();
  open_slot(run, here);
  const Place next{here.block, here.slot + 1};
  for (const std::uint32_t tensor : graph_.inputs[op]) {
    if (!used_after(tensor, run)) profile_.add(after(touch_before(tensor, run)), next, graph_.bytes[tensor]);
  }
  for (const std::uint32_t tensor : graph_.outputs[op]) {
    if (used_after(tensor, run)) {
      profile_.add(after(touch_before(tensor, run)), here, -graph_.bytes[tensor]);
    } else {
      profile_.add(here, next, graph_.bytes[tensor]);
    }
  }
  std::vector<Stage>& stages = runs_[op];
  stages.insert(std::lower_bound(stages.begin(), stages.end(), run.stage()), run.stage());
  cost_ += graph_.cost[op];
}

void Recomputations::erase(Run run) {
  const Place here = place(run);
  const std::uint32_t op = run.op();
  std::vector<Stage>& stages = runs_[op];
  stages.erase(std::lower_bound(stages.begin(), stages.end(), run.stage()));
  for (const std::uint32_t tensor : graph_.outputs[op]) {
    if (used_after(tensor, run)) profile_.add(after(touch_before(tensor, run)), here, graph_.bytes[tensor]);
  }
  for (const std::uint32_t tensor : graph_.inputs[op]) {
    if (!used_after(tensor, run)) profile_.add(after(touch_before(tensor, run)), here, -graph_.bytes[tensor]);
  }
  close_slot(run, here);
  cost_ -= graph_.cost[op];
}

void Recomputations::open_slot(Run run, Place place) {
  Block& block = blocks_[place.block];
  const auto slot = static_cast<std::ptrdiff_t>(place.slot);
  // What lives from the step before to the step after.
  const double across = profile_.at(place) - graph_.made[block.ops[place.slot]];
  profile_.open(place, across + graph_.workspace[run.op()]);
  block.ops.insert(block.ops.begin() + slot, run.op());
  block.places_in_all.insert(block.places_in_all.begin() + slot, static_cast<std::uint32_t>(all_.size()));
  all_.push_back(run);
  const Stage end = std::min(graph_.ops, (place.block + 1) * kStagesPerBlock);
  for (Stage later = run.stage() + 1; later < end; ++later) ++first_slot_[later];
}

void Recomputations::close_slot(Run run, Place place) {
  Block& block = blocks_[place.block];
  const auto slot = static_cast<std::ptrdiff_t>(place.slot);
  const std::uint32_t listed = block.places_in_all[place.slot];
  const Run moved = all_.back();
  const Place moved_place = this->place(moved);
  blocks_[moved_place.block].places_in_all[moved_place.slot] = listed;
  all_[listed] = moved;
  all_.pop_back();
  block.ops.erase(block.ops.begin() + slot);
  block.places_in_all.erase(block.places_in_all.begin() + slot);
  profile_.close(place);
  const Stage end = std::min(graph_.ops, (place.block + 1) * kStagesPerBlock);
  for (Stage later = run.stage() + 1; later < end; ++later) --first_slot_[later];
}

std::span<const std::uint32_t> Recomputations::in_stage(Stage stage) const {
  const Block& block = blocks_[stage / kStagesPerBlock];
  const std::size_t from = first_slot_[stage];
  const bool last = stage + 1 == graph_.ops || (stage + 1) % kStagesPerBlock == 0;
  const std::size_t to = last ? block.ops.size() : first_slot_[stage + 1];
  return std::span(block.ops).subspan(from, to - from - 1);
}

std::vector<OpId> Recomputations::steps() const {
  std::vector<OpId> steps;
  steps.reserve(size());
  for (const Block& block : blocks_) {
    for (const std::uint32_t op : block.ops) {
      if (op < graph_.real_ops) steps.push_back(OpId{op});
    }
  }
  return steps;
}

Run Recomputations::run_before(std::uint32_t op, Run run) const {
  const std::vector<Stage>& stages = runs_[op];
  std::size_t k = stages.size() - 1;
  while (Run{stages[k], op} >= run) --k;
  return {stages[k], op};
}

Run Recomputations::run_after(std::uint32_t op, Run run) const {
  const std::vector<Stage>& stages = runs_[op];
  Run next = Run::end();
  for (std::size_t k = stages.size(); k-- > 0 && Run{stages[k], op} > run;) next = {stages[k], op};
  return next;
}

Run Recomputations::use_before(std::uint32_t tensor, Run run, Run since) const {
  Run latest = since;
  for (const std::uint32_t user : graph_.users[tensor]) {
    if (user > run.stage()) break;
    const std::vector<Stage>& stages = runs_[user];
    for (std::size_t k = stages.size(); k-- > 0;) {
      const Run use{stages[k], user};
      if (use >= run) continue;
      latest = std::max(latest, use);
      break;
    }
  }
  return latest;
}

std::optional<Run> Recomputations::use_after(std::uint32_t tensor, Run run) const {
  const Run next = run_after(graph_.producer[tensor], run);
  Run earliest = next;
  for (const std::uint32_t user : graph_.users[tensor]) {
    if (user > earliest.stage()) break;
    const std::vector<Stage>& stages = runs_[user];
    for (std::size_t k = stages.size(); k-- > 0;) {
      const Run use{stages[k], user};
      if (use <= run) break;
      earliest = std::min(earliest, use);
    }
  }
  if (earliest < next) return earliest;
  return std::nullopt;
}

bool Recomputations::used_after(std::uint32_t tensor, Run run) const {
  const Run next = run_after(graph_.producer[tensor], run);
  for (const std::uint32_t user : graph_.users[tensor]) {
    if (user > next.stage()) break;
    const std::vector<Stage>& stages = runs_[user];
    for (std::size_t k = stages.size(); k-- > 0;) {
      const Run use{stages[k], user};
      if (use <= run) break;
      if (use < next) return true;
    }
  }
  return false;
}

bool Recomputations::useless(Run run) const {
  const auto outputs = graph_.outputs[run.op()];
  return std::none_of(outputs.begin(), outputs.end(),
                      [&](std::uint32_t tensor) { return used_after(tensor, run); });
}

double Recomputations::cost_of_keeping(std::uint32_t tensor, Run from, Run to) {
  return profile_.overflow_change(after(from), place(to), graph_.bytes[tensor]);
}

double Recomputations::gain_of_dropping(std::uint32_t tensor, Run from, Run to) {
  return -profile_.overflow_change(after(from), place(to), -graph_.bytes[tensor]);
}

std::optional<Run> Recomputations::worst() {
  const std::optional<Place> place = profile_.worst();
  return place ? std::optional(run_at(*place)) : std::nullopt;
}

std::optional<Run> Recomputations::any_over(Random& random) {
  const std::optional<Place> place = profile_.any_over(random);
  return place ? std::optional(run_at(*place)) : std::nullopt;
}

/// Of a run that is not there: where it would be.
Recomputations::Place Recomputations::place(Run run) const {
  const Stage stage = run.stage();
  const auto ops = in_stage(stage);
  const std::size_t rank =
      run.first()
          ? ops.size()
          : static_cast<std::size_t>(std::lower_bound(ops.begin(), ops.end(), run.op()) - ops.begin());
  return {stage / kStagesPerBlock, first_slot_[stage] + static_cast<std::uint32_t>(rank)};
}

Recomputations::Place Recomputations::after(Run run) const {
  Place next = place(run);
  ++next.slot;
  return next;
}

Run Recomputations::run_at(Place place) const {
  const Stage first = place.block * kStagesPerBlock;
  const Stage end = std::min(graph_.ops, first + kStagesPerBlock);
  const auto begin = first_slot_.begin();
  const auto stage = std::upper_bound(begin + first, begin + end, place.slot) - begin - 1;
  return {static_cast<Stage>(stage), blocks_[place.block].ops[place.slot]};
}

}  // namespace checkmate
