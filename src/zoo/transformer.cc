#include "zoo/transformer.h"

#include <fmt/format.h>

#include <vector>

#include "zoo/autograd_kernels.h"

namespace checkmate::zoo::autograd {

Transformer::Transformer(Tape& tape, const TransformerShape& shape, const TransformerOptions& options)
    : tape_(tape), shape_(shape), options_(options) {
  if (!options.flash && options.mask == ScoreMask::kCausal) {
    mask_ = tape.constant("causal_mask", shape.sequence, shape.sequence, Type::kMask);
  }
  if (!options.flash && options.mask == ScoreMask::kPadding) {
    mask_ = tape.constant("padding_bias", shape.batch, shape.sequence, Type::kElement);
  }
  if (options.rotary) {
    const std::int64_t head = shape.width / shape.heads;
    cosines_ = tape.constant("rotary.cosines", shape.sequence, head, Type::kElement);
    sines_ = tape.constant("rotary.sines", shape.sequence, head, Type::kElement);
  }
}

Value Transformer::dropout(std::string_view name, Value x) {
  return options_.dropout ? autograd::dropout(tape_, name, x) : x;
}

Value Transformer::stack(Block block, Value x) {
  for (std::int64_t layer = 0; layer < shape_.layers; ++layer) {
    const Tape::Scope scope(tape_, fmt::format("h.{}", layer));
    x = (this->*block)(x);
  }
  return x;
}

Value Transformer::pre_norm_block(Value x) {
  Value branch = layer_norm(tape_, "ln_1", x);
  {
    const Tape::Scope scope(tape_, "attn");
    const Value qkv = linear(tape_, "qkv", branch, 3 * shape_.width);
    const std::vector<Value> parts = split(tape_, "split", qkv, 3);
    branch = linear(tape_, "proj", attend(parts[0], parts[1], parts[2]), shape_.width);
    x = add(tape_, "residual", x, dropout("dropout", branch));
  }
  branch = layer_norm(tape_, "ln_2", x);
  const Tape::Scope scope(tape_, "mlp");
  return add(tape_, "residual", x, dropout("dropout", feed_forward(branch)));
}

Value Transformer::post_norm_block(Value x) {
  {
    const Tape::Scope scope(tape_, "attn");
    const Value q = linear(tape_, "query", x, shape_.width);
    const Value k = linear(tape_, "key", x, shape_.width);
    const Value v = linear(tape_, "value", x, shape_.width);
    const Value branch = linear(tape_, "proj", attend(q, k, v), shape_.width);
    x = add(tape_, "residual", dropout("dropout", branch), x);
    x = layer_norm(tape_, "ln", x);
  }
  const Tape::Scope scope(tape_, "mlp");
  x = add(tape_, "residual", dropout("dropout", feed_forward(x)), x);
  return layer_norm(tape_, "ln", x);
}

Value Transformer::llama_block(Value x) {
  constexpr bool kNoBias = false;
  Value branch = rms_norm(tape_, "attn_norm", x);
  {
    const Tape::Scope scope(tape_, "attn");
    Value q = linear(tape_, "query", branch, shape_.width, kNoBias);
    Value k = linear(tape_, "key", branch, shape_.width, kNoBias);
    const Value v = linear(tape_, "value", branch, shape_.width, kNoBias);
    q = rotate("rotate_query", q);
    k = rotate("rotate_key", k);
    const Value context = attend(q, k, v);
    x = add(tape_, "residual", x, linear(tape_, "proj", context, shape_.width, kNoBias));
  }
  branch = rms_norm(tape_, "mlp_norm", x);
  const Tape::Scope scope(tape_, "mlp");
  return add(tape_, "residual", x, swiglu(branch));
}

Value Transformer::attend(Value q, Value k, Value v) {
  if (!options_.flash) return materialised_attention(q, k, v);
  const FlashAttention flash{.sequence = shape_.sequence,
                             .heads = shape_.heads,
                             .causal = options_.mask == ScoreMask::kCausal,
                             .dropout = options_.dropout};
  return flash_attention(tape_, "flash", flash, q, k, v);
}

/// The heads of q, k and v lie interleaved in the rows, and a batched product wants each in one piece: three
/// copies, and a fourth to put the result back.
Value Transformer::materialised_attention(Value q, Value k, Value v) {
  const std::int64_t matrices = shape_.batch * shape_.heads;
  const std::int64_t head = shape_.width / shape_.heads;
  q = apply(tape_, "copy_query", kCopy, q).reshaped(matrices * shape_.sequence, head);
  k = apply(tape_, "copy_key", kCopy, k).reshaped(matrices * head, shape_.sequence);
  Value scores = batched_matmul(tape_, "scores", q, k);
  scores = apply(tape_, "scale", kScale, scores);
  if (options_.mask == ScoreMask::kCausal) scores = masked_fill(tape_, "mask", scores, *mask_);
  if (options_.mask == ScoreMask::kPadding) scores = add(tape_, "mask", scores, *mask_);
  scores = dropout("softmax_dropout", apply(tape_, "softmax", kSoftmax, scores));
  v = apply(tape_, "copy_value", kCopy, v).reshaped(matrices * shape_.sequence, head);
  const Value context = batched_matmul(tape_, "context", scores, v);
  return apply(tape_, "copy_context", kCopy, context.reshaped(shape_.tokens(), shape_.width));
}

/// x * cosines + (-second half, first half) * sines, within each head.
Value Transformer::rotate(std::string_view name, Value x) {
  const Tape::Scope scope(tape_, name);
  const Value straight = multiply(tape_, "cosines", x, cosines_);
  const Value first = slice(tape_, "first_half", x, x.rows, x.columns / 2);
  const Value second = slice(tape_, "second_half", x, x.rows, x.columns / 2);
  const Value turned = concatenate(tape_, "turn", apply(tape_, "negate", kNegate, second), first, x.rows);
  return add(tape_, "add", straight, multiply(tape_, "sines", turned, sines_));
}

Value Transformer::feed_forward(Value x) {
  x = apply(tape_, "gelu", kGelu, linear(tape_, "fc", x, shape_.hidden));
  return linear(tape_, "proj", x, shape_.width);
}

Value Transformer::swiglu(Value x) {
  const Value gate = apply(tape_, "silu", kSilu, linear(tape_, "gate", x, shape_.hidden, false));
  const Value up = linear(tape_, "up", x, shape_.hidden, false);
  return linear(tape_, "down", multiply(tape_, "product", gate, up), shape_.width, false);
}

}  // namespace checkmate::zoo::autograd
