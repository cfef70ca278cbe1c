"""What models and loops do beyond computing: each either works, bit for bit, or is refused with its place and a remedy."""

from __future__ import annotations

import copy
import logging
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.utils.checkpoint
import transformers
from torch import nn
from torch.nn import functional

import checkmate
import networks
from checkmate.torch import CaptureError, Step

X = torch.randn(64, 32)


def holds(model: nn.Module, loss_fn: Callable[..., Any], *batch: Any, cache: Path, budget: str = "100%", **options: Any) -> Step:
    """Compiles and verifies: same bits as eager, within the budget, the peak as predicted."""
    step: Step = checkmate.compile(model, loss_fn, batch, budget, cache=cache, time_limit=2, **options)
    seen = checkmate.verify(step, batch, repeats=1)
    assert seen.holds
    assert seen.from_eager is not None
    assert seen.from_eager.none, str(seen)
    assert seen.measured_peak == seen.predicted_peak
    return step


def refused(match: str, model: nn.Module, loss_fn: Callable[..., Any] = networks.squared, *batch: Any) -> None:
    with pytest.raises(CaptureError, match=match):
        checkmate.compile(model, loss_fn, batch or (X,), costs="flops")


class Net(nn.Module):
    """A layer, and whatever a test does to its output."""

    def __init__(self, then: Callable[[Any, torch.Tensor], torch.Tensor], **attributes: Any) -> None:
        super().__init__()
        self.layer = nn.Linear(32, 32)
        self.then = then
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.then(self, self.layer(x))


