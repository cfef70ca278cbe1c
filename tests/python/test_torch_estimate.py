"""What a step takes, told before it runs, and of models that are not there."""

from __future__ import annotations

import copy
import html
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

import checkmate
import networks
from checkmate.torch import Estimate, peak_bytes
from networks import Case

QUICK = {"time_limit": 0.1, "threads": 1}
GIB = 2**30


def asked(case: Case, **options: object) -> Estimate:
    return checkmate.estimate(case.model, case.loss_fn, case.batch, **{**QUICK, **options})


@pytest.fixture(scope="module")
def of_gpt2() -> Estimate:
    return asked(networks.gpt2())


@pytest.mark.parametrize("build", [networks.conv_net, networks.tied])
def test_is_about_the_step_that_compile_plans(build: Callable[[], Case], cache: Path) -> None:
    case = build()
    step = checkmate.compile(case.model, case.loss_fn, case.batch, costs="flops", cache=cache)
    estimate = asked(case, budgets=["100%"])
    assert estimate.graph == step.graph
    assert estimate.peak == step.plan.peak


@pytest.mark.parametrize("build", [networks.conv_net, networks.tied, networks.gpt2])
def test_a_model_that_is_not_there_takes_what_a_real_one_takes(build: Callable[[], Case]) -> None:
    real = build()
    with torch.device("meta"):
        meta = build()
    graph = asked(real, budgets=["100%"]).graph
    for case in (meta, Case(meta.model, real.loss_fn, real.batch), Case(real.model, real.loss_fn, meta.batch)):
        assert asked(case, budgets=["100%"]).graph == graph


def test_a_model_may_be_made_of_fake_tensors() -> None:
    with FakeTensorMode():
        fake = networks.conv_net()
    assert asked(fake, budgets=["100%"]).graph == asked(networks.conv_net(), budgets=["100%"]).graph


