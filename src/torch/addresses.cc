#include "torch/addresses.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "checkmate/layout.h"
#include "core/try.h"

namespace checkmate::torch {
namespace {

constexpr std::int64_t kSmallest = 1024;  // bytes that are worth a place of their own

struct Allocation {
  std::size_t run;
  std::int64_t bytes;
  std::uint32_t first;
  std::optional<std::uint32_t> last = {};  // nothing: it outlives the step
  bool gradient = false;
};

/// The allocations of a step in their order, with moments that count up.
class Allocations {
 public:
  std::size_t add(std::size_t run, std::int64_t bytes) {
    all_.push_back({run, bytes, ++moment_});
    return all_.size() - 1;
  }
  void free(std::size_t allocation) { all_[allocation].last = ++moment_; }
  void keep_inside(std::size_t allocation) { all_[allocation].gradient = true; }

  Result<StepLayout> laid_out(std::size_t run_count, const LayoutLimits& limits) const {
    StepLayout layout;
    std::vector<checkmate::Block> blocks;
    std::vector<std::optional<std::size_t>> place(all_.size());
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const Allocation& each = all_[i];
      if (each.bytes < kSmallest) {
        continue;
      }
      if (!each.last && !each.gradient) {
        layout.outside += each.bytes;
        continue;
      }
      place[i] = blocks.size();
      blocks.push_back({Bytes{each.bytes}, each.first, each.last.value_or(moment_ + 1)});
    }
    LayoutOptions options{.time_limit = std::chrono::duration<double>(limits.seconds)};
    if (limits.room) {
      options.capacity = Bytes{std::max<std::int64_t>(0, *limits.room - layout.outside)};
    }
    CHECKMATE_TRY(const LayoutResult found, lay_out(blocks, options));
    layout.addresses.size = static_cast<std::size_t>(found.layout.size.count());
    std::size_t next = 0;
    for (std::size_t run = 0; run < run_count; ++run) {
      for (; next < all_.size() && all_[next].run == run; ++next) {
        const std::size_t offset = place[next]
                                       ? static_cast<std::size_t>(found.layout.offsets[*place[next]].count())
                                       : runtime::PlannedAllocation::kOutside;
        layout.addresses.of_run.push_item({static_cast<std::size_t>(all_[next].bytes), offset});
      }
      layout.addresses.of_run.end_row();
    }
    return layout;
  }

 private:
  std::vector<Allocation> all_;
  std::uint32_t moment_ = 0;
};

/// Those of gradients alone: nothing else that is returned lies in them.
std::set<StorageId> gradient_blocks(const Program& program) {
  std::set<StorageId> blocks;
  for (const Update& gradient : program.captured->gradients) {
    blocks.insert(program.block(gradient.value));
  }
  for (const ValueId loss : program.captured->losses) {
    blocks.erase(program.block(loss));
  }
  for (const Update& update : program.captured->updates) {
    blocks.erase(program.block(update.value));
  }
  return blocks;
}

/// Of the block that it stays with.
std::int64_t owner(const Unit& unit, StorageId block) {
  const auto made = std::find(unit.makes.begin(), unit.makes.end(), block);
  if (made != unit.makes.end()) {
    return made - unit.makes.begin();
  }
  const auto read = std::find(unit.reads.begin(), unit.reads.end(), block);
  return read == unit.reads.end() ? -1 : -2 - (read - unit.reads.begin());
}

}  // namespace

Result<StepLayout> planned_layout(const Program& program, std::span<const UnitAllocations> units,
                                  const Plan& plan, const LayoutLimits& limits) {
  Allocations allocations;
  std::map<StorageId, std::vector<std::size_t>> of_block;
  for (std::size_t run = 0; run < plan.steps.size(); ++run) {
    const Unit& unit = program.units[plan.steps[run].index()];
    const UnitAllocations& made = units[plan.steps[run].index()];
    std::vector<std::size_t> own;
    for (const std::int64_t event : made.events) {
      if (event < 0) {
        allocations.free(own[static_cast<std::size_t>(-1 - event)]);
        continue;
      }
      const std::int64_t owned_by = made.owners[own.size()];
      own.push_back(allocations.add(run, event));
      if (owned_by != -1) {
        const StorageId block = owned_by >= 0 ? unit.makes[static_cast<std::size_t>(owned_by)]
                                              : unit.reads[static_cast<std::size_t>(-2 - owned_by)];
        of_block[block].push_back(own.back());
      }
    }
    for (const TensorId freed : plan.frees.after(run)) {
      if (const auto found = of_block.find(freed.value); found != of_block.end()) {
        for (const std::size_t each : found->second) {
          allocations.free(each);
        }
        of_block.erase(found);
      }
    }
  }
  for (const StorageId gradient : gradient_blocks(program)) {
    for (const std::size_t each : of_block[gradient]) {
      allocations.keep_inside(each);
    }
  }
  return allocations.laid_out(plan.steps.size() + 1, limits);
}

Result<StepLayout> recorded_layout(const Schedule& schedule, const runtime::AllocationLog& log,
                                   const LayoutLimits& limits) {
  Allocations allocations;
  for (std::size_t run = 0; run < log.runs.size(); ++run) {
    const std::size_t until = run + 1 < log.runs.size() ? log.runs[run + 1].begin : log.events.size();
    for (std::size_t i = log.runs[run].begin; i < until; ++i) {
      if (log.events[i].bytes > 0) {
        allocations.add(run, log.events[i].bytes);
      } else {
        allocations.free(log.events[i].allocation);
      }
    }
  }
  std::map<StorageId, std::uint32_t> latest;
  for (const auto& value : log.values) {
    latest[schedule.program->block(value.slot)] = value.allocation;
  }
  for (const StorageId gradient : gradient_blocks(*schedule.program)) {
    if (const auto found = latest.find(gradient); found != latest.end()) {
      allocations.keep_inside(found->second);
    }
  }
  return allocations.laid_out(log.runs.size(), limits);
}

std::vector<UnitAllocations> unit_allocations(const Schedule& schedule, const runtime::AllocationLog& log) {
  const Program& program = *schedule.program;
  std::unordered_map<std::uint32_t, StorageId> stays;
  for (const auto& value : log.values) {
    stays.emplace(value.allocation, program.block(value.slot));
  }
  std::vector<UnitAllocations> units(program.units.size());
  for (std::size_t run = 0; run < schedule.units.size(); ++run) {
    const Unit& unit = program.units[schedule.units[run]];
    UnitAllocations found;
    std::unordered_map<std::uint32_t, std::int64_t> own;
    for (std::size_t i = log.runs[run].begin; i < log.runs[run].end; ++i) {
      const auto& [allocation, bytes] = log.events[i];
      if (bytes > 0) {
        own.emplace(allocation, static_cast<std::int64_t>(own.size()));
        found.events.push_back(bytes);
        const auto stay = stays.find(allocation);
        found.owners.push_back(stay == stays.end() ? -1 : owner(unit, stay->second));
      } else if (own.contains(allocation)) {
        found.events.push_back(-1 - own[allocation]);
      }
    }
    units[schedule.units[run]] = std::move(found);
  }
  return units;
}

}  // namespace checkmate::torch
