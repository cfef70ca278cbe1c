"""Measured costs, their cache, and the allocator's events."""

from __future__ import annotations

import gc
import json
from pathlib import Path

import pytest
import torch
from torch import nn

import checkmate
import networks
from checkmate.torch.cost_cache import CostCache, UnitCost
from checkmate.torch.costs import estimated_costs, measured_costs, signature
from checkmate.torch.guards import ModelState
from checkmate.torch.ir import Program
from checkmate.torch.lowering import lower
from checkmate.torch.memory import peak_bytes, peaks_of_each
from checkmate.torch.trace import trace_step

CPU = torch.device("cpu")


def program_and_values() -> tuple[Program, list[torch.Tensor]]:
    model, x = networks.Perceptron(layers=4, width=16), torch.randn(8, 16)
    return lower(trace_step(ModelState(model), networks.squared, (x,))), [*model.parameters(), x]


def test_the_peak_counts_what_was_asked_for_and_given_back() -> None:
    before = torch.ones(1000)

    def run() -> None:
        a = torch.empty(100)  # 400 bytes
        b = torch.empty(50)  # 200 more
        del a
        c = torch.empty(25)  # 200 + 100
        del b, c

    assert peak_bytes(run, CPU) == 600
    assert peaks_of_each([run, lambda: before + before, lambda: None], CPU) == [600, 4000, 0]


def test_equal_units_are_measured_once(tmp_path: Path) -> None:
    program, values = program_and_values()
    cache = CostCache(CPU, tmp_path)
    costs = measured_costs(program, values, cache)
    distinct = {signature(unit) for unit in program.units}
    assert len(distinct) < len(program.units)
    assert set(json.loads(cache.path.read_text())) == distinct
    assert all(cost.cost > 0 for cost in costs)


def test_measuring_leaves_values_and_random_numbers_alone(tmp_path: Path) -> None:
    case = networks.conv_net()
    step = checkmate.compile(case.model, case.loss_fn, case.batch, costs="flops")
    step(*case.batch)  # now there are gradients, to which a step adds
    gradients = [p.grad.clone() for p in case.model.parameters() if p.grad is not None]
    random = torch.get_rng_state()
    checkmate.compile(case.model, case.loss_fn, case.batch, cache=tmp_path)
    assert torch.equal(random, torch.get_rng_state())
    for saved, parameter in zip(gradients, case.model.parameters(), strict=True):
        assert parameter.grad is not None
        assert torch.equal(saved, parameter.grad)


def tensors_alive() -> int:
    return sum(type(thing) is torch.Tensor for thing in gc.get_objects())


def test_measuring_lets_go_of_each_op_before_the_next(tmp_path: Path) -> None:
    program, values = program_and_values()
    gc.collect()
    gc.disable()  # or it would hide what is held for too long
    try:
        before = tensors_alive()
        measured_costs(program, values, CostCache(CPU, tmp_path))
        assert tensors_alive() == before
    finally:
        gc.enable()


def test_the_cache_is_read_back_and_a_damaged_one_is_empty(tmp_path: Path) -> None:
    cache = CostCache(CPU, tmp_path)
    cache.add({"a": UnitCost(5, 7)})
    assert CostCache(CPU, tmp_path)["a"] == UnitCost(5, 7)
    for damage in ("", "{", "[]", '{"a": 1}', '{"a": [1, -2]}', '{"a": ["1", 2]}', '{"a": [1, 2, 3]}', '{"a": [true, 1]}'):
        cache.path.write_text(damage)
        assert "a" not in CostCache(CPU, tmp_path)
    assert list(tmp_path.iterdir()) == [cache.path]  # nothing half-written is left


def test_a_cache_that_cannot_be_written_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    program, values = program_and_values()
    assert measured_costs(program, values, CostCache(CPU, tmp_path / "file" / "folder"))


def test_workspace_is_what_an_op_takes_in_addition_to_its_results(tmp_path: Path) -> None:
    case = networks.conv_net()
    program = lower(trace_step(ModelState(case.model), case.loss_fn, case.batch))
    values = [*case.model.parameters(), *case.model.buffers(), *case.batch]
    costs = measured_costs(program, values, CostCache(CPU, tmp_path))
    assert max(cost.workspace for cost in costs) > 0


def test_estimates_count_multiplications_and_bytes() -> None:
    program = lower(trace_step(ModelState(nn.Linear(64, 32)), networks.squared, (torch.ones(128, 64),)))
    costs = {unit.node.name: cost.cost for unit, cost in zip(program.units, estimated_costs(program), strict=True)}
    assert costs["addmm"] == 2 * 128 * 64 * 32  # more than 5 x the bytes that it moves
    step = checkmate.compile(nn.Linear(64, 32), networks.squared, (torch.ones(128, 64),), costs="flops")
    assert step.graph.cost_unit == "flop"


def test_a_step_reports_where_its_time_went(cache: Path) -> None:
    case = networks.perceptron()
    step = checkmate.compile(case.model, case.loss_fn, case.batch, "90%", cache=cache)
    assert step.timings.capture > 0
    assert step.timings.solve > 0
    assert str(step.plan)


def test_a_reserve_is_fixed_memory_and_a_share_means_the_same_as_for_the_saved_graph(cache: Path) -> None:
    case = networks.perceptron()
    plain = checkmate.compile(case.model, case.loss_fn, case.batch, cache=cache)
    step = checkmate.compile(case.model, case.loss_fn, case.batch, plain.plan.peak + 1000, reserve="1kB", cache=cache)
    assert step.graph.fixed_bytes == plain.graph.fixed_bytes + 1000
    share = checkmate.compile(case.model, case.loss_fn, case.batch, "90%", reserve=1000, cache=cache)
    assert share.plan.budget == plain.graph.parse_budget("90%") + 1000
    assert share.plan.budget == checkmate.Graph.from_json(share.graph.to_json()).parse_budget("90%")
    assert "reserved" in str(share.plan)
    with pytest.raises(checkmate.Error):
        checkmate.compile(case.model, case.loss_fn, case.batch, "90%", reserve="much", cache=cache)
