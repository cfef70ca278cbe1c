#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "zoo/autograd_kernels.h"
#include "zoo/recipe.h"
#include "zoo/transformer.h"

namespace checkmate::zoo {
namespace {

using autograd::ScoreMask;
using autograd::Tape;
using autograd::Transformer;
using autograd::TransformerOptions;
using autograd::TransformerShape;
using autograd::Type;
using autograd::Value;

// Together they keep every single size and cost below 2^63: the largest are 13 x batch x sequence^2 x width
// (flash attention with heads of one element) and batch x sequence x vocabulary x width.
constexpr std::int64_t kMostLayers = 4096;
constexpr std::int64_t kMostWidth = 16384;
constexpr std::int64_t kMostHidden = 65536;
constexpr std::int64_t kMostSequence = 65536;
constexpr std::int64_t kMostBatch = 8192;
constexpr std::int64_t kMostVocabulary = 262144;

// More than one, so that what budgets in percent share out is activations rather than the parameters'
// gradients.
constexpr Parameter kBatch = {"batch", "8", "samples per step, 1 to 8192"};
constexpr Parameter kLayers = {"layers", "0", "blocks, up to 4096; 0: depends on the size"};
constexpr Parameter kWidth = {"width", "0", "features per token, up to 16384; 0: depends on the size"};
constexpr Parameter kHeads = {"heads", "0", "heads, a divisor of the width; 0: depends on the size"};
constexpr Parameter kMaterialised = {"attention", "materialised",
                                     "materialised: keeps the scores; flash: recomputes them in its kernel"};
constexpr Parameter kFlash = {"attention", "flash", kMaterialised.description};
constexpr Parameter kDropout = {"dropout", "on", "on or off; it is random, so its ops run only once"};
constexpr Parameter kType = {"dtype", "fp32", "fp32 or bf16: 4 or 2 bytes per element"};
constexpr Parameter kUpdate = {"update", "none",
                               "none, or sgd: one update op per parameter after the backward pass"};

struct Size {
  std::int64_t layers;
  std::int64_t width;
  std::int64_t heads;
};

TransformerShape read_shape(Arguments& arguments, const Size& size) {
  const auto number_or = [&](std::string_view name, std::int64_t most, std::int64_t fallback) {
    const std::int64_t number = arguments.number(name, 0, most);
    return number == 0 ? fallback : number;
  };
  const std::int64_t width = number_or("width", kMostWidth, size.width);
  return {.layers = number_or("layers", kMostLayers, size.layers),
          .width = width,
          .heads = number_or("heads", kMostWidth, size.heads),
          .hidden = 4 * width,
          .sequence = 1,
          .batch = arguments.number("batch", 1, kMostBatch)};
}

std::int64_t read_sequence(Arguments& arguments) { return arguments.number("sequence", 1, kMostSequence); }
std::int64_t read_vocabulary(Arguments& arguments) {
  return arguments.number("vocabulary", 1, kMostVocabulary);
}
bool read_flash(Arguments& arguments) {
  return arguments.choice("attention", {"materialised", "flash"}) == "flash";
}
bool read_dropout(Arguments& arguments) { return arguments.choice("dropout", {"on", "off"}) == "on"; }

/// What is not part of the network itself.
struct StepOptions {
  std::int64_t element_bytes;
  bool update;
};

StepOptions read_step(Arguments& arguments) {
  return {.element_bytes = arguments.choice("dtype", {"fp32", "bf16"}) == "bf16" ? 2 : 4,
          .update = arguments.choice("update", {"none", "sgd"}) == "sgd"};
}

std::optional<Error> problem(const Arguments& arguments, const TransformerShape& shape) {
  if (arguments.error()) return arguments.error();
  if (shape.width % shape.heads == 0) return std::nullopt;
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("heads must divide width, got {} heads and width {}", shape.heads, shape.width)};
}

Result<Graph> training_step(Tape& tape, const StepOptions& step, Value loss) {
  tape.backward(loss);
  if (step.update) tape.clip_and_update();
  return std::move(tape).finish();
}

/// One row a position, the same for every sample.
Value position_embedding(Tape& tape, const TransformerShape& shape, std::int64_t table_rows) {
  const Value table = tape.parameter("wpe.weight", table_rows, shape.width);
  const Value positions = tape.constant("positions", shape.sequence, 1, Type::kIndex);
  return expand(tape, "wpe.expand", embedding(tape, "wpe", table, positions), shape.batch);
}

Size gpt2_size(Arguments& arguments) {
  const std::string_view size = arguments.choice("size", {"small", "medium", "large", "xl"});
  if (size == "medium") return {.layers = 24, .width = 1024, .heads = 16};
  if (size == "large") return {.layers = 36, .width = 1280, .heads = 20};
  if (size == "xl") return {.layers = 48, .width = 1600, .heads = 25};
  return {.layers = 12, .width = 768, .heads = 12};
}

Result<Graph> gpt2(const std::string& name, Arguments& arguments) {
  TransformerShape shape = read_shape(arguments, gpt2_size(arguments));
  shape.sequence = read_sequence(arguments);
  const std::int64_t vocabulary = read_vocabulary(arguments);
  const TransformerOptions options{
      .mask = ScoreMask::kCausal, .flash = read_flash(arguments), .dropout = read_dropout(arguments)};
  const StepOptions step = read_step(arguments);
  if (const std::optional<Error> error = problem(arguments, shape)) return *error;

  Tape tape(name, step.element_bytes);
  const Value tokens = tape.constant("tokens", shape.tokens(), 1, Type::kIndex);
  const Value targets = tape.constant("targets", shape.tokens(), 1, Type::kIndex);
  Transformer model(tape, shape, options);

  const Value words = tape.parameter("wte.weight", vocabulary, shape.width);
  Value x = embedding(tape, "wte", words, tokens);
  x = add(tape, "embed", x, position_embedding(tape, shape, std::max<std::int64_t>(1024, shape.sequence)));
  x = model.dropout("embed_dropout", x);
  x = model.stack(&Transformer::pre_norm_block, x);
  x = layer_norm(tape, "ln_f", x);
  const Value logits = tied_linear(tape, "lm_head", x, words.reshaped(shape.width, vocabulary), false);
  return training_step(tape, step, cross_entropy(tape, "loss", logits, targets));
}

/// BERT's two tasks: the masked words from all tokens, the next sentence from the first.
Value bert_loss(Tape& tape, const TransformerShape& shape, Value words, Value x) {
  const Value targets = tape.constant("targets", shape.tokens(), 1, Type::kIndex);
  const Value next_sentence = tape.constant("next_sentence", shape.batch, 1, Type::kIndex);

  const Value first = slice(tape, "first_token", x, shape.batch, shape.width);
  const Value pooled =
      apply(tape, "pooler.tanh", autograd::kTanh, linear(tape, "pooler", first, shape.width));
  x = apply(tape, "mlm.gelu", autograd::kGelu, linear(tape, "mlm.dense", x, shape.width));
  x = layer_norm(tape, "mlm.ln", x);
  const Value word_logits =
      tied_linear(tape, "mlm.decoder", x, words.reshaped(shape.width, words.rows), true);
  const Value sentence_logits = linear(tape, "nsp", pooled, 2);

  const Value word_loss = cross_entropy(tape, "mlm.loss", word_logits, targets);
  return add(tape, "loss", word_loss, cross_entropy(tape, "nsp.loss", sentence_logits, next_sentence));
}

Result<Graph> bert(const std::string& name, Arguments& arguments) {
  const bool large = arguments.choice("size", {"base", "large"}) == "large";
  TransformerShape shape = read_shape(arguments, large ? Size{24, 1024, 16} : Size{12, 768, 12});
  shape.sequence = read_sequence(arguments);
  const std::int64_t vocabulary = read_vocabulary(arguments);
  const TransformerOptions options{
      .mask = ScoreMask::kPadding, .flash = read_flash(arguments), .dropout = read_dropout(arguments)};
  const StepOptions step = read_step(arguments);
  if (const std::optional<Error> error = problem(arguments, shape)) return *error;

  Tape tape(name, step.element_bytes);
  const Value tokens = tape.constant("tokens", shape.tokens(), 1, Type::kIndex);
  const Value types = tape.constant("token_types", shape.tokens(), 1, Type::kIndex);
  Transformer model(tape, shape, options);

  const Value words = tape.parameter("wte.weight", vocabulary, shape.width);
  Value x = embedding(tape, "wte", words, tokens);
  x = add(tape, "embed.types", x,
          embedding(tape, "tte", tape.parameter("tte.weight", 2, shape.width), types));
  x = add(tape, "embed.positions", x,
          position_embedding(tape, shape, std::max<std::int64_t>(512, shape.sequence)));
  x = model.dropout("embed.dropout", layer_norm(tape, "embed.ln", x));
  x = model.stack(&Transformer::post_norm_block, x);
  return training_step(tape, step, bert_loss(tape, shape, words, x));
}

struct VitSize {
  Size size;
  std::int64_t patch;
};

VitSize vit_size(Arguments& arguments) {
  const std::string_view size = arguments.choice("size", {"base", "large", "huge"});
  if (size == "large") return {{.layers = 24, .width = 1024, .heads = 16}, 16};
  if (size == "huge") return {{.layers = 32, .width = 1280, .heads = 16}, 14};
  return {{.layers = 12, .width = 768, .heads = 12}, 16};
}

Result<Graph> vit(const std::string& name, Arguments& arguments) {
  const VitSize defaults = vit_size(arguments);
  TransformerShape shape = read_shape(arguments, defaults.size);
  const std::int64_t image = arguments.number("image", 1, 4096);
  const std::int64_t given_patch = arguments.number("patch", 0, 4096);
  const std::int64_t patch = given_patch == 0 ? defaults.patch : given_patch;
  const std::int64_t classes = arguments.number("classes", 1, kMostVocabulary);
  const TransformerOptions options{.flash = read_flash(arguments)};
  const StepOptions step = read_step(arguments);
  const std::int64_t patches = (image / patch) * (image / patch);
  shape.sequence = patches + 1;
  if (const std::optional<Error> error = problem(arguments, shape)) return *error;
  if (patches < 1 || shape.sequence > kMostSequence) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("an image must have from 1 to {} patches, got {} (image {}, patch {})",
                             kMostSequence - 1, patches, image, patch)};
  }

  Tape tape(name, step.element_bytes);
  const Value pixels = tape.constant("image", shape.batch, 3 * image * image, Type::kElement);
  const Value targets = tape.constant("targets", shape.batch, 1, Type::kIndex);
  Transformer model(tape, shape, options);

  Value x =
      patch_convolution(tape, "patch_embed", pixels, {shape.batch * patches, 3 * patch * patch}, shape.width);
  const Value first =
      expand(tape, "class_token.expand", tape.parameter("class_token", 1, shape.width), shape.batch);
  x = concatenate(tape, "sequence", first, x, shape.tokens());
  const Value positions = tape.parameter("position_table", shape.sequence, shape.width);
  x = add(tape, "embed", x, expand(tape, "position_table.expand", positions, shape.batch));
  x = model.stack(&Transformer::pre_norm_block, x);
  x = slice(tape, "first_token", layer_norm(tape, "ln_f", x), shape.batch, shape.width);
  return training_step(tape, step, cross_entropy(tape, "loss", linear(tape, "head", x, classes), targets));
}

