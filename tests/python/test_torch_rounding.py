"""Where a captured step could round otherwise than eager PyTorch: other kernels, or another layout of what they read."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from torch import nn
from torch._ops import OpOverload
from torch.nn import functional

import checkmate
import networks
from checkmate.torch import CaptureError
from checkmate.torch.fx_utils import tensors_of
from checkmate.torch.strides import STRIDES, EagerLayouts


def same_bits(model: nn.Module, loss_fn: Callable[..., Any], *batch: Any) -> None:
    step = checkmate.compile(model, loss_fn, batch, costs="flops")
    seen = checkmate.verify(step, batch, repeats=1)
    assert seen.from_eager is not None
    assert seen.from_eager.none, str(seen)


@pytest.mark.parametrize("weighted", [False, True])
def test_binary_cross_entropy_with_logits_stays_one_op(weighted: bool) -> None:
    weight = torch.rand(10) + 0.5 if weighted else None

    def loss_fn(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return functional.binary_cross_entropy_with_logits(model(x), y, pos_weight=weight)

    model, x, y = nn.Linear(32, 10), torch.randn(64, 32), torch.rand(64, 10)
    source = checkmate.compile(model, loss_fn, (x, y), costs="flops").source
    assert "binary_cross_entropy_with_logits" in source
    same_bits(model, loss_fn, x, y)


class Hooked(nn.Module):
    """Adds a hook to its layer when it first runs, and remembers so, as transformers do to collect hidden states."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(32, 32)
        self.outputs: list[torch.Tensor] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not getattr(self, "hooked", False):
            self.layer.register_forward_hook(lambda _, __, output: self.outputs.append(output))
            self.hooked = True
        self.outputs.clear()
        self.layer(x)
        return torch.stack(self.outputs).sum(0)


def test_hooks_that_a_forward_pass_adds_are_taken_away_with_the_flag_that_says_so() -> None:
    model, x = Hooked(), torch.randn(8, 32)
    step = checkmate.compile(model, networks.squared, (x,), costs="flops")
    assert not model.outputs
    assert not model.layer._forward_hooks
    expected = networks.squared(model, x)
    assert len(model.outputs) == 1
    assert torch.equal(step(x), expected)


def test_containers_that_refuse_to_be_changed_are_left_alone() -> None:
    class Frozen(dict[str, int]):
        def clear(self) -> None:
            raise TypeError("frozen")

    model = nn.Linear(4, 4)
    model.config = Frozen(width=4)  # type: ignore[assignment]
    same_bits(model, networks.squared, torch.randn(2, 4))


