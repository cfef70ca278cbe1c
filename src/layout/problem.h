#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "checkmate/layout.h"
#include "checkmate/rows.h"

namespace checkmate {

/// Blocks as the searches see them: only those that have bytes and a life, with sizes in units of the
/// alignment and time in sections. A section is a largest set of blocks that live at once, so two blocks
/// conflict exactly when they share a section.
///
///     a  ====          sections   {a, b}   {b, c, d}
///     b   ========                   0         1        the moment when c lives, but not yet d, adds
///     c       =======                                   nothing to the second
///     d        ====
struct Problem {
  using Units = std::int64_t;
  struct Item {
    Units size;
    std::uint32_t first, last;  ///< sections, `last` not included
  };
  std::vector<Item> items;
  std::uint32_t section_count = 0;
  std::vector<Units> load;           ///< per section
  Units peak = 0;                    ///< the largest load
  std::vector<std::uint32_t> block;  ///< per item, which block it is

  std::size_t size() const { return items.size(); }
};

/// The blocks must be valid, the sum of their sizes small enough.
Problem problem_of(std::span<const Block> blocks, Bytes alignment);

/// Those of its items that have at least so many units; their `block` is the item's index.
Problem large_items(const Problem& problem, Problem::Units least);

/// Offsets of a problem's items.
struct Placement {
  static constexpr Problem::Units kNowhere = -1;
  std::vector<Problem::Units> offsets;
  Problem::Units size = 0;
};

/// Which items conflict with an item. Lists are kept where they are not too long together; otherwise they are
/// collected on demand from a segment tree over the sections, in O(log sections + length). O(n log n) memory,
/// and at most 64 MiB of lists.
class Conflicts {
 public:
  explicit Conflicts(const Problem& problem);
  /// Valid until the next call.
  std::span<const std::uint32_t> of(std::uint32_t item) const;
  /// So many conflicts that it is faster to look at all items, in a useful order, than to sort a list.
  bool dense() const { return dense_; }

 private:
  template <class Visit>
  void visit(std::uint32_t item, const Visit& visit) const;

  const Problem& problem_;
  std::uint32_t leaves_ = 1;
  Rows<std::uint32_t> covering_;  // per node of the tree, the items that span it but not its parent
  Rows<std::uint32_t> starting_;  // per section, the items that begin there
  bool dense_ = false, kept_ = false;
  Rows<std::uint32_t> lists_;
  mutable std::vector<std::uint32_t> scratch_;
};

}  // namespace checkmate
