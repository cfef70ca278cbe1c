"""Planned steps against the same step without recomputation, and against eager PyTorch."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional

import checkmate
import networks
from networks import Case

CASES: dict[str, Callable[[], Case]] = {
    "conv net": networks.conv_net,
    "u-net": networks.unet,
    "perceptron": networks.perceptron,
    "tied weights": networks.tied,
    "resnet": networks.resnet,
    "gpt2": networks.gpt2,
    "bert": networks.bert,
    "vit": networks.vit,
}


def state(model: nn.Module) -> list[torch.Tensor]:
    """Copies of parameters, buffers and gradients."""
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    return [t.detach().clone() for t in [*model.parameters(), *model.buffers(), *gradients]]


def train(case: Case, step: Callable[..., torch.Tensor], steps: int = 3) -> list[torch.Tensor]:
    """The losses, then the state after some steps of an optimizer."""
    torch.manual_seed(1)
    optimizer = torch.optim.Adam(case.model.parameters(), lr=1e-3)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        losses.append(step(*case.batch).clone())
        optimizer.step()
    return [*losses, *state(case.model)]


def eager_step(case: Case) -> Callable[..., torch.Tensor]:
    def step(*batch: object) -> torch.Tensor:
        loss: torch.Tensor = case.loss_fn(case.model, *batch)
        loss.backward()
        return loss.detach()

    return step


def feasible_budget(case: Case, share: float, cache: Path) -> int:
    """So much of keep-all's peak, or a little above what the step needs at least, if that is more."""
    graph = checkmate.compile(case.model, case.loss_fn, case.batch, cache=cache).graph
    budget = graph.parse_budget(f"{share:.0%}")
    while True:
        try:
            checkmate.solve(graph, budget, time_limit=2, progress=False)
            return budget + budget // 10  # so that a busy machine finds a plan too
        except checkmate.InfeasibleError as error:
            budget = max(error.needed, budget + budget // 20)
        except checkmate.NoPlanError:
            budget += budget // 20


@pytest.mark.parametrize("name", CASES)
def test_three_steps_give_the_same_bits_as_without_recomputation_and_as_eager(name: str, cache: Path) -> None:
    torch.manual_seed(0)
    case = CASES[name]()
    budget = feasible_budget(case, 0.6, cache)
    copies = [Case(copy.deepcopy(case.model), case.loss_fn, case.batch) for _ in range(3)]
    planned = checkmate.compile(copies[0].model, case.loss_fn, case.batch, budget, time_limit=3, cache=cache)
    kept = checkmate.compile(copies[1].model, case.loss_fn, case.batch, cache=cache)
    assert planned.plan.recomputed
    assert planned.plan.peak < kept.plan.peak

    results = [train(copies[0], planned), train(copies[1], kept), train(copies[2], eager_step(copies[2]))]

    for ours, without, eager in zip(*results, strict=True):
        assert torch.equal(ours, without)
        torch.testing.assert_close(ours, eager)


@pytest.mark.parametrize("name", ["conv net", "gpt2", "u-net"])
def test_measured_peak_is_the_predicted_one_and_falls_with_the_budget(name: str, cache: Path) -> None:
    torch.manual_seed(0)
    case = CASES[name]()
    step = checkmate.compile(case.model, case.loss_fn, case.batch, cache=cache)
    least = feasible_budget(case, 0.01, cache)
    peaks = []
    for part in range(5):
        budget = step.plan.peak - (step.plan.peak - least) * part // 4
        planned = checkmate.compile(case.model, case.loss_fn, case.batch, budget, time_limit=2, cache=cache)
        seen = checkmate.verify(planned, case.batch, eager=False, repeats=1)
        assert seen.from_keep_all.none
        assert seen.measured_peak <= budget
        assert seen.measured_peak == pytest.approx(seen.predicted_peak, rel=0.02)
        peaks.append(seen.measured_peak)
    assert peaks == sorted(peaks, reverse=True)


def test_gradients_are_added_to_those_that_are_there(cache: Path) -> None:
    case = networks.conv_net()
    twin = Case(copy.deepcopy(case.model), case.loss_fn, case.batch)
    step, eager = checkmate.compile(case.model, case.loss_fn, case.batch, "80%", cache=cache), eager_step(twin)
    for run in (step, eager):
        torch.manual_seed(2)
        for _ in range(3):
            run(*case.batch)
    assert len(step._compiled) == 2  # with and without gradients to add to
    for ours, theirs in zip(state(case.model), state(twin.model), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_gradients_that_are_added_count_as_resident_and_the_budget_still_holds(cache: Path) -> None:
    case = networks.perceptron()
    step = checkmate.compile(case.model, case.loss_fn, case.batch, cache=cache)
    fresh = step.graph.fixed_bytes
    step(*case.batch)
    step(*case.batch)
    # Six layers of 64 x 64 weights and 64 biases, 4 bytes each.
    assert step.graph.fixed_bytes == fresh + 6 * (64 * 64 + 64) * 4
    seen = checkmate.verify(step, case.batch, repeats=1)
    assert seen.holds
    assert seen.from_eager is not None
    assert seen.from_eager.none


def test_frozen_and_unused_parameters_get_no_gradient(cache: Path) -> None:
    class Partly(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.frozen, self.trained, self.unused = (nn.Linear(8, 8) for _ in range(3))
            self.frozen.requires_grad_(False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.trained(torch.relu(self.frozen(x)))

    model = Partly()
    step = checkmate.compile(model, networks.squared, (torch.randn(4, 8),), cache=cache)
    step(torch.randn(4, 8))
    assert model.trained.weight.grad is not None
    assert model.frozen.weight.grad is None
    assert model.unused.weight.grad is None

    model.frozen.requires_grad_(True)
    model.zero_grad()
    step(torch.randn(4, 8))
    assert model.frozen.weight.grad is not None


def test_a_new_shape_is_captured_once_and_remembered(cache: Path) -> None:
    case = networks.conv_net()
    step = checkmate.compile(case.model, case.loss_fn, case.batch, cache=cache)
    for size in (8, 16, 8):
        case.model.zero_grad()
        x, y = torch.randn(size, 3, 16, 16), torch.randint(10, (size,))
        assert step(x, y).shape == ()
    assert len(step._compiled) == 2


def test_a_module_that_was_replaced_is_trained(cache: Path) -> None:
    model, x = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 4)), torch.randn(3, 8)
    step = checkmate.compile(model, networks.squared, (x,), cache=cache)
    model[1] = nn.Linear(8, 4)
    assert torch.equal(step(x), networks.squared(model, x))
    assert model[1].weight.grad is not None
    model.register_parameter("scale", nn.Parameter(torch.ones(1)))
    step(x)
    assert len(step._compiled) == 1  # the earlier ones are of another model


def test_evaluation_mode_is_another_step(cache: Path) -> None:
    case = networks.conv_net()
    step = checkmate.compile(case.model, case.loss_fn, case.batch, cache=cache)
    case.model.eval()
    before = state(case.model)[: len(list(case.model.parameters())) + len(list(case.model.buffers()))]
    loss = step(*case.batch)
    expected = case.loss_fn(case.model, *case.batch).detach()
    torch.testing.assert_close(loss, expected)
    after = state(case.model)
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=False))  # no statistics were updated


