#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "checkmate/graph.h"
#include "solve/common/expand.h"

namespace checkmate {

/// The forward part of a training graph as a chain of layers, runs of consecutive ops, and what each takes to
/// run and to reverse. Layers count from 1 to length(). *Boundary* k is the set of values that layers up to k
/// make and later forward ops read: what must be kept to run on from there. Boundary 0 is empty. Any cut into
/// layers makes a chain; the fewer values cross the cuts, the better. Values of ops that run once, and
/// outputs, are there from their run on, whatever one decides: they count as gradients do.
///
///     forward   [ a b ][ c ][ d e f ]      backward  [ F E D ][ C ][ B A ]
///     layer       1      2     3                        3       2     1
class ChainModel {
 public:
  using Layer = std::uint32_t;

  /// Layers end at `ends`, the last at the end of the forward part. O(ops x layers + layers^2) time, O(ops +
  /// layers^2) memory.
  ChainModel(const Graph& graph, const std::vector<OpId>& ends);

  Layer length() const { return length_; }
  /// Of a forward op its layer; of a backward op the one that it helps to reverse: the latest whose values it
  /// reads, never later than that of the op before.
  Layer of(OpId op) const { return layer_[op.index()]; }
  /// When the layer has been reversed.
  Stage reversed(Layer layer) const { return reversed_[layer]; }
  Stage last_forward_use(TensorId tensor) const { return last_forward_use_[tensor.index()]; }
  /// Whether the tensor, made by `op`, crosses the boundary.
  bool crosses(OpId op, TensorId tensor, Layer boundary) const;
  /// Whether the reversal of its layer, or of one before, reads the tensor; it is then kept from the former
  /// on to the latter, last_use(tensor).
  bool read_in_reverse(TensorId tensor) const { return read_in_reverse_[tensor.index()]; }
  Stage last_use(TensorId tensor) const { return last_use_[tensor.index()]; }

  /// Whether reversing the layer reads the tensor.
  bool read_reversing(TensorId tensor, Layer layer) const;
  std::span<const TensorId> crossing(Layer boundary) const { return crossing_[boundary]; }
  /// What of the layer is read_in_reverse().
  std::span<const TensorId> read_of(Layer layer) const { return read_of_[layer]; }
  /// What reversing the layer reads of layers before.
  std::span<const TensorId> read_before(Layer layer) const { return read_before_[layer]; }

  double cost(Layer layer) const { return cost_[layer]; }  ///< of running it again
  /// Bytes of boundary `to` without those of boundary `from`, which is before.
  std::int64_t boundary(Layer from, Layer to) const { return boundary_[from * stride() + to]; }
  /// The most bytes, in addition to boundary first-1, while layers first to last run one after the other.
  std::int64_t sweep(Layer first, Layer last) const { return sweep_[first * stride() + last]; }
  /// The same for one layer of which all is kept that its reversal or a later layer reads; and how much that
  /// is.
  std::int64_t keep_peak(Layer layer) const { return keep_peak_[layer]; }
  std::int64_t kept(Layer layer) const { return kept_[layer]; }
  /// The most bytes in addition to boundary layer-1 while the layer is reversed.
  std::int64_t reverse_peak(Layer layer) const { return reverse_peak_[layer]; }
  /// Bytes of read_before(layer) that layers after `from` make.
  std::int64_t reads_since(Layer from, Layer layer) const { return reads_since_[from * stride() + layer]; }
  /// Gradients and the like that are there when the reversal of the layer begins.
  std::int64_t gradients(Layer layer) const { return gradients_[layer]; }
  /// Whether all that its reversal reads of the layer crosses its boundary.
  bool boundary_is_enough(Layer layer) const { return boundary_is_enough_[layer]; }
  /// Whether there is nothing to reverse: no backward op belongs to the layer, and none reads of it later.
  bool idle(Layer layer) const { return idle_[layer]; }

 private:
  std::size_t stride() const { return length_ + std::size_t{1}; }
  bool always_kept(OpId op, TensorId tensor) const;
  void assign_layers(const std::vector<OpId>& ends);
  void find_uses();
  void measure_boundaries();
  void measure_reads();
  void measure_sweeps();
  void measure_reversals();

  const Graph& graph_;
  Stage forward_;
  Layer length_ = 0;
  std::vector<Layer> layer_;
  std::vector<Stage> reversed_;
  std::vector<Stage> last_forward_use_, last_use_;
  std::vector<bool> read_in_reverse_;
  std::vector<double> cost_;
  std::vector<std::int64_t> boundary_, sweep_, reads_since_;
  std::vector<std::int64_t> keep_peak_, kept_, reverse_peak_, gradients_;
  std::vector<bool> boundary_is_enough_, idle_;
  std::vector<std::vector<TensorId>> crossing_, read_of_, read_before_;
};

}  // namespace checkmate
