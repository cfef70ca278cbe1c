#pragma once

#include <cstddef>
#include <memory>

#include "checkmate/runtime.h"
#include "runtime/arenas.h"

namespace checkmate::runtime {

/// Where the CPU allocations of a thread come from, in the place of torch's own allocator.
class AllocationSource {
 public:
  virtual ~AllocationSource() = default;
  /// Null: torch's own allocator shall serve it.
  virtual void* allocate(std::size_t bytes) = 0;
  /// What torch's own allocator served. True: RecordingSource shall hear when it is freed.
  virtual bool served(const void* /*place*/, std::size_t /*bytes*/) { return false; }
};

/// While it lives, allocations of this thread come from the source; null: from torch's own allocator. Our
/// allocator takes the place of torch's when the first of them is made, and stays: for other threads it
/// passes everything on.
class SourceScope {
 public:
  explicit SourceScope(AllocationSource* source);
  ~SourceScope();
  SourceScope(const SourceScope&) = delete;
  SourceScope& operator=(const SourceScope&) = delete;

 private:
  AllocationSource* before_;
};

/// Hands out planned addresses, run by run, and checks each of them.
class PlannedSource final : public AllocationSource {
 public:
  PlannedSource(const Addresses& addresses, AllocationCounts& counts);
  void begin(std::size_t run);
  void* allocate(std::size_t bytes) override;

 private:
  const Addresses& addresses_;
  AllocationCounts& counts_;
  Lease lease_;
  std::span<const PlannedAllocation> expected_;
};

/// Writes a log of what torch's own allocator serves. One at a time in the process.
class RecordingSource final : public AllocationSource {
 public:
  explicit RecordingSource(AllocationLog& log);
  ~RecordingSource() override;
  void* allocate(std::size_t /*bytes*/) override { return nullptr; }
  bool served(const void* place, std::size_t bytes) override;

  void begin_run();
  /// The allocation that the place belongs to, if it is in the log and still there.
  std::optional<std::uint32_t> allocation_at(const void* place) const;
  void end_run();

 private:
  AllocationLog& log_;
};

}  // namespace checkmate::runtime
