#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#pragma GCC visibility push(default)
namespace checkmate {

/// Rows of varying length, end to end in one array. Offset holds the number of all items.
///
///     items   a b c d e f
///     ends    0 2 2 6         rows: a b | nothing | c d e f
template <class T, class Offset = std::uint64_t>
class Rows {
 public:
  /// Items in the order in which they come, sorted by row: `for_each(visit)` calls visit(row, item) for each
  /// of them, and is called twice.
  template <class ForEach>
  static Rows by_row(std::size_t count, const ForEach& for_each) {
    Rows rows;
    rows.ends_.assign(count + 1, 0);
    for_each([&](std::size_t row, const T&) { ++rows.ends_[row + 1]; });
    std::partial_sum(rows.ends_.begin(), rows.ends_.end(), rows.ends_.begin());
    rows.items_.resize(rows.ends_.back());
    std::vector<Offset> next(rows.ends_.begin(), rows.ends_.end() - 1);
    for_each([&](std::size_t row, const T& item) { rows.items_[next[row]++] = item; });
    return rows;
  }

  std::size_t size() const { return ends_.size() - 1; }
  std::span<const T> operator[](std::size_t row) const {
    return std::span<const T>(items_).subspan(ends_[row], ends_[row + 1] - ends_[row]);
  }
  /// All rows, end to end.
  std::span<const T> items() const { return items_; }

  void push(std::span<const T> row) {
    items_.insert(items_.end(), row.begin(), row.end());
    end_row();
  }
  /// Item by item: push_item() any number of times, then end_row().
  void push_item(const T& item) { items_.push_back(item); }
  void end_row() { ends_.push_back(static_cast<Offset>(items_.size())); }

  bool operator==(const Rows&) const = default;

 private:
  std::vector<Offset> ends_ = {0};
  std::vector<T> items_;
};

}  // namespace checkmate
#pragma GCC visibility pop