Result<Graph> llama7b(const std::string& name, Arguments& arguments) {
  const TransformerShape shape{.layers = arguments.number("layers", 1, kMostLayers),
                               .width = arguments.number("width", 1, kMostWidth),
                               .heads = arguments.number("heads", 1, kMostWidth),
                               .hidden = arguments.number("hidden", 1, kMostHidden),
                               .sequence = read_sequence(arguments),
                               .batch = arguments.number("batch", 1, kMostBatch)};
  const std::int64_t vocabulary = read_vocabulary(arguments);
  const TransformerOptions options{
      .mask = ScoreMask::kCausal, .flash = read_flash(arguments), .rotary = true};
  const StepOptions step = read_step(arguments);
  if (const std::optional<Error> error = problem(arguments, shape)) return *error;
  if (shape.width / shape.heads % 2 != 0) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("rotary positions need heads of an even width, got {} heads and width {}",
                             shape.heads, shape.width)};
  }

  Tape tape(name, step.element_bytes);
  const Value tokens = tape.constant("tokens", shape.tokens(), 1, Type::kIndex);
  const Value targets = tape.constant("targets", shape.tokens(), 1, Type::kIndex);
  Transformer model(tape, shape, options);

  Value x = embedding(tape, "wte", tape.parameter("wte.weight", vocabulary, shape.width), tokens);
  x = model.stack(&Transformer::llama_block, x);
  x = rms_norm(tape, "norm_f", x);
  return training_step(tape, step,
                       cross_entropy(tape, "loss", linear(tape, "lm_head", x, vocabulary, false), targets));
}

