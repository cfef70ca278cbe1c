"""The optimizer inside of the step: the same weights and state, and gradients that do not stay."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import checkmate
import networks
from checkmate.torch.optimizer import readers_after_updates

Make = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]
OPTIMIZERS: dict[str, Make] = {
    "sgd": lambda p: torch.optim.SGD(p, 0.1),
    "sgd, momentum": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda p: torch.optim.Adam(p, 1e-3, amsgrad=True, maximize=True),
    "adam, foreach": lambda p: torch.optim.Adam(p, 1e-3, weight_decay=0.01, foreach=True),
    "adamw": lambda p: torch.optim.AdamW(p, 1e-3),
}


def state_of(optimizer: torch.optim.Optimizer) -> list[Any]:
    state = optimizer.state_dict()["state"]
    return [state[key][name] for key in sorted(state) for name in sorted(state[key])]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_weights_and_state_are_bitwise_those_of_a_loop(name: str, cache: Path) -> None:
    case, clip = networks.conv_net(), 0.01
    ours, theirs = case.model, copy.deepcopy(case.model)
    optimizers = [OPTIMIZERS[name](model.parameters()) for model in (ours, theirs)]
    schedules = [torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5) for optimizer in optimizers]
    step = checkmate.compile(
        ours, case.loss_fn, case.batch, "80%", cache=cache, time_limit=2, optimizer=optimizers[0], clip_value=clip
    )
    assert step.plan.recomputed
    torch.manual_seed(1)
    losses = []
    for _ in range(4):
        losses.append(step(*case.batch))
        schedules[0].step()
    assert all(p.grad is None for p in ours.parameters())

    torch.manual_seed(1)
    for loss in losses:
        optimizers[1].zero_grad()
        expected = case.loss_fn(theirs, *case.batch)
        expected.backward()
        nn.utils.clip_grad_value_(theirs.parameters(), clip)
        optimizers[1].step()
        schedules[1].step()
        assert torch.equal(loss, expected)
    for a, b in zip([*ours.parameters(), *ours.buffers()], [*theirs.parameters(), *theirs.buffers()], strict=True):
        assert torch.equal(a, b)
    for a, b in zip(state_of(optimizers[0]), state_of(optimizers[1]), strict=True):
        assert torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b


def test_the_budget_holds_and_gradients_do_not_stay(cache: Path) -> None:
    model, x = networks.Perceptron(layers=6, width=128), torch.randn(16, 128)
    optimizer = torch.optim.AdamW(model.parameters())
    plain = checkmate.compile(model, networks.squared, (x,), cache=cache)
    step = checkmate.compile(model, networks.squared, (x,), "100%", cache=cache, optimizer=optimizer)
    state = 2 * sum(p.nbytes for p in model.parameters())  # two averages per parameter
    assert step.graph.fixed_bytes == plain.graph.fixed_bytes + state
    layer = (128 * 128 + 128) * 4
    assert step.plan.peak - step.graph.fixed_bytes < plain.plan.peak - plain.graph.fixed_bytes - 2 * layer
    seen = checkmate.verify(step, (x,), repeats=1)
    assert seen.holds
    assert seen.measured_peak == seen.predicted_peak
    assert seen.from_eager is not None
    assert seen.from_eager.none


def test_compiling_and_verifying_leave_weights_and_state_alone(cache: Path) -> None:
    model, x = nn.Linear(8, 8), torch.randn(4, 8)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    before = model.weight.detach().clone()
    step = checkmate.compile(model, networks.squared, (x,), cache=cache, optimizer=optimizer)
    checkmate.verify(step, (x,), repeats=1)
    assert torch.equal(model.weight, before)
    assert state_of(optimizer) == []


def test_no_unit_reads_a_parameter_after_its_update(cache: Path) -> None:
    model, x = networks.Perceptron(layers=4, width=16), torch.randn(64, 16)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    step = checkmate.compile(model, networks.squared, (x,), "90%", cache=cache, optimizer=optimizer)
    program, steps = step.prepare((x,)).program, step.plan.steps
    assert readers_after_updates(program, steps) == set()
    readers = [unit for unit in steps if program.units[unit].origin.phase == "forward" and program.units[unit].reads]
    assert readers_after_updates(program, [*steps, readers[0]]) == {readers[0]}  # the layer again, with its new weights


def test_other_optimizers_and_ways_are_refused_by_name(cache: Path) -> None:
    model, x = nn.Linear(8, 8), torch.randn(4, 8)

    def compiled(optimizer: torch.optim.Optimizer) -> None:
        checkmate.compile(model, networks.squared, (x,), cache=cache, optimizer=optimizer)

    with pytest.raises(checkmate.Error, match="optimizer RMSprop cannot be a part of the step, only SGD, Adam, AdamW"):
        compiled(torch.optim.RMSprop(model.parameters()))
    sgd = torch.optim.SGD(model.parameters(), 0.1)
    for options, error, match in (
        ({"clip_value": 1.0}, checkmate.Error, "clip_value needs optimizer="),
        ({"clip_value": -1.0, "optimizer": sgd}, checkmate.Error, "clip_value must be positive, got -1"),
        ({"clip_value": "x", "optimizer": sgd}, TypeError, "clip_value must be a number"),
    ):
        with pytest.raises(error, match=match):
            checkmate.compile(model, networks.squared, (x,), cache=cache, **options)
    hooked = torch.optim.SGD(model.parameters(), 0.1)
    hooked.register_step_pre_hook(lambda *_: None)
    with pytest.raises(checkmate.Error, match="hooks on its step"):
        compiled(hooked)
