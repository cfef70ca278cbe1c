"""Bit patterns are compared, so that what is not a number is not lost."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import checkmate
import networks
from checkmate.frontend.comparison import Difference, Distance
from checkmate.torch.trace import LossFn
from checkmate.torch.verify import distance

NAN, INF = float("nan"), float("inf")


def test_zero_is_not_minus_zero() -> None:
    assert distance(torch.tensor([0.0, 1.0]), torch.tensor([-0.0, 1.0])) == Distance(differing=1, largest=0.0)


def test_a_nan_on_one_side_is_counted_and_does_not_hide_the_rest() -> None:
    found = distance(torch.tensor([NAN, 1.0, 2.0]), torch.tensor([0.0, 1.5, 2.0]))
    assert found == Distance(differing=2, nans=1, largest=0.5)
    assert str(found) == "2 elements differ, 1 of them NaN, by at most 0.5"


def test_equal_nans_and_infinities_are_equal() -> None:
    tensor = torch.tensor([NAN, INF, -INF])
    assert distance(tensor, tensor.clone()) == Distance()


def test_nans_with_other_bits_are_not_equal() -> None:
    nan = torch.tensor([NAN])
    other = (nan.view(torch.int32) + 1).view(torch.float32)
    assert other.isnan().all()
    assert distance(nan, other) == Distance(differing=1, nans=1, largest=0.0)


def test_an_infinity_on_one_side_is_an_infinite_difference() -> None:
    assert distance(torch.tensor([INF, 0.0]), torch.tensor([1.0, 0.0])) == Distance(differing=1, largest=INF)
    assert distance(torch.tensor([INF]), torch.tensor([-INF])) == Distance(differing=1, largest=INF)


def test_every_type_of_element_is_compared() -> None:
    for kind in (torch.bfloat16, torch.float16, torch.float64, torch.int64, torch.bool, torch.complex64):
        ones = torch.ones(3, dtype=kind)
        assert distance(ones, ones.clone()) == Distance()
        assert distance(ones, torch.zeros(3, dtype=kind)) == Distance(differing=3, largest=1.0)
    assert distance(torch.zeros(0), torch.zeros(0)) == Distance()


class Root(nn.Module):
    """A gradient of infinity times zero where the weight is zero."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([0.0, 1.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight.sqrt() * x


def test_a_model_with_a_nan_gradient_is_equal_to_itself() -> None:
    step = checkmate.compile(Root(), lambda model, x: model(x).sum(), (torch.tensor([0.0, 1.0]),), costs="flops")
    seen = checkmate.verify(step, (torch.tensor([0.0, 1.0]),), repeats=1)
    assert seen.from_eager == Difference(Distance(), Distance(), Distance())
    assert seen.from_keep_all.none


@pytest.mark.parametrize(
    ("planned", "expected"),
    [
        (lambda model, x: networks.squared(model, x) + NAN, Distance(differing=1, nans=1)),
        (lambda model, x: networks.squared(model, x) + INF, Distance(differing=1, largest=INF)),
        (lambda model, x: -networks.squared(model, x), Distance(differing=1)),  # -0 in the place of 0
    ],
)
def test_a_step_that_computes_something_else_is_told_apart(planned: LossFn, expected: Distance) -> None:
    model, x = nn.Linear(2, 1, bias=False), torch.zeros(1, 2)  # so that the loss is 0
    step = checkmate.compile(model, planned, (x,), costs="flops")
    step.loss_fn = networks.squared  # what eager runs
    seen = checkmate.verify(step, (x,), repeats=1)
    assert seen.from_keep_all.none
    assert seen.from_eager is not None
    assert seen.from_eager.loss == expected
    assert not seen.from_eager.none
    assert f"loss: {expected}; gradients:" in str(seen)
