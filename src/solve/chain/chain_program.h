#pragma once

#include <cstdint>
#include <vector>

#include "solve/chain/chain_model.h"

namespace checkmate {

/// What to keep of a sweep, the run over the layers up to the one that is reversed next.
struct Sweep {
  struct Stored {
    ChainModel::Layer boundary;
    ChainModel::Layer until;  ///< this layer is reversed
  };
  std::vector<Stored> stored;
  bool reads = false;                   ///< what reversing the layer reads of those before is kept until then
  std::vector<ChainModel::Layer> kept;  ///< layers of which all is kept that their reversal reads
};
/// By the layer that the sweep is for; entry 0 is empty.
using Schedule = std::vector<Sweep>;

/// The cheapest schedules of a chain of different layers in a given memory, in the manner of Beaumont,
/// Eyraud-Dubois, Herrmann, Joly and Shilova, "Optimal checkpointing for heterogeneous chains" (2019). Sizes
/// are rounded to slots, memory is a number of them. C(s, t, m, e) is the cost of reversing layers s to t,
/// with boundary s-1 kept and m more slots:
///
///     C(t, t, m, e) = cost(t), or nothing with e
///     C(s, t, m, e) = min of
///       cost(s..r-1) + C(r, t, m - boundary(s-1, r-1), e) + min over e' of C(s, r-1, m, e')    store r-1
///       cost(s) + C(s+1, t, m - kept(s), e)                                                    keep all
///       cost(s..t-1) + C(t, t, m, e) + C(s, t-1, m, without)                                   run on
///
/// where the gradients, the sweep and the reversal fit in m. The last is the first with r = t, but of the
/// boundary only what reversing t reads. Beyond that article, e says that boundary t is still there when
/// layer t is reversed, because the layer after it needed it: then layer t need not run again. That saves one
/// run per segment, wherever a gradient reads its layer's output.
///
/// Time O(layers^3 x slots), memory 6 x layers^2 x slots bytes.
class ChainProgram {
 public:
  ChainProgram(const ChainModel& chain, double bytes_a_slot, std::uint32_t slots);

  /// Fills the tables; false when `stopped` says so.
  template <class Stopped>
  bool run(const Stopped& stopped) {
    for (Layer span = 0; span < chain_.length(); ++span) {
      for (Layer first = 1; first + span <= chain_.length(); ++first) {
        if (stopped()) return false;
        solve(first, first + span);
      }
    }
    return true;
  }

  std::uint32_t slots() const { return slots_; }
  bool fits(std::uint32_t memory) const { return row(kWithout, 1, chain_.length())[memory] < kNever; }
  /// Forward cost of the schedule for this number of slots.
  float cost(std::uint32_t memory) const { return row(kWithout, 1, chain_.length())[memory]; }
  Schedule schedule(std::uint32_t memory) const;

 private:
  using Layer = ChainModel::Layer;
  enum Output { kWithout, kWith, kEither };  // boundary t, while t is reversed; the cheaper of both
  static constexpr float kNever = 1e30F;
  static constexpr std::uint32_t kManySlots = UINT32_MAX / 2;

  enum class Act : std::uint8_t { kStore, kKeepAll, kRunOn };
  struct Choice {
    Act act;
    Layer next;  // where the rest begins
  };

  std::uint32_t slots_for(std::int64_t bytes, std::uint32_t most) const;
  std::size_t place(Layer first, Layer last) const {
    return ((last - std::size_t{1}) * last / 2 + (first - 1)) * (slots_ + std::size_t{1});
  }
  const float* row(Output output, Layer first, Layer last) const {
    return cost_[output].data() + place(first, last);
  }
  float* row(Output output, Layer first, Layer last) { return cost_[output].data() + place(first, last); }
  /// The least memory with which the rest may begin at `choice.next`, and what of it the rest does not have.
  struct Demand {
    std::uint32_t least, taken;
    float cost;
  };
  Demand demand(Output output, Layer first, Layer last, const Choice& choice) const;
  void solve(Layer first, Layer last);
  void solve(Output output, Layer first, Layer last);
  void trace(Output output, Layer first, Layer last, std::uint32_t memory, Schedule& schedule) const;
  Choice choice_of(Output output, Layer first, Layer last, std::uint32_t memory) const;
  float value_of(Output output, Layer first, Layer last, const Choice& choice, std::uint32_t memory) const;

  const ChainModel& chain_;
  double bytes_a_slot_;
  std::uint32_t slots_;
  std::vector<double> cost_before_;        // of layers 1 to k
  std::vector<std::uint32_t> kept_slots_;  // by layer
  std::vector<float> cost_[3];
};

}  // namespace checkmate