constexpr std::array kGpt2Parameters = {
    Parameter{"size", "small", "small, medium, large or xl"},
    kLayers,
    kWidth,
    kHeads,
    Parameter{"sequence", "1024", "tokens per sample, 1 to 65536"},
    Parameter{"vocabulary", "50257", "size of the vocabulary, 1 to 262144"},
    kBatch,
    kMaterialised,
    kDropout,
    kType,
    kUpdate,
};

constexpr std::array kBertParameters = {
    Parameter{"size", "base", "base or large"},
    kLayers,
    kWidth,
    kHeads,
    Parameter{"sequence", "512", "tokens per sample, 1 to 65536"},
    Parameter{"vocabulary", "30522", "size of the vocabulary, 1 to 262144"},
    kBatch,
    kMaterialised,
    kDropout,
    kType,
    kUpdate,
};

constexpr std::array kVitParameters = {
    Parameter{"size", "base", "base, large or huge"},
    kLayers,
    kWidth,
    kHeads,
    Parameter{"image", "224", "height and width of an image, 1 to 4096"},
    Parameter{"patch", "0", "height and width of a patch; 0: 16 or 14, depending on the size"},
    Parameter{"classes", "1000", "number of classes, 1 to 262144"},
    kBatch,
    kMaterialised,
    kType,
    kUpdate,
};