def test_what_is_returned_beside_the_loss_comes_back(cache: Path) -> None:
    def loss_fn(model: nn.Module, batch: dict[str, torch.Tensor], scale: float) -> tuple[torch.Tensor, dict[str, object]]:
        out = model(batch["x"])
        return out.square().mean() * scale, {"out": out, "mean": out.mean(), "label": "a", "input": batch["x"]}

    model, batch = networks.Perceptron(), {"x": torch.randn(4, 64)}
    step = checkmate.compile(model, loss_fn, (batch, 2.0), cache=cache)
    loss, extras = step(batch, 2.0)
    expected_loss, expected = loss_fn(model, batch, 2.0)
    assert torch.equal(loss, expected_loss)
    assert torch.equal(extras["out"], expected["out"])  # type: ignore[arg-type]
    assert torch.equal(extras["mean"], expected["mean"])  # type: ignore[arg-type]
    assert extras["label"] == "a"
    assert extras["input"].data_ptr() == batch["x"].data_ptr()
    assert not extras["out"].requires_grad
    assert step(batch, 3.0)[0] == pytest.approx(1.5 * loss.item())  # a plain value is part of the guard


def test_shows_its_plan_as_a_page(cache: Path, tmp_path: Path) -> None:
    step = checkmate.compile(torch.nn.Linear(8, 8), networks.squared, (torch.randn(4, 8),), cache=cache)
    step.report(tmp_path / "report.html", resident=12345)
    addresses = step._latest.addresses
    arena = None if addresses is None else addresses.total + step.graph.fixed_bytes
    page = step.plan.to_html(arena=arena, resident=12345)
    assert (tmp_path / "report.html").read_text() == page
    assert '"resident":12345' in page
    assert str(step._repr_html_()).startswith("<iframe")


