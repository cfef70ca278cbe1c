#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "zoo/autograd_tape.h"

/// One function per kernel of PyTorch's ATen: what it makes, what it keeps for its gradient, and the
/// gradient's kernels. Sizes and costs are in docs/zoo_transformers.md. `name` is the op's, below the tape's
/// scope.
namespace checkmate::zoo::autograd {

/// Which of its tensors a kernel with one input keeps for its gradient.
enum class Saves : std::uint8_t { kNothing, kInput, kOutput };

/// A kernel with one input and one output of the same size.
struct Unary {
  std::string_view kind;
  std::int64_t cost;           ///< per element
  std::int64_t gradient_cost;  ///< per element
  Saves saves;
};
inline constexpr Unary kCopy = {"clone", 1, 1, Saves::kNothing};
inline constexpr Unary kScale = {"mul_scalar", 1, 1, Saves::kNothing};
inline constexpr Unary kNegate = {"neg", 1, 1, Saves::kNothing};
inline constexpr Unary kGelu = {"gelu", 8, 12, Saves::kInput};
inline constexpr Unary kSilu = {"silu", 4, 6, Saves::kInput};
inline constexpr Unary kTanh = {"tanh", 4, 2, Saves::kOutput};
inline constexpr Unary kSoftmax = {"softmax", 5, 3, Saves::kOutput};
inline constexpr Unary kLogSoftmax = {"log_softmax", 5, 3, Saves::kOutput};
Value apply(Tape& tape, std::string_view name, const Unary& unary, Value x);

Value add(Tape& tape, std::string_view name, Value a, Value b);
/// Element by element; `b` may be a constant of any size that broadcasts.
Value multiply(Tape& tape, std::string_view name, Value a, Value b);
Value masked_fill(Tape& tape, std::string_view name, Value x, Value mask);
/// Random, so it runs once; the mask takes one byte per element.
Value dropout(Tape& tape, std::string_view name, Value x);

/// x times a weight of its own, x.columns x `columns`, and a bias where wanted.
Value linear(Tape& tape, std::string_view name, Value x, std::int64_t columns, bool bias = true);
/// x times a weight that is a parameter of another kernel as well, x.columns x weight.columns.
Value tied_linear(Tape& tape, std::string_view name, Value x, Value weight, bool bias);
/// Many products at once: `left` is (batch x m) x k, `right` is (batch x k) x n.
Value batched_matmul(Tape& tape, std::string_view name, Value left, Value right);

/// With weight and bias of its own, over each row.
Value layer_norm(Tape& tape, std::string_view name, Value x);
/// With a weight of its own, over each row.
Value rms_norm(Tape& tape, std::string_view name, Value x);

/// One row of the table per index.
Value embedding(Tape& tape, std::string_view name, Value table, Value indices);
/// Non-overlapping patches: one row of `columns` per patch, the gradient for the image left out.
struct Patches {
  std::int64_t count;   ///< in all images
  std::int64_t inputs;  ///< channels x height x width of one
};
Value patch_convolution(Tape& tape, std::string_view name, Value image, const Patches& patches,
                        std::int64_t columns);

/// Views of equal parts of the columns.
std::vector<Value> split(Tape& tape, std::string_view name, Value x, std::int64_t parts);
/// A view of some rows and columns.
Value slice(Tape& tape, std::string_view name, Value x, std::int64_t rows, std::int64_t columns);
/// A view that shows the same rows `times` times.
Value expand(Tape& tape, std::string_view name, Value x, std::int64_t times);
/// Both in one new matrix with this many rows.
Value concatenate(Tape& tape, std::string_view name, Value a, Value b, std::int64_t rows);

/// Attention whose scores never reach the memory. q, k and v are (batch x sequence) x (heads x head size).
struct FlashAttention {
  std::int64_t sequence;
  std::int64_t heads;
  bool causal;   ///< half the scores are left out
  bool dropout;  ///< inside the kernel: then it is random, and keeps the seed
};
Value flash_attention(Tape& tape, std::string_view name, const FlashAttention& attention, Value q, Value k,
                      Value v);

/// Mean cross entropy: log_softmax and nll_loss, in the loss phase.
Value cross_entropy(Tape& tape, std::string_view name, Value logits, Value targets);

}  // namespace checkmate::zoo::autograd
