#pragma once

#include <cstddef>
#include <map>
#include <memory>

namespace checkmate::runtime {

/// One mapping of memory in which a step's allocations have planned places. Not safe for threads: arenas.h
/// is. Taking and giving back cost the logarithm of what is held.
class Arena {
 public:
  static constexpr std::size_t kAlignment = 64;

  /// Maps so many bytes, in huge pages where the system gives them. Throws std::bad_alloc.
  explicit Arena(std::size_t capacity);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::size_t capacity() const { return capacity_; }
  bool empty() const { return held_.empty(); }
  bool contains(const void* place) const;

  /// The bytes at the offset, or null where somebody holds one of them.
  void* take(std::size_t offset, std::size_t bytes);
  /// The place of an earlier take() is free again; returns its bytes.
  std::size_t give_back(const void* place);

  /// The lowest offset with so many bytes that nobody holds; it may end behind the arena.
  std::size_t first_gap(std::size_t bytes) const;
  /// More room at the end, if the addresses behind it are free.
  bool grow(std::size_t capacity);
  /// Returns the pages that nobody holds to the system. The mapping stays.
  void discard_free_pages();

 private:
  std::byte* memory_;
  std::size_t capacity_;
  std::size_t mapped_;
  std::map<std::size_t, std::size_t> held_;  // offset: bytes
};

/// Bytes as an arena counts them.
constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + Arena::kAlignment - 1) / Arena::kAlignment * Arena::kAlignment;
}

}  // namespace checkmate::runtime
