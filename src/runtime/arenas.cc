#include "runtime/arenas.h"

#include <pthread.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

namespace checkmate::runtime {
namespace {

struct Entry {
  std::unique_ptr<Arena> arena;
  bool leased = false;
};

/// Lives as long as the process: tensors may be freed while it ends.
struct Arenas {
  std::mutex mutex;
  std::vector<Entry> entries;  // those used last come first

  static Arenas& of_process() {
    static auto* arenas = [] {
      // A child must not find the lock taken by a thread that it does not have.
      pthread_atfork([] { of_process().mutex.lock(); }, [] { of_process().mutex.unlock(); },
                     [] { of_process().mutex.unlock(); });
      return new Arenas;
    }();
    return *arenas;
  }

  std::vector<Entry>::iterator owner(const void* address) {
    return std::find_if(entries.begin(), entries.end(),
                        [&](const Entry& entry) { return entry.arena->contains(address); });
  }

  Lease lease(std::size_t bytes) {
    const auto fits = [&](Entry& entry) {
      return !entry.leased && entry.arena->first_gap(bytes) + bytes <= entry.arena->capacity();
    };
    const auto grows = [&](Entry& entry) {
      return !entry.leased && entry.arena->grow(entry.arena->first_gap(bytes) + bytes);
    };
    auto entry = std::find_if(entries.begin(), entries.end(), fits);
    if (entry == entries.end()) {
      release();
      entry = std::find_if(entries.begin(), entries.end(), grows);
    }
    if (entry == entries.end()) {
      entry = entries.insert(entries.begin(), Entry{std::make_unique<Arena>(bytes)});
    }
    std::rotate(entries.begin(), entry, entry + 1);
    entries.front().leased = true;
    return {*entries.front().arena, entries.front().arena->first_gap(bytes)};
  }

  void release() {
    std::erase_if(entries, [](const Entry& entry) { return !entry.leased && entry.arena->empty(); });
    for (Entry& entry : entries) {
      if (!entry.leased) {
        entry.arena->discard_free_pages();
      }
    }
  }
};

}  // namespace

Lease::~Lease() {
  if (arena_ == nullptr) {
    return;
  }
  Arenas& arenas = Arenas::of_process();
  const std::scoped_lock lock(arenas.mutex);
  std::find_if(arenas.entries.begin(), arenas.entries.end(), [&](const Entry& entry) {
    return entry.arena.get() == arena_;
  })->leased = false;
}

void* Lease::take(std::size_t offset, std::size_t bytes) {
  const std::scoped_lock lock(Arenas::of_process().mutex);
  return arena_->take(base_ + offset, bytes);
}

Lease lease(std::size_t bytes) {
  Arenas& arenas = Arenas::of_process();
  const std::scoped_lock lock(arenas.mutex);
  return arenas.lease(bytes);
}

std::size_t give_back(const void* place) {
  Arenas& arenas = Arenas::of_process();
  const std::scoped_lock lock(arenas.mutex);
  const auto entry = arenas.owner(place);
  return entry == arenas.entries.end() ? 0 : entry->arena->give_back(place);
}

bool is_of_arena(const void* address) {
  Arenas& arenas = Arenas::of_process();
  const std::scoped_lock lock(arenas.mutex);
  return arenas.owner(address) != arenas.entries.end();
}

void release_arenas() {
  Arenas& arenas = Arenas::of_process();
  const std::scoped_lock lock(arenas.mutex);
  arenas.release();
}

std::size_t arena_bytes() {
  Arenas& arenas = Arenas::of_process();
  const std::scoped_lock lock(arenas.mutex);
  std::size_t bytes = 0;
  for (const Entry& entry : arenas.entries) {
    bytes += entry.arena->capacity();
  }
  return bytes;
}

}  // namespace checkmate::runtime