constexpr std::array kLlamaParameters = {
    Parameter{"layers", "32", "blocks, 1 to 4096"},
    Parameter{"width", "4096", "features per token, 1 to 16384"},
    Parameter{"heads", "32", "heads, a divisor of the width"},
    Parameter{"hidden", "11008", "width inside the feed-forward layers, 1 to 65536"},
    Parameter{"sequence", "2048", "tokens per sample, 1 to 65536"},
    Parameter{"vocabulary", "32000", "size of the vocabulary, 1 to 262144"},
    kBatch,
    kFlash,
    kType,
    kUpdate,
};

constexpr std::array kRecipes = {
    Recipe{{"gpt2", "GPT-2, op by op, with the tensors that autograd keeps", kGpt2Parameters}, gpt2},
    Recipe{{"bert", "BERT with both pre-training heads, op by op, with the tensors that autograd keeps",
            kBertParameters},
           bert},
    Recipe{{"vit", "Vision Transformer, op by op, with the tensors that autograd keeps", kVitParameters},
           vit},
    Recipe{{"llama7b", "Llama with 7 billion parameters, op by op, with the tensors that autograd keeps",
            kLlamaParameters},
           llama7b},
};

}  // namespace

std::span<const Recipe> transformers() { return kRecipes; }

}  // namespace checkmate::zoo
