"""Costs measured in the step, their cache, and the allocator's events."""

from __future__ import annotations

import gc
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

import checkmate
import networks
from checkmate import Plan
from checkmate._cache import Cache
from checkmate.torch import pipeline
from checkmate.torch.costs import UnitCost, estimated_costs, measured_costs, signature
from checkmate.torch.guards import ModelState
from checkmate.torch.ir import Program
from checkmate.torch.lowering import lower
from checkmate.torch.memory import PartPeaks, available_bytes, peak_bytes
from checkmate.torch.planning_graph import planning_graph
from checkmate.torch.rehearsal import Rehearsal
from checkmate.torch.trace import trace_step

CPU = torch.device("cpu")


def measured(case: networks.Case, folder: Path) -> tuple[Program, list[UnitCost]]:
    state = ModelState(case.model)
    trace = trace_step(state, case.loss_fn, case.batch)
    program = lower(trace)
    plan = Plan.keep_all(planning_graph(program, estimated_costs(program), "net", "flop", "fixed"))
    inputs = trace.signature.values(state, case.batch)
    return program, measured_costs(program, inputs, Rehearsal(plan.steps, plan.frees), Cache(folder))


def small() -> networks.Case:
    return networks.Case(networks.Perceptron(layers=4, width=16), networks.squared, (torch.randn(8, 16),))


def test_units_have_the_signatures_of_cpp_which_shares_the_cache() -> None:
    """tests/torch/unit_signatures_test.cc has the same model and the same file."""
    model = nn.Sequential(nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 16), nn.GELU())
    program = lower(trace_step(ModelState(model), networks.classify, (torch.randn(8, 16), torch.randint(10, (8,)))))
    known = Path(__file__).parents[1] / "data" / "unit_signatures.txt"
    assert [signature(unit) for unit in program.units] == known.read_text().split()


def test_the_peak_counts_what_was_asked_for_and_given_back() -> None:
    before = torch.ones(1000)

    def run() -> None:
        a = torch.empty(100)  # 400 bytes
        b = torch.empty(50)  # 200 more
        del a
        c = torch.empty(25)  # 200 + 100
        del b, c

    assert peak_bytes(run, CPU) == 600
    peaks = PartPeaks(CPU)

    def parts() -> None:
        for part in (run, lambda: before + before, lambda: None):
            peaks.begin()
            part()
            peaks.end()

    assert peaks.of(parts) == [600, 4000, 0]


def test_a_caller_that_profiles_is_not_in_the_way(tmp_path: Path) -> None:
    case = small()
    with torch.profiler.profile(profile_memory=True) as profile:
        assert peak_bytes(lambda: torch.empty(100), CPU) == 400
        step = checkmate.compile(case.model, case.loss_fn, case.batch, cache=tmp_path)
        step(*case.batch)
    case.model.zero_grad()
    assert step.plan.peak == checkmate.verify(step, case.batch, repeats=1, resident=False).measured_peak
    assert profile.events()


def test_what_is_available_is_within_the_limits_of_the_process() -> None:
    assert 0 < available_bytes(CPU) < 1 << 50


def test_equal_units_cost_the_same_and_the_second_time_nothing_runs(tmp_path: Path) -> None:
    program, costs = measured(small(), tmp_path)
    by_kind = [(str(unit.node.target), unit.origin.phase, cost.cost) for unit, cost in zip(program.units, costs, strict=True)]
    assert len({cost for kind, phase, cost in by_kind if kind == "aten.addmm.default"}) == 1  # four layers of one shape
    assert all(cost.cost > 0 for cost in costs)
    assert measured(small(), tmp_path)[1] == costs  # to the nanosecond: they were read, not measured


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


def test_measuring_keeps_nothing_alive(tmp_path: Path) -> None:
    case = small()
    kept = measured(case, tmp_path / "first")
    gc.collect()
    gc.disable()  # or it would hide what is held for too long
    try:
        before = tensors_alive()
        del kept
        measured(case, tmp_path / "second")
        assert tensors_alive() <= before
    finally:
        gc.enable()


