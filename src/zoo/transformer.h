#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "zoo/autograd_tape.h"

namespace checkmate::zoo::autograd {

/// What hides some scores of materialised attention: a triangle (by masked_fill), or padding (by adding a
/// bias).
enum class ScoreMask : std::uint8_t { kNone, kCausal, kPadding };

struct TransformerShape {
  std::int64_t layers;
  std::int64_t width;
  std::int64_t heads;   ///< divides width
  std::int64_t hidden;  ///< width inside the feed-forward layers
  std::int64_t sequence;
  std::int64_t batch;

  std::int64_t tokens() const { return batch * sequence; }
};

struct TransformerOptions {
  ScoreMask mask = ScoreMask::kNone;
  bool flash = false;    ///< else the scores are materialised
  bool dropout = false;  ///< after attention's softmax, after each branch and after the embeddings
  bool rotary = false;   ///< queries and keys are turned by their positions; for llama_block()
};

/// The blocks that transformers are made of. Activations are (batch x sequence) x width.
class Transformer {
 public:
  /// Adds the constants that the options ask for. The tape must outlive it.
  Transformer(Tape& tape, const TransformerShape& shape, const TransformerOptions& options);

  /// x itself without dropout.
  Value dropout(std::string_view name, Value x);

  /// All layers, each in the scope `h.NUMBER`.
  using Block = Value (Transformer::*)(Value);
  Value stack(Block block, Value x);

  /// GPT-2, ViT: x + attention(norm(x)), then x + feed_forward(norm(x)).
  Value pre_norm_block(Value x);
  /// BERT: norm(x + attention(x)), then norm(x + feed_forward(x)).
  Value post_norm_block(Value x);
  /// Llama: as pre_norm_block(), with RMSNorm, rotary positions and SwiGLU, without bias and dropout.
  Value llama_block(Value x);

 private:
  Value attend(Value q, Value k, Value v);
  Value materialised_attention(Value q, Value k, Value v);
  Value rotate(std::string_view name, Value x);
  Value feed_forward(Value x);
  Value swiglu(Value x);

  Tape& tape_;
  TransformerShape shape_;
  TransformerOptions options_;
  std::optional<Value> mask_;
  Value cosines_, sines_;
};

}  // namespace checkmate::zoo::autograd
