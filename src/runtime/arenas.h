#pragma once

#include <cstddef>
#include <utility>

#include "runtime/arena.h"

namespace checkmate::runtime {

/// The right to place a step's allocations in an arena, from `base` on, until it is given back.
class Lease {
 public:
  Lease(Arena& arena, std::size_t base) : arena_(&arena), base_(base) {}
  ~Lease();
  Lease(Lease&& other) noexcept : arena_(std::exchange(other.arena_, nullptr)), base_(other.base_) {}
  Lease& operator=(Lease&&) = delete;

  /// Null where somebody still holds a byte of it.
  void* take(std::size_t offset, std::size_t bytes);

 private:
  Arena* arena_;
  std::size_t base_;
};

/// The arenas of the process. Steps that do not run at once share one, as large as the largest of them needs;
/// what outlives a step is held there until it is given back, on whatever thread. Safe for threads and for
/// fork().
///
/// Room for so many bytes. Throws std::bad_alloc where the system has none.
Lease lease(std::size_t bytes);

/// Gives back what a lease handed out, and returns its bytes; 0 if the address is of no arena.
std::size_t give_back(const void* place);

bool is_of_arena(const void* address);

/// Returns to the system what nobody holds.
void release_arenas();

/// Bytes of all arenas.
std::size_t arena_bytes();

}  // namespace checkmate::runtime
