#include "runtime/allocator.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <unordered_map>

namespace checkmate::runtime {
namespace {

thread_local AllocationSource* source_of_thread = nullptr;

/// The log that is being written, and what of it is still there.
struct Recording {
  std::mutex mutex;
  AllocationLog* log = nullptr;
  std::unordered_map<const void*, std::uint32_t> alive;
  std::uint32_t count = 0;

  static Recording& of_process() {
    static auto* recording = new Recording;
    return *recording;
  }

  void freed(const void* place) {
    const std::scoped_lock lock(mutex);
    const auto found = alive.find(place);
    if (found == alive.end()) {
      return;
    }
    log->events.push_back({found->second, -1});
    alive.erase(found);
  }
};

/// What is allocated outside of steps, while somebody wants to know.
struct Outside {
  std::mutex mutex;
  std::atomic<bool> counting = false;
  std::unordered_map<const void*, std::size_t> alive;
  HeldBytes held = {0, 0};

  static Outside& of_process() {
    static auto* outside = new Outside;
    return *outside;
  }

  void add(const void* place, std::size_t bytes) {
    const std::scoped_lock lock(mutex);
    alive[place] = bytes;
    held.now += static_cast<std::int64_t>(bytes);
    held.most = std::max(held.most, held.now);
  }

  void freed(const void* place) {
    const std::scoped_lock lock(mutex);
    if (const auto found = alive.find(place); found != alive.end()) {
      held.now -= static_cast<std::int64_t>(found->second);
      alive.erase(found);
    }
  }

  void restart(bool count) {
    const std::scoped_lock lock(mutex);
    alive.clear();
    held = {0, 0};
    counting = count;
  }
};

void tell_profiler(void* place, std::int64_t bytes) {
  if (c10::memoryProfilingEnabled()) {
    c10::reportMemoryUsageToProfiler(place, bytes, 0, 0, c10::Device(c10::DeviceType::CPU));
  }
}

/// Throws as torch's allocator does, with a remedy.
Lease lease_or_explain(std::size_t bytes) {
  try {
    return lease(bytes);
  } catch (const std::bad_alloc&) {
    TORCH_CHECK_WITH(OutOfMemoryError, false, "the system has no ", bytes,
                     " bytes for the arena of the step: free memory, or compile with a smaller budget");
  }
}

/// Takes the place of torch's allocator for the rest of the process.
class StepAllocator final : public c10::Allocator {
 public:
  static void install() {
    static std::once_flag once;
    std::call_once(once, [] {
      torch_allocator = c10::GetCPUAllocator();
      torch_deleter = torch_allocator->raw_deleter();
      c10::SetCPUAllocator(new StepAllocator, 255);
    });
  }

  c10::DataPtr allocate(std::size_t bytes) override {
    AllocationSource* source = source_of_thread;
    if (source == nullptr || bytes == 0) {
      return outside_of_steps(bytes);
    }
    if (void* place = source->allocate(bytes)) {
      tell_profiler(place, static_cast<std::int64_t>(bytes));
      return {place, place, &release, c10::Device(c10::DeviceType::CPU)};
    }
    c10::DataPtr served = torch_allocator->allocate(bytes);
    return source->served(served.get(), bytes) ? followed(std::move(served)) : std::move(served);
  }

  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t count) const override {
    default_copy_data(to, from, count);
  }

 private:
  static c10::DataPtr outside_of_steps(std::size_t bytes) {
    c10::DataPtr served = torch_allocator->allocate(bytes);
    if (bytes == 0 || !Outside::of_process().counting) {
      return served;
    }
    Outside::of_process().add(served.get(), bytes);
    return followed(std::move(served));
  }

  /// With a deleter that says so.
  static c10::DataPtr followed(c10::DataPtr served) {
    void* place = served.release_context();
    return {place, place, &release, c10::Device(c10::DeviceType::CPU)};
  }

  static void release(void* place) {
    if (place == nullptr) {
      return;
    }
    if (const std::size_t bytes = give_back(place)) {
      tell_profiler(place, -static_cast<std::int64_t>(bytes));
      return;
    }
    Recording::of_process().freed(place);
    if (Outside::of_process().counting) {
      Outside::of_process().freed(place);
    }
    torch_deleter(place);
  }

  static inline c10::Allocator* torch_allocator = nullptr;
  static inline c10::DeleterFnPtr torch_deleter = nullptr;
};

}  // namespace

void start_counting() {
  StepAllocator::install();
  Outside::of_process().restart(true);
}

void stop_counting() { Outside::of_process().restart(false); }

HeldBytes held_outside() {
  Outside& outside = Outside::of_process();
  const std::scoped_lock lock(outside.mutex);
  const HeldBytes held = outside.held;
  outside.held.most = held.now;
  return held;
}

SourceScope::SourceScope(AllocationSource* source) : before_(source_of_thread) {
  StepAllocator::install();
  source_of_thread = source;
}

SourceScope::~SourceScope() { source_of_thread = before_; }

PlannedSource::PlannedSource(const Addresses& addresses, AllocationCounts& counts)
    : addresses_(addresses), counts_(counts), lease_(lease_or_explain(addresses.size)) {}

void PlannedSource::begin(std::size_t run) { expected_ = addresses_.of_run[run]; }

void* PlannedSource::allocate(std::size_t bytes) {
  if (expected_.empty() || expected_.front().bytes != bytes) {
    expected_ = {};  // the order of the rest of this run is not known
    ++counts_.unexpected;
    return nullptr;
  }
  const std::size_t offset = expected_.front().offset;
  expected_ = expected_.subspan(1);
  if (offset == PlannedAllocation::kOutside) {
    ++counts_.outside;
    return nullptr;
  }
  void* place = lease_.take(offset, bytes);
  ++(place != nullptr ? counts_.placed : counts_.occupied);
  return place;
}

RecordingSource::RecordingSource(AllocationLog& log) : log_(log) {
  Recording& recording = Recording::of_process();
  const std::scoped_lock lock(recording.mutex);
  if (recording.log != nullptr) {
    throw std::logic_error("the allocations of another step are being recorded");
  }
  recording.log = &log;
  recording.count = 0;
}

RecordingSource::~RecordingSource() {
  Recording& recording = Recording::of_process();
  const std::scoped_lock lock(recording.mutex);
  recording.log = nullptr;
  recording.alive.clear();
}

bool RecordingSource::served(const void* place, std::size_t bytes) {
  Recording& recording = Recording::of_process();
  const std::scoped_lock lock(recording.mutex);
  log_.events.push_back({recording.count, static_cast<std::int64_t>(bytes)});
  recording.alive[place] = recording.count++;
  return true;
}

void RecordingSource::begin_run() {
  const std::scoped_lock lock(Recording::of_process().mutex);
  log_.runs.push_back({log_.events.size(), log_.events.size()});
}

std::optional<std::uint32_t> RecordingSource::allocation_at(const void* place) const {
  Recording& recording = Recording::of_process();
  const std::scoped_lock lock(recording.mutex);
  const auto found = recording.alive.find(place);
  return found == recording.alive.end() ? std::nullopt : std::optional(found->second);
}

void RecordingSource::end_run() {
  const std::scoped_lock lock(Recording::of_process().mutex);
  log_.runs.back().end = log_.events.size();
}

}  // namespace checkmate::runtime
