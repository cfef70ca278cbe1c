#include "zoo/autograd_kernels.h"

#include <fmt/format.h>

#include <optional>
#include <string>

namespace checkmate::zoo::autograd {
namespace {

Output like(Value x) { return {"", x.rows, x.columns}; }

struct Product {
  std::string_view kind, gradient_kind;
  std::string_view left, right;  ///< suffixes of the gradients' kernels
};
constexpr Product kBatchedMatmul = {"bmm", "bmm", "grad_left", "grad_right"};
constexpr Product kLinear = {"mm", "mm", "grad_input", "grad_weight"};
constexpr Product kLinearWithBias = {"addmm", "mm", "grad_input", "grad_weight"};

/// left x right (+ bias). The gradient of a factor reads the gradient of the product and the other factor.
Value multiply_matrices(Tape& tape, const Product& product, Value left, Value right,
                        std::optional<Value> bias) {
  const std::int64_t cost = left.elements() * right.columns;
  Kernel kernel{.kind = product.kind, .cost = cost, .reads = {left, right}};
  if (bias) kernel.reads.push_back(*bias);
  const Value y = tape.run(kernel, {"", left.rows, right.columns});
  tape.on_backward([=](Tape& t) {
    const Value dy = t.gradient(y);
    const std::string_view kind = product.gradient_kind;
    t.run_backward({.kind = kind, .suffix = product.left, .cost = cost, .reads = {dy, right}}, left);
    t.run_backward({.kind = kind, .suffix = product.right, .cost = cost, .reads = {dy, left}}, right);
    if (!bias) return;
    t.run_backward({.kind = "sum", .suffix = "grad_bias", .cost = dy.elements(), .reads = {dy}}, *bias);
  });
  return y;
}

Value affine(Tape& tape, Value x, Value weight, bool bias) {
  if (!bias) return multiply_matrices(tape, kLinear, x, weight, std::nullopt);
  return multiply_matrices(tape, kLinearWithBias, x, weight, tape.parameter("bias", 1, weight.columns));
}

}  // namespace

Value apply(Tape& tape, std::string_view name, const Unary& unary, Value x) {
  const Tape::Scope scope(tape, name);
  const Value y = tape.run({.kind = unary.kind, .cost = unary.cost * x.elements(), .reads = {x}}, like(x));
  tape.on_backward([=](Tape& t) {
    const bool linear = unary.saves == Saves::kNothing;  // then the gradient is the same kernel
    const std::string kind = std::string(unary.kind) + (linear ? "" : "_backward");
    Kernel kernel{.kind = kind,
                  .suffix = "backward",
                  .cost = unary.gradient_cost * x.elements(),
                  .reads = {t.gradient(y)}};
    if (!linear) kernel.reads.push_back(unary.saves == Saves::kInput ? x : y);
    t.run_backward(kernel, x);
  });
  return y;
}

Value add(Tape& tape, std::string_view name, Value a, Value b) {
  const Tape::Scope scope(tape, name);
  const Value y = tape.run({.kind = "add", .cost = a.elements(), .reads = {a, b}}, like(a));
  tape.on_backward([=](Tape& t) {
    t.pass_gradient(a, t.gradient(y));
    t.pass_gradient(b, t.gradient(y));
  });
  return y;
}

Value multiply(Tape& tape, std::string_view name, Value a, Value b) {
  const Tape::Scope scope(tape, name);
  const std::int64_t cost = a.elements();
  const Value y = tape.run({.kind = "mul", .cost = cost, .reads = {a, b}}, like(a));
  tape.on_backward([=](Tape& t) {
    const Value dy = t.gradient(y);
    t.run_backward({.kind = "mul", .suffix = "grad_left", .cost = cost, .reads = {dy, b}}, a);
    if (!b.differentiable()) return;
    t.run_backward({.kind = "mul", .suffix = "grad_right", .cost = cost, .reads = {dy, a}}, b);
  });
  return y;
}

Value masked_fill(Tape& tape, std::string_view name, Value x, Value mask) {
  const Tape::Scope scope(tape, name);
  const Value y = tape.run({.kind = "masked_fill", .cost = x.elements(), .reads = {x, mask}}, like(x));
  tape.on_backward([=](Tape& t) {
    t.run_backward(
        {.kind = "masked_fill", .suffix = "backward", .cost = x.elements(), .reads = {t.gradient(y), mask}},
        x);
  });
  return y;
}

Value dropout(Tape& tape, std::string_view name, Value x) {
  const Tape::Scope scope(tape, name);
  const std::vector<Value> made =
      tape.run_many({.kind = "dropout", .cost = 2 * x.elements(), .reads = {x}, .recomputable = false},
                    {like(x), {"mask", x.rows, x.columns, Type::kMask}});
  tape.on_backward([=, y = made[0], mask = made[1]](Tape& t) {
    t.run_backward({.kind = "dropout_backward",
                    .suffix = "backward",
                    .cost = x.elements(),
                    .reads = {t.gradient(y), mask}},
                   x);
  });
  return made[0];
}

Value linear(Tape& tape, std::string_view name, Value x, std::int64_t columns, bool bias) {
  const Tape::Scope scope(tape, name);
  return affine(tape, x, tape.parameter("weight", x.columns, columns), bias);
}

Value tied_linear(Tape& tape, std::string_view name, Value x, Value weight, bool bias) {
  const Tape::Scope scope(tape, name);
  return affine(tape, x, weight, bias);
}

Value batched_matmul(Tape& tape, std::string_view name, Value left, Value right) {
  const Tape::Scope scope(tape, name);
  return multiply_matrices(tape, kBatchedMatmul, left, right, std::nullopt);
}

Value layer_norm(Tape& tape, std::string_view name, Value x) {
  const Tape::Scope scope(tape, name);
  const Value weight = tape.parameter("weight", 1, x.columns);
  const Value bias = tape.parameter("bias", 1, x.columns);
  const std::vector<Value> made =
      tape.run_many({.kind = "layer_norm", .cost = 8 * x.elements(), .reads = {x, weight, bias}},
                    {like(x), {"mean", x.rows, 1, Type::kStatistic}, {"rstd", x.rows, 1, Type::kStatistic}});
  tape.on_backward([=, y = made[0], mean = made[1], rstd = made[2]](Tape& t) {
    t.run_backward({.kind = "layer_norm_backward",
                    .suffix = "backward",
                    .cost = 14 * x.elements(),
                    .reads = {t.gradient(y), x, mean, rstd, weight}},
                   {{"input", x}, {"weight", weight}, {"bias", bias}});
  });
  return made[0];
}

Value rms_norm(Tape& tape, std::string_view name, Value x) {
  const Tape::Scope scope(tape, name);
  const Value weight = tape.parameter("weight", 1, x.columns);
  const std::vector<Value> made =
      tape.run_many({.kind = "rms_norm", .cost = 5 * x.elements(), .reads = {x, weight}},
                    {like(x), {"rstd", x.rows, 1, Type::kStatistic}});
  tape.on_backward([=, y = made[0], rstd = made[1]](Tape& t) {
    t.run_backward({.kind = "rms_norm_backward",
                    .suffix = "backward",
                    .cost = 10 * x.elements(),
                    .reads = {t.gradient(y), x, rstd, weight}},
                   {{"input", x}, {"weight", weight}});
  });
  return made[0];
}

Value embedding(Tape& tape, std::string_view name, Value table, Value indices) {
  const Tape::Scope scope(tape, name);
  const std::int64_t moved = indices.elements() * table.columns;
  const Value y = tape.run({.kind = "embedding", .cost = moved, .reads = {table, indices}},
                           {"", indices.elements(), table.columns});
  tape.on_backward([=](Tape& t) {
    // Rows with the same index are added up in sorted order: the indices and their places, 8 bytes each.
    t.run_backward({.kind = "embedding_backward",
                    .suffix = "backward",
                    .cost = moved + table.elements(),
                    .reads = {t.gradient(y), indices},
                    .workspace = Bytes{16 * indices.elements()}},
                   table);
  });
  return y;
}

Value patch_convolution(Tape& tape, std::string_view name, Value image, const Patches& patches,
                        std::int64_t columns) {
  const Tape::Scope scope(tape, name);
  const Value weight = tape.parameter("weight", patches.inputs, columns);
  const Value bias = tape.parameter("bias", 1, columns);
  const std::int64_t cost = patches.count * patches.inputs * columns;
  const Value y = tape.run({.kind = "convolution", .cost = cost, .reads = {image, weight, bias}},
                           {"", patches.count, columns});
  tape.on_backward([=](Tape& t) {
    t.run_backward(
        {.kind = "convolution_backward", .suffix = "backward", .cost = cost, .reads = {t.gradient(y), image}},
        {{"weight", weight}, {"bias", bias}});
  });
  return y;
}

std::vector<Value> split(Tape& tape, std::string_view name, Value x, std::int64_t parts) {
  const Tape::Scope scope(tape, name);
  std::vector<Value> views;
  for (std::int64_t part = 0; part < parts; ++part) {
    const Tape::Scope part_scope(tape, fmt::format("{}", part));
    views.push_back(tape.view(x, x.rows, x.columns / parts));
  }
  tape.on_backward([=](Tape& t) {
    Kernel kernel{.kind = "cat", .suffix = "backward", .cost = x.elements(), .reads = {}};
    for (const Value& view : views) kernel.reads.push_back(t.gradient(view));
    t.run_backward(kernel, x);
  });
  return views;
}

Value slice(Tape& tape, std::string_view name, Value x, std::int64_t rows, std::int64_t columns) {
  const Tape::Scope scope(tape, name);
  const Value view = tape.view(x, rows, columns);
  tape.on_backward([=](Tape& t) {
    t.run_backward(
        {.kind = "slice_backward", .suffix = "backward", .cost = x.elements(), .reads = {t.gradient(view)}},
        x);
  });
  return view;
}

Value expand(Tape& tape, std::string_view name, Value x, std::int64_t times) {
  const Tape::Scope scope(tape, name);
  const Value view = tape.view(x, x.rows * times, x.columns);
  tape.on_backward([=](Tape& t) {
    t.run_backward(
        {.kind = "sum", .suffix = "backward", .cost = view.elements(), .reads = {t.gradient(view)}}, x);
  });
  return view;
}

Value concatenate(Tape& tape, std::string_view name, Value a, Value b, std::int64_t rows) {
  const Tape::Scope scope(tape, name);
  const std::int64_t elements = a.elements() + b.elements();
  const Value y = tape.run({.kind = "cat", .cost = elements, .reads = {a, b}}, {"", rows, elements / rows});
  tape.on_backward([=](Tape& t) {
    t.pass_gradient(a, t.gradient(y));
    t.pass_gradient(b, t.gradient(y));
  });
  return y;
}

Value flash_attention(Tape& tape, std::string_view name, const FlashAttention& attention, Value q, Value k,
                      Value v) {
  const Tape::Scope scope(tape, name);
  // Pairs of a query and a key, over the batch; row i of a causal block has i + 1 of them.
  const std::int64_t pairs =
      attention.causal ? q.rows * (attention.sequence + 1) / 2 : q.rows * attention.sequence;
  std::vector<Output> outputs = {like(q), {"logsumexp", q.rows, attention.heads, Type::kStatistic}};
  if (attention.dropout) outputs.push_back({"seed", 1, 2, Type::kIndex});
  const std::vector<Value> made = tape.run_many(
      {.kind = "flash_attention",
       .cost = pairs * (2 * q.columns + 5 * attention.heads),  // scores and mix; softmax as in kSoftmax
       .reads = {q, k, v},
       .recomputable = !attention.dropout},
      outputs);
  tape.on_backward([=](Tape& t) {
    Kernel kernel{.kind = "flash_attention_backward",
                  .suffix = "backward",
                  .cost = pairs * (5 * q.columns + 8 * attention.heads),  // scores again, then four products
                  .reads = {t.gradient(made[0]), q, k, v},
                  // The gradient of q is summed up in 4-byte floats, next to one number a row of scores.
                  .workspace = Bytes{4 * q.elements() + 4 * q.rows * attention.heads}};
    kernel.reads.insert(kernel.reads.end(), made.begin(), made.end());
    t.run_backward(kernel, {{"query", q}, {"key", k}, {"value", v}});
  });
  return made[0];
}

Value cross_entropy(Tape& tape, std::string_view name, Value logits, Value targets) {
  const Tape::Scope scope(tape, name);
  tape.enter(Phase::kLoss);
  const Value log_probabilities = apply(tape, "log_softmax", kLogSoftmax, logits);
  const std::vector<Value> made =
      tape.run_many({.kind = "nll_loss", .cost = logits.rows, .reads = {log_probabilities, targets}},
                    {{"", 1, 1}, {"total_weight", 1, 1}});
  tape.on_backward([=, loss = made[0], total_weight = made[1]](Tape& t) {
    t.run_backward({.kind = "nll_loss_backward",
                    .suffix = "backward",
                    .cost = logits.elements(),
                    .reads = {t.gradient(loss), log_probabilities, targets, total_weight}},
                   log_probabilities);
  });
  return made[0];
}

}  // namespace checkmate::zoo::autograd
