"""From a captured graph to units and storages, and to code that runs a plan of them."""

from __future__ import annotations

import gc
import weakref
from typing import cast

import pytest
import torch
from torch import nn

import networks
from checkmate import Graph, Plan
from checkmate.torch.codegen import generate
from checkmate.torch.costs import UnitCost
from checkmate.torch.guards import ModelState
from checkmate.torch.inplace import in_place_form
from checkmate.torch.ir import Program
from checkmate.torch.lowering import lower
from checkmate.torch.planning_graph import planning_graph
from checkmate.torch.schedule import schedule
from checkmate.torch.trace import Trace, trace_step

aten = torch.ops.aten


def lowered(model: nn.Module, loss_fn: object, *batch: torch.Tensor) -> Program:
    return lower(trace_step(ModelState(model), loss_fn, batch))  # type: ignore[arg-type]


def calls(program: Program) -> list[list[str]]:
    return [[str(call.target).split(".")[1] for call in unit.calls] for unit in program.units]


def graph_of(program: Program) -> Graph:
    return planning_graph(program, [UnitCost(1)] * len(program.units), "net", "ns", "fixed")


def test_views_are_not_units_and_share_the_storage_of_their_base() -> None:
    program = lowered(nn.Linear(4, 6), lambda m, x: m(x).view(3, 2, 2).transpose(0, 1).sum(), torch.ones(2, 4))
    kinds = [kind for unit in calls(program) for kind in unit]
    assert not {"view", "transpose", "t", "expand"} & set(kinds)
    by_storage: dict[int, int] = {}
    for storage in program.storage_of.values():
        by_storage[storage] = by_storage.get(storage, 0) + 1
    assert max(by_storage.values()) >= 3  # the result of the layer, its view and its transpose


def test_pointwise_ops_write_over_what_nobody_else_reads() -> None:
    case = networks.conv_net()
    program = lowered(case.model, case.loss_fn, *case.batch)
    kinds = calls(program)
    assert ["empty_like", "bernoulli_", "div_"] in kinds  # the mask of dropout
    assert ["_native_batch_norm_legit_functional", "relu_"] in kinds
    assert ["relu"] not in kinds


def test_what_somebody_reads_later_is_not_written_over() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.layer(x)
            return torch.relu(y) * y  # the product reads y again

    program = lowered(Twice(), networks.squared, torch.ones(2, 4))
    assert ["addmm"] in calls(program)


def test_an_in_place_form_does_the_same_to_its_first_argument() -> None:
    assert in_place_form(aten.add.Tensor) is aten.add_.Tensor
    assert in_place_form(aten.bernoulli.p) is aten.bernoulli_.float
    assert in_place_form(aten.copy.default) is aten.copy_.default
    assert in_place_form(aten.mm.default) is None  # no pointwise op
    assert in_place_form(aten.threshold_backward.default) is None  # has none
    a, b = torch.randn(5), torch.randn(5)
    expected = aten.mul.Tensor(a, b)
    assert torch.equal(in_place_form(aten.mul.Tensor)(a, b), expected)  # type: ignore[misc]
    assert torch.equal(a, expected)


def test_attention_without_dropout_is_not_random() -> None:
    for dropout, random in ((0.0, False), (0.3, True)):

        def loss_fn(model: nn.Module, x: torch.Tensor, dropout: float = dropout) -> torch.Tensor:
            q = model(x).view(2, 8, 2, 8).transpose(1, 2)
            return nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=dropout).sum()

        program = lowered(nn.Linear(16, 16), loss_fn, torch.randn(2, 8, 16))
        assert any(unit.random for unit in program.units) == random


def test_batch_norm_returns_its_statistics() -> None:
    case = networks.conv_net()
    trace = trace_step(ModelState(case.model), case.loss_fn, case.batch)
    assert len(trace.updates) == 4 * 3  # mean, variance and count of four layers
    assert len(trace.gradients) == len(list(case.model.parameters()))


def test_phases_and_modules_are_in_the_graph() -> None:
    case = networks.conv_net()
    program = lowered(case.model, case.loss_fn, *case.batch)
    graph = graph_of(program)
    names = [op.name for op in graph.ops]
    assert any(name.startswith("blocks.2.0: convolution") for name in names)
    phases = [op.phase for op in graph.ops]
    assert phases == sorted(phases, reverse=True)  # forward, then backward
    assert set(phases) == {"forward", "backward"}