def test_autocast_to_bfloat16(cache: Path) -> None:
    def loss_fn(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return model(x).square().mean()

    model, x = networks.Perceptron(), torch.randn(64, 64)
    step = checkmate.compile(model, loss_fn, (x,), feasible_budget(Case(model, loss_fn, (x,)), 0.8, cache), cache=cache)
    seen = checkmate.verify(step, (x,), repeats=1)
    assert seen.holds
    assert seen.from_eager is not None
    assert seen.from_eager.gradients.largest < 1e-3

    outside = checkmate.compile(model, networks.squared, (x,), cache=cache)
    plain = outside(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        model.zero_grad()
        cast = outside(x)  # captured again, in the caller's autocast
    assert cast != plain


def test_a_bfloat16_model(cache: Path) -> None:
    model, x = networks.Perceptron().to(torch.bfloat16), torch.randn(64, 64, dtype=torch.bfloat16)
    budget = feasible_budget(Case(model, networks.squared, (x,)), 0.8, cache)
    step = checkmate.compile(model, networks.squared, (x,), budget, cache=cache)
    assert checkmate.verify(step, (x,), repeats=1).holds


def test_two_models_side_by_side_and_state_dicts(cache: Path) -> None:
    first, second = networks.conv_net(), networks.conv_net()
    steps = [checkmate.compile(c.model, c.loss_fn, c.batch, "80%", cache=cache) for c in (first, second)]
    torch.manual_seed(3)
    one = steps[0](*first.batch)
    saved = copy.deepcopy(first.model.state_dict())
    steps[0](*first.batch)
    second.model.load_state_dict(saved)
    first.model.load_state_dict(saved)
    losses = []
    for step, case in zip(steps, (first, second), strict=True):
        case.model.zero_grad()
        torch.manual_seed(4)
        losses.append(step(*first.batch))
    assert torch.equal(losses[0], losses[1])
    assert not torch.equal(losses[0], one)


def test_parameters_that_share_a_gradient_get_one_each(cache: Path) -> None:
    class Sum(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Parameter(torch.ones(5)), nn.Parameter(torch.ones(5))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (self.a + self.b) * x

    model = Sum()
    checkmate.compile(model, lambda m, x: m(x).sum(), (torch.ones(5),), cache=cache)(torch.ones(5))
    assert model.a.grad is not None
    assert model.b.grad is not None
    assert model.a.grad.data_ptr() != model.b.grad.data_ptr()
    assert torch.equal(model.a.grad, torch.ones(5))


def test_a_tensor_that_the_model_does_not_own_is_resident(cache: Path) -> None:
    weights = torch.linspace(0.1, 1, 10)
    model, x, y = nn.Linear(8, 10), torch.randn(4, 8), torch.randint(10, (4,))

    def loss_fn(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(model(x), y, weight=weights)

    step = checkmate.compile(model, loss_fn, (x, y), cache=cache)
    assert torch.equal(step(x, y), loss_fn(model, x, y))


def test_a_free_order_leaves_random_ops_in_theirs(cache: Path) -> None:
    class Branches(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.branches = nn.ModuleList(nn.Sequential(nn.Linear(32, 32), nn.Dropout(0.5)) for _ in range(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.stack([branch(x) for branch in self.branches]).prod(0)

    model, x = Branches(), torch.randn(512, 32)
    step = checkmate.compile(model, networks.squared, (x,), "95%", order="free", time_limit=3, cache=cache)
    once = [op for op in step.plan.steps if not step.graph.ops[op].recomputable]
    assert len(once) == 4
    assert once == sorted(once)
    seen = checkmate.verify(step, (x,), repeats=1)
    assert seen.holds
    assert seen.from_eager is not None
    assert seen.from_eager.gradients.largest < 1e-6


def test_verifying_takes_one_run_at_least(cache: Path) -> None:
    case = networks.perceptron()
    step = checkmate.compile(case.model, case.loss_fn, case.batch, costs="flops", cache=cache)
    with pytest.raises(checkmate.Error, match="1 or more"):
        checkmate.verify(step, case.batch, repeats=0)


def test_a_dropout_that_is_recomputed_draws_the_same_numbers(cache: Path) -> None:
    model = nn.Sequential(nn.Linear(64, 64), nn.Dropout(0.5), nn.Linear(64, 64), nn.Dropout(0.5))
    x = torch.randn(256, 64)
    budget = feasible_budget(Case(model, networks.squared, (x,)), 0.5, cache)
    step = checkmate.compile(model, networks.squared, (x,), budget, cache=cache)
    units = step.prepare((x,)).program.units
    assert any(units[op].random for op, _, _ in step.plan.recomputed)
    torch.manual_seed(5)
    ours = step(x)
    after = torch.rand(1)
    torch.manual_seed(5)
    assert torch.equal(ours, networks.squared(model, x))
    assert torch.equal(after, torch.rand(1))


def test_dropout_draws_the_same_numbers_whatever_the_layout(cache: Path) -> None:
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)  # its attention gives a transposed tensor to a dropout
    step = checkmate.compile(layer, networks.squared, (torch.randn(4, 16, 32),), costs="flops", cache=cache)
    seen = checkmate.verify(step, (torch.randn(4, 16, 32),), repeats=1)
    assert seen.from_eager is not None
    assert seen.from_eager.none
