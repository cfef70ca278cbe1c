#include "torch/memory.h"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <unordered_map>

namespace checkmate::torch {
namespace {

/// The line `name: 123 kB` of such a file, in bytes; -1 without one.
std::int64_t size_in(const char* path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name + ":")) {
      return 1024 * std::stoll(line.substr(name.size() + 1));
    }
  }
  return -1;
}

/// The number in the file; -1 where there is none, such as "max".
std::int64_t number_in(const char* path) {
  std::ifstream file(path);
  std::int64_t number = -1;
  return file >> number ? number : -1;
}

/// Hears of every allocation, as torch's profiler does.
class Watch final : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void* place, std::int64_t bytes, std::size_t /*allocated*/, std::size_t /*reserved*/,
                         c10::Device /*device*/) override {
    if (bytes > 0) {
      alive_[place] = bytes;
      held_ += bytes;
      most_ = std::max(most_, held_);
    } else if (const auto found = alive_.find(place); found != alive_.end()) {
      held_ -= found->second;
      alive_.erase(found);
    }
  }
  bool memoryProfilingEnabled() const override { return true; }
  std::int64_t most() const { return most_; }

 private:
  std::unordered_map<void*, std::int64_t> alive_;
  std::int64_t held_ = 0;
  std::int64_t most_ = 0;
};

}  // namespace

std::int64_t available_bytes() {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  const auto limit = [&](std::int64_t bytes) { least = std::min(least, std::max<std::int64_t>(0, bytes)); };
  if (const std::int64_t free = size_in("/proc/meminfo", "MemAvailable"); free >= 0) {
    limit(free);
  }
  for (const auto& [resource, counted] : {std::pair(RLIMIT_AS, "VmSize"), std::pair(RLIMIT_DATA, "VmData")}) {
    rlimit allowed{};
    if (getrlimit(resource, &allowed) == 0 && allowed.rlim_cur != RLIM_INFINITY) {
      limit(static_cast<std::int64_t>(allowed.rlim_cur) -
            std::max<std::int64_t>(0, size_in("/proc/self/status", counted)));
    }
  }
  const std::int64_t group = number_in("/sys/fs/cgroup/memory.max");
  const std::int64_t used = number_in("/sys/fs/cgroup/memory.current");
  if (group >= 0 && used >= 0) {
    limit(group - used);
  }
  return least;
}

std::int64_t peak_bytes(const std::function<void()>& run) {
  const auto watch = std::make_shared<Watch>();
  const c10::DebugInfoGuard listening(c10::DebugInfoKind::PROFILER_STATE, watch);
  run();
  return watch->most();
}

}  // namespace checkmate::torch