def test_sizes_are_those_that_the_allocator_is_asked_for() -> None:
    program = lowered(nn.Linear(10, 20), networks.squared, torch.ones(3, 10))
    made = {program.storages[s].bytes for unit in program.units for s in unit.makes}
    assert 3 * 20 * 4 in made
    resident = [s.bytes for s in program.storages if s.unit is None]
    assert sorted(resident) == [20 * 4, 3 * 10 * 4, 20 * 10 * 4]


def test_generated_code_drops_values_where_the_plan_says() -> None:
    model, x = networks.Perceptron(layers=3, width=4), torch.ones(2, 4)
    program = lowered(model, networks.squared, x)
    plan = Plan.keep_all(graph_of(program))
    run = generate(schedule(program, plan.steps, plan.frees, [cast(Trace, program.trace).loss]))
    source = run.__doc__
    assert source is not None
    assert source.count("del ") >= len([frees for frees in plan.frees if frees]) - 1
    with torch.no_grad():
        (loss,) = run([*model.parameters(), x])
    assert torch.equal(loss, networks.squared(model, x))


def test_generated_code_takes_ops_of_any_name() -> None:
    """Also those that it gives to constants, to its parameter and to states of the generator."""
    library = torch.library.Library("checkmate_names", "DEF")
    ops = torch.ops.checkmate_names
    names = ["_0", "_1", "_2", "_0_", "inputs", "run", "random_now", *(f"random_{unit}" for unit in range(12))]
    for name in names:
        library.define(f"{name}(Tensor x) -> Tensor")
        library.impl(name, lambda x: x / 2, "CompositeExplicitAutograd")

    def loss_fn(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
        for name in names:
            x = getattr(ops, name)(x)
        return nn.functional.dropout(model(x)).sum()

    model, x = nn.Linear(4, 4), torch.ones(2, 4)
    program = lowered(model, loss_fn, x)
    once = list(range(len(program.units)))
    twice = [step for unit in once for step in ((unit, unit) if program.units[unit].random else (unit,))]
    plan = Plan.from_steps(graph_of(program), twice)  # so that the generator's state is remembered, and set again
    run = generate(schedule(program, plan.steps, plan.frees, [cast(Trace, program.trace).loss]))
    torch.manual_seed(0)
    with torch.no_grad():
        (loss,) = run([*model.parameters(), x])
    torch.manual_seed(0)
    assert torch.equal(loss, loss_fn(model, x))


def test_generated_code_keeps_nothing_alive() -> None:
    model, x = networks.Perceptron(layers=3, width=4), torch.ones(2, 4)
    program = lowered(model, networks.squared, x)
    plan = Plan.keep_all(graph_of(program))
    run = generate(schedule(program, plan.steps, plan.frees, [cast(Trace, program.trace).loss]))
    batch = torch.ones(2, 4)
    gone = weakref.ref(batch)
    with torch.no_grad():
        run([*model.parameters(), batch])
    del batch
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("plan", ["keep-all", "recompute everything"])
def test_any_valid_order_gives_the_same_bits(plan: str) -> None:
    model, x = networks.Perceptron(layers=4, width=8), torch.randn(3, 8)
    program = lowered(model, networks.squared, x)
    graph = graph_of(program)
    steps = list(range(len(graph.ops)))
    if plan != "keep-all":  # every forward op once more before each backward op
        forward = [i for i, op in enumerate(graph.ops) if op.phase == "forward"]
        outputs = {i for i in forward if any(graph.tensors[t].output for t in graph.ops[i].outputs)}
        steps = forward + [s for b in steps[len(forward) :] for s in [*(f for f in forward if f not in outputs), b]]
    made = Plan.from_steps(graph, steps)
    run = generate(schedule(program, made.steps, made.frees, list(program.trace.gradients.values())))
    with torch.no_grad():
        gradients = run([*model.parameters(), x])
    networks.squared(model, x).backward()
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        assert parameter.grad is not None
        assert torch.equal(parameter.grad, gradient)