class Table(nn.Module):
    """A tensor that is neither a parameter nor a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.table = torch.ones(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) * self.table


def test_a_table_in_a_plain_attribute_may_be_on_the_meta_device() -> None:
    with torch.device("meta"):
        meta = Table()
    batch = (torch.ones(4, 8),)
    estimates = [asked(Case(model, networks.squared, batch)) for model in (meta, Table())]
    assert estimates[0].graph == estimates[1].graph
    assert {part.name: part.bytes for part in estimates[0].parts}["constants"] == 8 * 4


def test_takes_no_memory_for_weights() -> None:
    with torch.device("meta"):
        model = networks.Perceptron(layers=4, width=65536)
    case, estimates = Case(model, networks.squared, (torch.empty(8, 65536),)), []
    taken = peak_bytes(lambda: estimates.append(asked(case)), torch.device("cpu"))
    assert estimates[0].peak > 2 * 4 * 16 * GIB  # four weights of 65,536 x 65,536 x 4 bytes, and their gradients
    assert taken < 2**16
    assert all(p.device.type == "meta" and p.grad is None for p in model.parameters())


def test_leaves_the_model_as_it_was() -> None:
    case = networks.conv_net()
    before, random = copy.deepcopy(case.model.state_dict()), torch.get_rng_state()
    asked(case)
    assert all(torch.equal(tensor, before[name]) for name, tensor in case.model.state_dict().items())
    assert all(p.grad is None for p in case.model.parameters())
    assert torch.equal(torch.get_rng_state(), random)


def test_less_memory_never_costs_less(of_gpt2: Estimate) -> None:
    budgets = [point.budget for point in of_gpt2.points]
    assert budgets == sorted(budgets, reverse=True)
    assert (budgets[0], budgets[-1]) == (of_gpt2.peak, of_gpt2.sufficient)
    plans = [point.plan for point in of_gpt2.points if point.plan is not None]
    overheads = [plan.overhead for plan in plans]
    assert len(plans) > 3
    assert overheads[0] == 1
    assert overheads == sorted(overheads)
    assert all(of_gpt2.needed <= plan.peak <= plan.budget for plan in plans)
    assert of_gpt2.needed <= of_gpt2.sufficient < of_gpt2.peak


def test_tells_what_fills_the_peak(of_gpt2: Estimate) -> None:
    parts = {part.name: part for part in of_gpt2.parts}
    assert sum(part.bytes for part in of_gpt2.parts) == of_gpt2.peak
    model = networks.gpt2().model
    assert parts["parameters"].bytes == sum(p.nbytes for p in model.parameters())
    assert parts["batch"].bytes == 4 * 64 * 8
    dropped = sum(part.bytes for part in of_gpt2.largest)
    assert dropped == parts["activations"].bytes + parts["backward pass"].bytes
    sizes = [part.bytes for part in of_gpt2.largest]
    assert sizes == sorted(sizes, reverse=True)
    layers = {part.name: part for part in of_gpt2.largest}["transformer.h.*.mlp.c_fc: addmm"]
    assert (layers.tensors, layers.bytes) == (3, 3 * 4 * 64 * 256 * 4)  # layers x batch x tokens x width x bytes


def test_gradients_alone_may_fill_the_peak() -> None:
    model = nn.Linear(512, 512, bias=False)
    estimate = asked(Case(model, networks.squared, (torch.ones(1, 512),)))
    assert estimate.sufficient == estimate.needed == estimate.peak
    assert "recomputation saves nothing" in str(estimate)
    assert len(estimate.points) == 1


def test_a_reserve_is_a_part_of_every_figure() -> None:
    case = networks.perceptron()
    plain, reserved = asked(case), asked(case, reserve="1GiB")
    assert reserved.peak == plain.peak + GIB
    assert reserved.needed == plain.needed + GIB
    assert reserved.parts[-1].name == "reserve"
    assert sum(part.bytes for part in reserved.parts) == reserved.peak


def test_gradients_of_earlier_steps_are_there_already() -> None:
    case = networks.perceptron()
    case.loss_fn(case.model, *case.batch).backward()
    parts = {part.name: part.bytes for part in asked(case).parts}
    assert parts["gradients of earlier steps"] == parts["parameters"]


def test_budgets_may_be_chosen_and_too_small() -> None:
    estimate = asked(networks.perceptron(), budgets="1KiB,90%")
    large, small = estimate.points
    assert large.plan is not None
    assert (small.plan, small.status) == (None, "infeasible")
    assert "no plan fits" in str(estimate)
    assert estimate.plan == large.plan


def test_is_a_table_a_page_and_json(of_gpt2: Estimate, tmp_path: Path) -> None:
    text = str(of_gpt2)
    for point in of_gpt2.points:
        assert checkmate._core.bytes_text(point.budget) in text
    header = next(line for line in text.splitlines() if line.startswith("budget"))
    rows = text.splitlines()[text.splitlines().index(header) + 1 :][: len(of_gpt2.points)]
    assert {len(row) for row in rows} == {len(header)}
    assert "workspace of ops is not counted" in text
    assert "GPT2LMHeadModel" in repr(of_gpt2)
    assert of_gpt2._repr_html_() == f"<pre>{html.escape(text)}</pre>"

    of_gpt2.report(tmp_path / "estimate.html")
    assert (tmp_path / "estimate.html").read_text().startswith("<!doctype html>")

    told = json.loads(of_gpt2.to_json())
    assert (told["peak_bytes"], told["needed_bytes"]) == (of_gpt2.peak, of_gpt2.needed)
    assert [point["budget_bytes"] for point in told["points"]] == [point.budget for point in of_gpt2.points]


def test_refuses_what_compile_refuses() -> None:
    case = networks.perceptron()
    for wrong, message in (
        (Case(case.model, case.loss_fn, case.batch[0]), "a batch must be a tuple"),
        (Case(case.model, lambda _model, _x: None, case.batch), "returned nothing and not a loss"),
        (Case(nn.ReLU(), case.loss_fn, ()), "the model has no parameters"),
        (
            Case(copy.deepcopy(case.model).requires_grad_(False), case.loss_fn, case.batch),
            "no parameter that requires a gradient",
        ),
    ):
        with pytest.raises(checkmate.Error, match=message):
            asked(wrong)
    with pytest.raises(checkmate.Error, match="not a valid size"):
        asked(case, reserve="much")
    with pytest.raises(checkmate.Error, match="order must be fixed or free"):
        asked(case, order="odd")