class Reversible(torch.autograd.Function):
    """Keeps its input, and runs the layer again in its backward pass."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, layer: nn.Module) -> Any:
        ctx.save_for_backward(x)
        ctx.layer = layer
        with torch.no_grad():
            return x + layer(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        with torch.enable_grad():
            x = ctx.saved_tensors[0].detach().requires_grad_()
            (x + ctx.layer(x)).backward(gradient)
        return x.grad, None


class ReversibleNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(16, 16)
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(16, 16), nn.Tanh()) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        for layer in self.layers:
            x = Reversible.apply(x, layer)  # type: ignore[no-untyped-call]
        last: torch.Tensor = self.layers[0](x)
        return last  # its gradients come from both backward passes


def test_a_backward_pass_within_the_backward_pass_leaves_gradients_too() -> None:
    model, x = ReversibleNet(), torch.randn(8, 16)
    same_bits(model, networks.squared, x)
    assert all(p.grad is None for p in model.parameters())


def layouts(*shape: int) -> list[torch.Tensor]:
    """Numbers between 0 and 0.5 in the orders of memory that models use, and once repeated without memory of its own."""
    dense = torch.rand(shape) / 2
    n = len(shape)
    orders = ([0, *range(2, n), 1], [*range(n - 2), n - 1, n - 2], [1, 0, *range(2, n)], [*reversed(range(n))])
    permuted = [dense.permute(order).contiguous().permute([order.index(i) for i in range(n)]) for order in orders]
    return [dense, *permuted, dense[:1].expand(shape)]


aten = torch.ops.aten
A, PAIRS = layouts(2, 3, 4, 5), list(product(layouts(2, 3, 4, 5), repeat=2))
ONE, C, HALF = torch.ones(()), torch.ones(3), torch.full((2, 3), 0.5)
PADDED, DEEP, DEEP_PADDED = layouts(2, 3, 6, 7), layouts(2, 3, 4, 5, 6), layouts(2, 3, 6, 7, 8)
ROW = torch.ones(2, 3, 4, 1)


@pytest.mark.parametrize(
    ("op", "calls"),
    [
        (aten.mse_loss_backward.default, [(ONE, a, b, 1) for a, b in PAIRS]),
        (aten.smooth_l1_loss_backward.default, [(ONE, a, b, 1, 1.0) for a, b in PAIRS]),
        (aten.huber_loss_backward.default, [(a, b, b, 0, 1.0) for a, b in PAIRS]),
        (aten.binary_cross_entropy.default, [(a, b, None, 0) for a, b in PAIRS]),
        (aten._log_softmax_backward_data.default, [(a, b, 1, torch.float32) for a, b in PAIRS]),
        (aten.log_sigmoid_forward.default, [(a,) for a in A]),
        (aten.pow.Scalar, [(2, a) for a in A]),
        (aten.xlogy.Tensor, PAIRS),
        (aten.special_xlog1py.default, PAIRS),
        (aten.normal.Tensor_Tensor, PAIRS),
        (aten.rrelu_with_noise.default, [(a, b.contiguous()) for a, b in PAIRS]),
        (aten.hardswish_backward.default, PAIRS),
        (aten.hardsigmoid_backward.default, PAIRS),
        (aten.hardtanh_backward.default, [(a, b, -1, 1) for a, b in PAIRS]),
        (aten.logit_backward.default, [(a, b, None) for a, b in PAIRS]),
        (aten.softplus_backward.default, [(a, b, 1, 20) for a, b in PAIRS]),
        (aten.elu_backward.default, [(a, 1.0, 1.0, 1.0, False, b) for a, b in PAIRS]),
        (aten.threshold_backward.default, [(a, b, 0) for a, b in PAIRS]),
        (aten.leaky_relu_backward.default, [(a, b, 0.1, False) for a, b in PAIRS]),
        (aten.native_batch_norm.default, [(a, C, C, None, None, True, 0.1, 1e-5) for a in A]),
        (aten._native_batch_norm_legit.no_stats, [(a, C, C, True, 0.1, 1e-5) for a in A]),
        (aten._native_batch_norm_legit_functional.default, [(a, C, C, C, C, True, 0.1, 1e-5) for a in A]),
        (aten.native_batch_norm_backward.default, [(a, b, C, C, C, C, C, True, 1e-5, [True] * 3) for a, b in PAIRS]),
        (aten.native_layer_norm_backward.default, [(a, b, [5], ROW, ROW, None, None, [True, False, False]) for a, b in PAIRS]),
        (aten.native_group_norm_backward.default, [(a, b, HALF, HALF, C, 2, 3, 20, 3, [True] * 3) for a in A[:2] for b in A[:2]]),
        (aten.channel_shuffle.default, [(a, 3) for a in A]),
        (aten.max_unpool2d.default, [(a, torch.zeros(2, 3, 4, 5, dtype=torch.long), [8, 10]) for a in A]),
        (aten.reflection_pad2d_backward.default, [(g, a, [1] * 4) for g, a in product(PADDED, A)]),
        (aten.replication_pad2d_backward.default, [(g, a, [1] * 4) for g, a in product(PADDED, A)]),
        (aten.reflection_pad3d.default, [(a, [1] * 6) for a in DEEP]),
        (aten.replication_pad3d.default, [(a, [1] * 6) for a in DEEP]),
        (aten.reflection_pad3d_backward.default, [(g, a, [1] * 6) for g, a in product(DEEP_PADDED, DEEP)]),
        (aten.replication_pad3d_backward.default, [(g, a, [1] * 6) for g, a in product(DEEP_PADDED, DEEP)]),
        (aten.add.Tensor, PAIRS),  # the rule that others refer to
    ],
    ids=lambda given: str(given) if isinstance(given, OpOverload) else "",
)
def test_fake_results_have_the_strides_of_real_ones(op: Any, calls: list[tuple[Any, ...]]) -> None:
    for arguments in calls:
        with EagerLayouts() as mode:
            fake = op(*(mode.from_tensor(a) if isinstance(a, torch.Tensor) else a for a in arguments))
        real = op(*arguments)
        for ours, eager in zip(tensors_of(fake), tensors_of(real), strict=False):
            given = [a.stride() for a in arguments if isinstance(a, torch.Tensor)]
            assert (ours.shape, ours.stride(), ours.dtype) == (eager.shape, eager.stride(), eager.dtype), given


def test_every_op_whose_strides_are_put_right_is_tested() -> None:
    marks = test_fake_results_have_the_strides_of_real_ones.pytestmark
    tested = {op for mark in marks for op, _ in mark.args[1]}
    assert set(STRIDES) <= tested | {aten._native_batch_norm_legit.default}  # which becomes the functional one


def test_a_sum_of_gradients_is_written_into_the_one_that_has_its_layout() -> None:
    """The gradient of the first loss is contiguous although its input is not; that of the second has the input's layout."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.decoder = nn.Conv2d(3, 16, 1), nn.Conv2d(16, 3, 1)

    def loss_fn(model: Net, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = model.encoder(x).permute(0, 2, 3, 1)
        return functional.mse_loss(model.decoder(z.permute(0, 3, 1, 2)), x) + functional.mse_loss(z, y)

    same_bits(Net(), loss_fn, torch.randn(8, 3, 16, 16), torch.randn(8, 16, 16, 16))


def test_what_is_written_in_place_keeps_its_layout() -> None:
    def loss_fn(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
        y = model(x).transpose(0, 1).contiguous().transpose(0, 1) * 1.5
        return torch.sum(y.masked_fill_(y < 0, 0.1) * x, 0).square().mean()  # the functional form makes it contiguous

    same_bits(nn.Linear(64, 64), loss_fn, torch.randn(512, 64))


def test_complex_products_are_not_written_over_what_they_read() -> None:
    def loss_fn(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = torch.complex(model(x), x)
        return ((z * 2) / y.t() * y).abs().sum()

    same_bits(nn.Linear(32, 32), loss_fn, torch.randn(32, 32), torch.randn(32, 32, dtype=torch.complex64))


def test_seeds_within_a_step_are_refused() -> None:
    def seeded(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(3)
        return functional.dropout(model(x)).sum()

    def forked(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
        with torch.random.fork_rng():
            return functional.dropout(model(x)).sum()

    before = torch.get_rng_state()
    for loss_fn in (seeded, forked):
        with pytest.raises(CaptureError, match="seeds torch's generator or sets its state"):
            checkmate.compile(nn.Linear(4, 4), loss_fn, (torch.ones(2, 4),), costs="flops")
    torch.set_rng_state(before)


def test_a_sparse_tensor_in_the_step_is_refused() -> None:
    with pytest.raises(CaptureError, match="makes a sparse tensor"):
        checkmate.compile(nn.Linear(4, 4), lambda m, x: torch.sparse.sum(m(x).to_sparse()), (torch.ones(2, 4),), costs="flops")
