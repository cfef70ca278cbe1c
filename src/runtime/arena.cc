#include "runtime/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <new>

namespace checkmate::runtime {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

/// At least one: the system maps no less.
std::size_t whole_pages(std::size_t bytes) {
  return std::max<std::size_t>((bytes + page_size() - 1) / page_size(), 1) * page_size();
}

/// Begins at a huge page, if it is as large as one.
std::byte* map(std::size_t bytes) {
  const std::size_t slack = bytes < kHugePage ? 0 : kHugePage - page_size();
  void* mapped = mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    throw std::bad_alloc();
  }
  auto* memory = static_cast<std::byte*>(mapped);
  const std::size_t past = reinterpret_cast<std::uintptr_t>(memory) % kHugePage;
  const std::size_t before = slack == 0 || past == 0 ? 0 : kHugePage - past;
  if (before > 0) {
    munmap(memory, before);
  }
  if (slack > before) {
    munmap(memory + before + bytes, slack - before);
  }
  memory += before;
  madvise(memory, bytes, MADV_HUGEPAGE);  // where it is refused, small pages do
  return memory;
}

}  // namespace

Arena::Arena(std::size_t capacity)
    : memory_(map(whole_pages(capacity))), capacity_(capacity), mapped_(whole_pages(capacity)) {}

Arena::~Arena() { munmap(memory_, mapped_); }

bool Arena::contains(const void* place) const {
  const auto* byte = static_cast<const std::byte*>(place);
  return byte >= memory_ && byte < memory_ + mapped_;
}

void* Arena::take(std::size_t offset, std::size_t bytes) {
  if (offset > capacity_ || bytes > capacity_ - offset) {
    return nullptr;
  }
  const auto next = held_.lower_bound(offset);
  if (next != held_.end() && next->first < offset + bytes) {
    return nullptr;
  }
  if (next != held_.begin()) {
    const auto& [before, size] = *std::prev(next);
    if (before + size > offset) {
      return nullptr;
    }
  }
  held_.emplace_hint(next, offset, bytes);
  return memory_ + offset;
}

std::size_t Arena::give_back(const void* place) {
  const auto held = held_.find(static_cast<std::size_t>(static_cast<const std::byte*>(place) - memory_));
  const std::size_t bytes = held->second;
  held_.erase(held);
  return bytes;
}

std::size_t Arena::first_gap(std::size_t bytes) const {
  std::size_t begin = 0;
  for (const auto& [offset, held] : held_) {
    if (offset >= begin + bytes) {
      break;
    }
    begin = aligned(offset + held);
  }
  return begin;
}

bool Arena::grow(std::size_t capacity) {
  const std::size_t wanted = whole_pages(capacity);
  if (wanted > mapped_) {
    if (mremap(memory_, mapped_, wanted, 0) == MAP_FAILED) {
      return false;
    }
    madvise(memory_ + mapped_, wanted - mapped_, MADV_HUGEPAGE);
    mapped_ = wanted;
  }
  capacity_ = capacity;
  return true;
}

void Arena::discard_free_pages() {
  std::size_t begin = 0;
  const auto discard = [&](std::size_t end) {
    if (end > begin) {
      madvise(memory_ + begin, end - begin, MADV_DONTNEED);
    }
  };
  for (const auto& [offset, bytes] : held_) {
    discard(offset / page_size() * page_size());
    begin = whole_pages(offset + bytes);
  }
  discard(mapped_);
}

}  // namespace checkmate::runtime