def test_costs_of_the_cache_that_cannot_be_are_measured_again(tmp_path: Path) -> None:
    program, costs = measured(small(), tmp_path)
    (path,) = (tmp_path / "costs").iterdir()
    units = len(program.units)
    no_amounts = ("-2", "2.5", "true", "null", "[]", '"1"', "NaN", "1e300", str(2**62), "9" * 5000)
    for damage in (
        "{}",
        "[]",
        "[[1, 2, []]]",
        json.dumps([[1, 2]] * units),
        json.dumps([[2**62 // units, 0, [0] * len(unit.makes), None] for unit in program.units]),  # only their sum is too large
        "[" * 900 + "]" * 900,
        *("[" + ", ".join(f"[1, {amount}, [4], null]" for _ in range(units)) + "]" for amount in no_amounts),
    ):
        path.write_text(damage)
        with pytest.warns(UserWarning, match=re.escape(f"{path} is damaged")):
            again = measured(small(), tmp_path)[1]
        assert [cost.made for cost in again] == [cost.made for cost in costs]
        assert measured(small(), tmp_path)[1] == again  # it was replaced


def test_a_cache_of_pipes_neither_stops_nor_holds_up_compile(tmp_path: Path) -> None:
    case = networks.perceptron()

    def plan() -> Plan:
        return checkmate.compile(case.model, case.loss_fn, case.batch, "80%", cache=tmp_path, time_limit=2).plan

    before = plan()
    records = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.parent.name for path in records} >= {"costs", "plans"}
    for path in records:
        path.unlink()
        os.mkfifo(path)
    with pytest.warns(UserWarning, match=r"costs/.*json is damaged"):
        again = plan()
    assert len(again.graph) == len(before.graph)
    assert all(path.is_file() for path in records if path.parent.name == "costs")  # replaced
    assert plan() == again


def test_workspace_is_what_an_op_takes_in_addition_to_its_results(tmp_path: Path) -> None:
    assert max(cost.workspace for cost in measured(networks.conv_net(), tmp_path)[1]) > 0


@pytest.mark.parametrize(
    "loss", [functional.mse_loss, functional.smooth_l1_loss, functional.binary_cross_entropy, functional.soft_margin_loss]
)
def test_a_loss_counts_the_storage_that_its_kernel_takes(loss: networks.LossOf, cache: Path) -> None:
    model, x, y = nn.Sequential(nn.Linear(64, 64), nn.Sigmoid()), torch.randn(500, 64), torch.rand(500, 64)
    step = checkmate.compile(model, lambda m, x, y: loss(m(x), y), (x, y), cache=cache)
    seen = checkmate.verify(step, (x, y), repeats=1)
    assert seen.measured_peak == seen.predicted_peak
    assert seen.holds


def test_a_recurrent_layer_is_measured_on_its_own_workspace(cache: Path) -> None:
    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.LSTM(16, 32, 2, batch_first=True, dropout=0.1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layers(x)[0]

    model, x = Recurrent(), torch.randn(4, 20, 16)
    seen = checkmate.verify(checkmate.compile(model, networks.squared, (x,), "90%", cache=cache), (x,), repeats=1)
    assert seen.holds
    assert seen.from_eager is not None
    assert seen.from_eager.none
    assert seen.measured_peak == seen.predicted_peak


def test_a_step_that_does_not_fit_is_measured_in_the_order_of_a_plan(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    case = networks.perceptron()
    orders: list[Sequence[int]] = []

    def watched(program: Program, inputs: Sequence[torch.Tensor], rehearsal: Rehearsal, *rest: Any) -> list[UnitCost]:
        orders.append(rehearsal.steps)
        return measured_costs(program, inputs, rehearsal, *rest)

    monkeypatch.setattr(pipeline, "measured_costs", watched)
    for room in (available_bytes, lambda _: 1):
        monkeypatch.setattr(pipeline, "available_bytes", room)
        step = checkmate.compile(case.model, case.loss_fn, case.batch, "80%", cache=tmp_path)
    assert orders[0] == list(range(len(step.graph)))
    assert len(orders[1]) > len(step.graph)  # it recomputes
    assert checkmate.verify(step, case.batch, repeats=1).holds


def test_estimates_count_multiplications_and_bytes() -> None:
    program = lower(trace_step(ModelState(nn.Linear(64, 32)), networks.squared, (torch.ones(128, 64),)))
    costs = {unit.node.name: cost.cost for unit, cost in zip(program.units, estimated_costs(program), strict=True)}
    assert costs["addmm"] == 2 * 128 * 64 * 32  # more than 5 x the bytes that it moves
    step = checkmate.compile(nn.Linear(64, 32), networks.squared, (torch.ones(128, 64),), costs="flops")
    assert step.graph.cost_unit == "flop"


def test_estimates_count_attention_on_cpus() -> None:
    model = nn.MultiheadAttention(64, 4, batch_first=True)
    loss_fn = lambda m, x: m(x, x, x, need_weights=False)[0].sum()  # noqa: E731
    program = lower(trace_step(ModelState(model), loss_fn, (torch.ones(2, 256, 64),)))
    kinds = {str(unit.calls[0].target): cost.cost for unit, cost in zip(program.units, estimated_costs(program), strict=True)}
    product = 2 * 2 * 4 * 256 * 256 * 16  # a multiplication and an addition x batch x heads x queries x keys x width
    assert kinds["aten._scaled_dot_product_flash_attention_for_cpu.default"] == 2 * product
    assert kinds["aten._scaled_dot_product_flash_attention_for_cpu_backward.default"] == 5 * product


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
