#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/random.h"
#include "layout/problem.h"

namespace checkmate {

/// An exhaustive search for a placement within a capacity. It is enough to look at placements in which no
/// item can sink: pushing items down as long as one can never makes a placement larger. In the order of
/// offsets, each item of such a placement lies on its floor, the highest top among its conflicts so far. So a
/// node of the tree is the items that are placed, and a branch places one more on its floor, never below the
/// last one. (M. D. Moffitt calls such placements canonical: MiniMalloc, ASPLOS 2023.)
///
/// A node is given up
///   - if an item does not fit above its floor;
///   - if an item fits between its floor and the last offset: it could sink;
///   - if in some section the lowest floor and all that is still to come exceed the capacity together.
/// Where no item lives across a section, the items before and after it are searched for separately.
///
/// A node takes O(n + sections) steps. The search goes as deep as there are items.
class TreeSearch {
 public:
  using Units = Problem::Units;
  enum class Outcome : std::uint8_t { kFound, kNone, kStopped };
  /// Each run() tries branches in the next of so many orders, from the second round on with noise.
  static constexpr std::uint64_t kOrders = 4;

  /// The problem must outlive this.
  TreeSearch(const Problem& problem, const Conflicts& conflicts, std::uint64_t seed);

  /// Stops after so many nodes, or when `stopped` says so.
  Outcome run(Units capacity, std::uint64_t most_nodes, const std::function<bool()>& stopped);
  /// After kFound.
  Placement placement() const;
  /// After kNone: no placement is smaller than this, which is above the capacity.
  Units needed() const { return needed_; }
  /// Of the last run.
  std::uint64_t nodes() const { return nodes_; }

 private:
  using Items = std::span<const std::uint32_t>;
  /// Where the last item was placed: the next one comes after it in the order of offset and rank.
  struct Last {
    Units offset = 0;
    std::int64_t rank = -1;
  };
  struct Branch {
    Units floor;
    std::uint32_t rank, item;
    auto operator<=>(const Branch&) const = default;
  };
  struct Change {
    std::uint32_t item;
    Units floor;  ///< what it was; kNowhere if the item was placed
  };

  void rank_items();
  Outcome search(Items items, Last last);
  Outcome search_connected(Items items, Last last);
  std::vector<Branch> branches(Items items, Last last);
  bool sections_fit(Items items, Last last);
  bool section_fits(std::uint32_t section, Last last);
  bool fits(Units size);
  bool placed(std::uint32_t item) const { return offset_[item] != Placement::kNowhere; }
  void place(std::uint32_t item, Units offset);
  void undo_to(std::size_t mark);

  const Problem& problem_;
  Rows<std::uint32_t> conflicts_, living_;  ///< per item; per section
  Random random_;
  std::uint64_t runs_ = 0, nodes_ = 0, most_nodes_ = 0;
  const std::function<bool()>* stopped_ = nullptr;
  Units capacity_ = 0, needed_ = 0;
  std::vector<std::uint32_t> rank_;     ///< per item
  std::vector<Units> offset_, floor_;   ///< per item
  std::vector<Units> rest_;             ///< per section, the size of what is still to come
  std::vector<std::uint32_t> witness_;  ///< per section, an item that is low enough, when last looked at
  std::vector<Change> trail_;
};

}  // namespace checkmate
