"""When a step is prepared again, how many are remembered, and what is said about it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import nn

import checkmate
import networks
from checkmate.torch import Step
from checkmate.torch.guards import Guard, ModelState


def scaled(model: nn.Module, x: torch.Tensor, scale: float) -> torch.Tensor:
    return model(x).square().mean() * scale


def compiled(model: nn.Module, loss_fn: Any, *example: Any) -> Step:
    return checkmate.compile(model, loss_fn, example, costs="flops")


def changes(model: nn.Module, before: Sequence[Any], after: Sequence[Any]) -> list[str]:
    state = ModelState(model)
    return Guard.of(state, after).changes_since(Guard.of(state, before), state)


def test_equal_calls_have_equal_guards() -> None:
    state = ModelState(nn.Linear(4, 4))
    first, second = (Guard.of(state, (torch.randn(2, 4), 1.0)) for _ in range(2))
    assert first == second
    assert first.changes_since(second, state) == []


def test_a_change_of_the_batch_is_named() -> None:
    model, x = nn.Linear(4, 4), torch.ones(2, 4)
    assert changes(model, (x,), (torch.ones(3, 4),)) == ["the shape of leaf 0 of the batch, from [2, 4] to [3, 4]"]
    assert changes(model, (x,), (x.double(),)) == ["the strides, type or device of leaf 0 of the batch"]
    assert changes(model, (x, 0.5), (x, 0.25)) == ["leaf 1 of the batch, from 0.5 to 0.25"]
    assert changes(model, (x, 0.5), (x, x)) == ["leaf 1 of the batch, from 0.5 to a tensor"]
    assert changes(model, (x,), ([x],)) == ["the structure of the batch"]


def test_a_change_of_the_model_is_named() -> None:
    model, x = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), torch.ones(2, 4)
    state = ModelState(model)
    before = Guard.of(state, (x,))
    model[1].eval()
    model[0].weight.requires_grad_(False)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    assert Guard.of(state, (x,)).changes_since(before, state) == [
        "whether parameter 0.weight and 3 more has a gradient to add to",
        "whether parameter 0.weight requires a gradient",
        "training or evaluation mode of module 1",
    ]
    model.double()
    told = Guard.of(state, (x,)).changes_since(before, state)
    assert "the layout of parameter 0.weight and 3 more" in told
    assert "the layout of buffer 1.running_mean" in told


def test_a_value_that_changes_with_every_step_is_warned_about() -> None:
    model, x = nn.Linear(4, 4), torch.ones(2, 4)
    step = compiled(model, scaled, x, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for scale in (0.9, 0.8, 0.7):
            model.zero_grad()
            step(x, scale)
    model.zero_grad()
    with pytest.warns(UserWarning, match=r"planned 5 times.*because of a change in leaf 1 of the batch, from .* to 0.6\. Each"):
        step(x, 0.6)


def test_prepared_steps_are_bounded_and_the_least_recently_used_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Step, "MOST_REMEMBERED", 2)
    model = networks.Perceptron(layers=1, width=4)
    step = compiled(model, networks.squared, torch.ones(1, 4))
    first = step.prepare((torch.ones(1, 4),))
    step.prepare((torch.ones(2, 4),))
    assert step.prepare((torch.ones(1, 4),)) is first  # used again, so that 2 rows are the oldest now
    step.prepare((torch.ones(3, 4),))
    assert step.prepare((torch.ones(1, 4),)) is first
    assert len(step._compiled) == 2