class Checkpointed(nn.Module):
    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        self.reentrant = reentrant
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Dropout(0.2), nn.Linear(64, 32)) for _ in range(3)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.blocks[0](x)
        for block in self.blocks[1:]:
            x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=self.reentrant)
        return x


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_of_the_model_is_replaced_by_the_plan(
    reentrant: bool, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = Checkpointed(reentrant)
    with caplog.at_level(logging.WARNING, "checkmate"):
        step = checkmate.compile(model, networks.squared, (X,), "90%", cache=cache)
    assert "2 calls of torch.utils.checkpoint in the model are replaced by the plan" in caplog.text
    twin = copy.deepcopy(model)
    torch.manual_seed(1)
    loss = step(X)
    torch.manual_seed(1)
    expected = networks.squared(twin, X)
    expected.backward()
    assert torch.equal(loss, expected)
    for ours, eager in zip(model.parameters(), twin.parameters(), strict=True):
        assert ours.grad is not None
        assert torch.equal(ours.grad, eager.grad)  # type: ignore[arg-type]


class CheckpointedNorms(nn.Module):
    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        self.reentrant = reentrant
        self.scale = nn.Parameter(torch.ones(1))  # reentrant checkpoints need an input with a gradient
        self.inside = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4, momentum=0.3), nn.Dropout(0.3))
        self.outside = nn.BatchNorm2d(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.utils.checkpoint.checkpoint(self.inside, x * self.scale, use_reentrant=self.reentrant)
        mean: torch.Tensor = self.outside(hidden).square().mean()
        return mean


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpointed_batch_norm_updates_its_averages_as_often_as_eager(reentrant: bool, cache: Path) -> None:
    torch.manual_seed(0)
    model, x = CheckpointedNorms(reentrant), torch.randn(4, 3, 12, 12)
    step = checkmate.compile(model, lambda m, x: m(x), (x,), cache=cache)
    seen = checkmate.verify(step, (x,), repeats=1)
    assert seen.from_eager is not None
    assert seen.from_eager.none
    step(x)
    counted = {name: int(value) for name, value in model.named_buffers() if name.endswith("num_batches_tracked")}
    assert counted == {"inside.1.num_batches_tracked": 2, "outside.num_batches_tracked": 1}


def test_gradient_checkpointing_of_transformers_is_replaced_too(cache: Path) -> None:
    case = networks.bert()
    case.model.gradient_checkpointing_enable()  # type: ignore[operator]
    step = checkmate.compile(case.model, case.loss_fn, case.batch, cache=cache)
    case.model.gradient_checkpointing_disable()  # type: ignore[operator]
    plain = checkmate.compile(case.model, case.loss_fn, case.batch, cache=cache)
    assert step.graph.sha256 == plain.graph.sha256


class LayerDrop(nn.Module):
    def __init__(self, probability: float) -> None:
        super().__init__()
        self.layerdrop = probability
        self.layers = nn.ModuleList(nn.Linear(32, 32) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            draw = torch.rand([])
            if draw < self.layerdrop:
                continue
            x = torch.tanh(layer(x))
        return x


def test_layer_drop_with_probability_zero_draws_and_goes_on(cache: Path) -> None:
    holds(LayerDrop(0.0), networks.squared, X, cache=cache)


def test_layer_drop_is_refused_with_its_line() -> None:
    refused(r"branches on the values of tensors in .*, at test_torch_models.py:\d+ \(if draw < self.layerdrop:\)", LayerDrop(0.1))


def finite_or_raise(_: Any, y: torch.Tensor) -> torch.Tensor:
    if not torch.isfinite(y).all():
        raise ValueError("not finite")
    return y


def finite_or_warn(_: Any, y: torch.Tensor) -> torch.Tensor:
    if torch.isnan(y).any() or torch.isinf(y).any():
        logging.getLogger("test").warning("not finite")
    return y


def asserted(_: Any, y: torch.Tensor) -> torch.Tensor:
    assert (y == y).all(), "not a number"
    return y


def checked_by_torch(_: Any, y: torch.Tensor) -> torch.Tensor:
    torch._check_tensor_all(y == y, lambda: "not a number")
    return y


def density(_: Any, y: torch.Tensor) -> torch.Tensor:
    return torch.distributions.Normal(y, 1.0).log_prob(torch.zeros_like(y))


def compared_numbers(_: Any, y: torch.Tensor) -> torch.Tensor:
    assert y.isnan().sum() == 0
    assert 0 <= y.abs().max().item() < 1e6
    if y.max().item() > 1e6 or not y.min().item() > -1e6:
        raise ValueError("too large")
    return y


def constant_mask(_: Any, y: torch.Tensor) -> torch.Tensor:
    mask = torch.triu(torch.ones(32, 32), 1)
    return y @ mask if mask.sum() > 0 else y


@pytest.mark.parametrize(
    "then", [finite_or_raise, finite_or_warn, asserted, compared_numbers, checked_by_torch, density, constant_mask]
)
def test_a_check_that_only_complains_and_a_value_that_no_input_changes_are_followed(then: Any, cache: Path) -> None:
    holds(Net(then), networks.squared, X, cache=cache)


def doubled_if_positive(_: Any, y: torch.Tensor) -> torch.Tensor:
    return y * 2 if y.sum() > 0 else y


def repeated(_: Any, y: torch.Tensor) -> torch.Tensor:
    return y * len(range(int(y.max())))


@pytest.mark.parametrize("then", [doubled_if_positive, repeated])
def test_a_value_that_steers_the_step_is_refused_with_its_place(then: Any) -> None:
    refused(r"at test_torch_models.py:\d+ .*replace `if`, `.item\(\)` or `bool\(\)`", Net(then))


def test_a_transformer_with_a_causal_mask(cache: Path) -> None:
    class Translator(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Transformer(32, 4, 1, 1, 64, batch_first=True)

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return self.net(x, y, tgt_mask=nn.Transformer.generate_square_subsequent_mask(y.shape[1]))

    x, y = torch.randn(4, 8, 32), torch.randn(4, 8, 32)
    holds(Translator(), lambda m, x, y: m(x, y).square().mean(), x, y, cache=cache)


def test_a_backward_pass_inside_of_the_loss_function_is_refused() -> None:
    refused(r"calls backward\(\) itself: return the loss", nn.Linear(32, 32), lambda m, x: m(x).mean().backward())


def test_an_attribute_that_the_loop_changes_is_noticed(cache: Path) -> None:
    model = nn.Sequential(nn.Linear(32, 32), nn.Dropout(0.5))
    step = checkmate.compile(model, networks.squared, (X,), cache=cache)
    model[1].p = 0.0  # type: ignore[assignment]
    assert torch.equal(step(X), networks.squared(model, X))
    (before, _), (after, _) = step._compiled
    assert "an attribute of 1 (p, inplace)" in after.changes_since(before, step._state)


def test_an_attribute_that_the_forward_pass_counts_is_refused() -> None:
    def counted(net: Any, y: torch.Tensor) -> torch.Tensor:
        net.calls += 1
        return y

    model = Net(counted, calls=0)
    refused("counts up the attribute calls of the model", model)
    assert model.calls == 0


def test_attributes_that_the_forward_pass_sets_from_shapes_are_set_by_the_step(cache: Path) -> None:
    def grown(net: Any, y: torch.Tensor) -> torch.Tensor:
        if not net.ready:
            net.scale = y.detach().std()
            net.ready = True
        if len(y) > net.longest:
            net.longest = len(y)
            net.table = torch.linspace(0, 1, net.longest)
        return y / net.scale * net.table[: len(y), None]

    model = Net(grown, longest=0, ready=False)
    model.register_buffer("table", torch.zeros(0))
    model.register_buffer("scale", torch.ones(()))
    twin = copy.deepcopy(model)
    step = checkmate.compile(model, networks.squared, (X[:16],), cache=cache)
    assert not model.longest
    assert not model.ready
    for length in (16, 48, 16):
        assert torch.equal(step(X[:length]), networks.squared(twin, X[:length]))
        assert (model.longest, model.ready) == (twin.longest, twin.ready)
        assert torch.equal(model.table, twin.table)  # type: ignore[arg-type]
    model.longest, model.ready = 0, False  # type: ignore[assignment]
    holds(model, networks.squared, X, cache=cache)


def test_a_buffer_that_is_replaced_is_updated(cache: Path) -> None:
    def averaged(net: Any, y: torch.Tensor) -> torch.Tensor:
        net.average = 0.9 * net.average + 0.1 * y.mean(0).detach()
        return y + net.average

    model = Net(averaged)
    model.register_buffer("average", torch.zeros(32))
    step = holds(model, networks.squared, X, cache=cache)
    twin = copy.deepcopy(model)
    step(X)
    twin(X)
    assert torch.equal(model.average, twin.average)  # type: ignore[arg-type]

    def resized(net: Any, y: torch.Tensor) -> torch.Tensor:
        net.average = y.detach()
        return y

    model.then, twin.then = resized, resized
    model.average = torch.zeros(32)
    step(X)
    twin(X)
    assert torch.equal(model.average, twin.average)  # type: ignore[arg-type]


def test_rotary_embeddings_that_grow_with_the_sequence(cache: Path) -> None:
    config = transformers.LlamaConfig(
        vocab_size=50,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=16,
        rope_parameters={"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0},
        use_cache=False,
    )
    model = transformers.LlamaForCausalLM(config)
    twin = copy.deepcopy(model)

    def loss_fn(model: nn.Module, tokens: torch.Tensor) -> torch.Tensor:
        loss: torch.Tensor = model(input_ids=tokens, labels=tokens).loss
        return loss

    step = checkmate.compile(model, loss_fn, (torch.zeros(2, 12, dtype=torch.long),), cache=cache, costs="flops")
    for length in (12, 24, 12):  # beyond 16, and back
        tokens = torch.randint(50, (2, length))
        assert torch.equal(step(tokens), loss_fn(twin, tokens))
        assert model.model.rotary_emb.max_seq_len_cached == twin.model.rotary_emb.max_seq_len_cached


@pytest.mark.parametrize(("draw", "name"), [(random.random, "Python's random module"), (np.random.rand, "numpy.random")])
def test_random_numbers_from_elsewhere_are_refused_and_not_drawn(draw: Callable[[], float], name: str) -> None:
    before = draw.__self__.getstate() if draw is random.random else np.random.get_state()  # type: ignore[attr-defined]
    refused(f"draws random numbers from {name}", nn.Linear(32, 32), lambda m, x: m(x).square().mean() * float(draw()))
    after = draw.__self__.getstate() if draw is random.random else np.random.get_state()  # type: ignore[attr-defined]
    assert str(before) == str(after)


def test_hooks_on_gradients_are_refused_or_run(cache: Path) -> None:
    model = nn.Linear(32, 32)
    handle = model.weight.register_hook(lambda gradient: 2 * gradient)
    refused("parameter weight has a hook on its gradient", model)
    handle.remove()
    watched = model.register_full_backward_hook(lambda *_: None)
    refused("module Linear has a backward hook", model)
    watched.remove()

    seen = []
    model.weight.register_post_accumulate_grad_hook(lambda parameter: seen.append(parameter.grad))
    step = checkmate.compile(model, networks.squared, (X,), cache=cache)
    assert not seen
    step(X)
    assert len(seen) == 1
    assert seen[0] is model.weight.grad


def test_a_gradient_scaler_stays_real(cache: Path) -> None:
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    model = nn.Linear(32, 32)
    step = holds(model, lambda m, x: scaler.scale(m(x).square().mean()), X, cache=cache)
    assert type(scaler._scale) is torch.Tensor
    before = step(X)
    scaler._scale.fill_(16.0)  # as update() does
    assert torch.equal(step(X), 2 * before)


def test_batch_norm_under_autocast(cache: Path) -> None:
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())

    def loss_fn(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return model(x).float().square().mean()

    holds(model, loss_fn, torch.randn(4, 3, 16, 16), cache=cache)


def test_batches_of_a_tokenizer_and_outputs_of_transformers(cache: Path) -> None:
    case = networks.bert()
    ids, mask, labels = case.batch
    batch = transformers.BatchEncoding({"input_ids": ids, "attention_mask": mask, "labels": labels})
    step = holds(case.model, lambda model, batch: model(**batch), batch, cache=cache)
    output = step(batch)
    assert isinstance(output, transformers.modeling_outputs.SequenceClassifierOutput)
    assert output.loss is not None
    assert output.logits.shape == (4, 2)


def test_a_teacher_under_no_grad(cache: Path) -> None:
    teacher = nn.Linear(32, 32)

    def loss_fn(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            target = teacher(x)
        return functional.mse_loss(model(x), target)

    holds(nn.Linear(32, 32), loss_fn, X, cache=cache)


def test_a_model_in_torch_compile_is_unwrapped(cache: Path) -> None:
    model = nn.Linear(32, 32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, when it loads its compiler
        compiled = torch.compile(model)
    step = holds(compiled, networks.squared, X, cache=cache)  # type: ignore[arg-type]
    assert step.model is model


def test_parameters_that_are_written_under_no_grad(cache: Path) -> None:
    class Momentum(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fast, self.slow = nn.Linear(32, 32), nn.Linear(32, 32).requires_grad_(False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                for slow, fast in zip(self.slow.parameters(), self.fast.parameters(), strict=True):
                    slow.mul_(0.9).add_(fast, alpha=0.1)
                key = self.slow(x)
            return self.fast(x) * key

    model = Momentum()
    step = holds(model, networks.squared, X, cache=cache)
    twin = copy.deepcopy(model)
    step(X)
    twin(X)
    assert torch.equal(model.slow.weight, twin.slow.weight)


def test_experts_in_32_bits(cache: Path) -> None:
    config = transformers.MixtralConfig(
        num_hidden_layers=1,
        hidden_size=32,
        intermediate_size=48,
        num_attention_heads=4,
        num_key_value_heads=2,  # fewer than heads: attention takes eager's path, or the bits differ
        vocab_size=100,
        num_local_experts=4,
        bos_token_id=0,
        eos_token_id=0,
    )
    model, ids = transformers.MixtralForCausalLM(config).train(), torch.randint(100, (4, 16))
    holds(model, lambda m, x: m(x, labels=x, use_cache=False).loss, ids, cache=cache)


def test_sparse_gradients_of_an_embedding(cache: Path) -> None:
    model, ids = nn.Embedding(50, 32, sparse=True), torch.randint(50, (4, 8))
    step = holds(model, networks.squared, ids, cache=cache)
    twin = copy.deepcopy(model)
    for _ in range(2):  # the second time, there is a gradient to add to
        step(ids)
        networks.squared(twin, ids).backward()
        assert model.weight.grad is not None
        assert model.weight.grad.is_sparse
        assert torch.equal(model.weight.grad.to_dense(), twin.weight.grad.to_dense())  # type: ignore[union-attr]
