"""A training step that holds its budget."""

from __future__ import annotations

import os
import time
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree

import checkmate
from checkmate import Graph, InfeasibleError, Plan, SweepPoint
from checkmate._core import bytes_text, parse_bytes
from checkmate.torch.accumulate import accumulate_into
from checkmate.torch.capture import Capture, LossFn, capture_step
from checkmate.torch.cost_cache import CostCache, UnitCost
from checkmate.torch.costs import estimated_costs, measured_costs
from checkmate.torch.distributed import Group
from checkmate.torch.executor import Run, compile_steps
from checkmate.torch.graph import fingerprint, planning_graph
from checkmate.torch.options import Options
from checkmate.torch.program import Program, lower
from checkmate.torch.progress import counting
from checkmate.torch.situation import Owner, situation_of


@dataclass
class Timings:
    """Seconds that the parts of compiling took."""

    capture: float = 0.0
    costs: float = 0.0
    solve: float = 0.0


@dataclass
class Prepared:
    """One captured step with its plan, ready to run."""

    program: Program
    graph: Graph
    plan: Plan
    accumulated: list[str]  # parameters whose gradients are added to what is there
    timings: Timings
    run: Run = field(repr=False)

    @property
    def capture(self) -> Capture:
        """What it was made from."""
        return self.program.capture

    def resident(self, owner: Owner, batch: Sequence[Any]) -> list[torch.Tensor]:
        """The values of the program's resident nodes, in their order."""
        return _resident(self.program, owner, batch, self.accumulated)

    def with_plan(self, plan: Plan) -> Prepared:
        """The same step by another plan."""
        return Prepared(self.program, self.graph, plan, self.accumulated, self.timings, _compiled(self.program, plan))


class Step:
    """`loss = step(*batch)`: loss, gradients in `.grad` and updated buffers, as after `loss.backward()`.

    Made by :func:`checkmate.compile`. A batch of another shape, a change between training and evaluation, frozen or
    unfrozen parameters, gradients that are there already: each is captured and planned when it first comes, and
    remembered. The loss, and what was returned beside it, carry no history.
    """

    def __init__(self, model: torch.nn.Module, loss_fn: LossFn, example: Sequence[Any], options: Options) -> None:
        self.group = Group.of(model, options.process_group)
        self.model = self.group.module(model)
        self.loss_fn = loss_fn
        self.options = options
        self._owner = Owner(self.model)
        self._prepared: dict[Hashable, Prepared] = {}
        self._latest = self.prepare(example)

    @property
    def plan(self) -> Plan:
        """Of the latest batch, or of the example."""
        return self._latest.plan

    @property
    def graph(self) -> Graph:
        """What was solved: the step's ops and storages, with their costs."""
        return self._latest.graph

    @property
    def timings(self) -> Timings:
        """How long compiling took, for that batch."""
        return self._latest.timings

    def __repr__(self) -> str:
        return f"<checkmate.torch.Step of {type(self.model).__name__}: {self.plan!r}>"

    def report(self, path: str | os.PathLike[str], points: Iterable[SweepPoint] = ()) -> None:
        """Writes the page of docs/report.md: the plan beside the step without recomputation."""
        self.plan.report(path, points)

    def _repr_html_(self) -> str | None:
        return self.plan._repr_html_()

    def __call__(self, *batch: Any) -> Any:
        """One step on a batch; its result is that of loss_fn."""
        self._latest = self.prepare(batch)
        return self.execute(self._latest, batch)

    def prepare(self, batch: Sequence[Any]) -> Prepared:
        """The captured and planned step for such a batch: the one that is known, or a new one."""
        if not isinstance(batch, (tuple, list)):
            raise checkmate.Error(
                f"a batch is a tuple of what loss_fn takes after the model, got a {type(batch).__name__}: "
                "write example=(x, y), or example=(x,) for one input"
            )
        if self._owner.outdated():
            self._owner = Owner(self.model)
            self._prepared.clear()
        key = situation_of(self._owner, batch)
        if key not in self._prepared:
            self._prepared[key] = self._prepare(batch)
        return self._prepared[key]

    def execute(self, prepared: Prepared, batch: Sequence[Any]) -> Any:
        """Runs a prepared step, whichever plan it has, on a batch like the one that it was prepared for."""
        owner, capture = self._owner, prepared.capture
        self.group.broadcast_buffers(owner.buffers())
        with torch.no_grad(), torch._C._DisableAutocast(), torch._C._AutoDispatchBelowAutograd():
            loss, extras, gradients, updates = prepared.run(prepared.resident(owner, batch))
        with torch.no_grad():
            for name, gradient in zip(capture.gradients, gradients, strict=True):
                owner.parameter(name).grad = gradient
            for name, value in zip(capture.buffer_updates, updates, strict=True):
                owner.buffer(name).copy_(value)
        self.group.average([p.grad for p in owner.parameters() if p.requires_grad and p.grad is not None])
        if capture.extras_spec is None:
            return loss
        return (loss, *pytree.tree_unflatten(extras, capture.extras_spec))

    def _prepare(self, batch: Sequence[Any]) -> Prepared:
        timings, clock = Timings(), _Clock()
        capture = capture_step(self.model, self.loss_fn, batch)
        accumulated = [n for n in self._owner.names_with_gradient() if n in capture.gradients]
        accumulate_into(capture, {name: _gradient(self._owner, name) for name in accumulated})
        program = lower(capture)
        timings.capture = clock.lap()

        graph, plan, timings.costs, timings.solve = self.group.agree(
            fingerprint(program), lambda: self._decide(program, batch, accumulated)
        )
        return Prepared(program, graph, plan, accumulated, timings, _compiled(program, plan))

    def _decide(self, program: Program, batch: Sequence[Any], accumulated: list[str]) -> tuple[Graph, Plan, float, float]:
        clock = _Clock()
        reserve = self.options.reserve
        costs, unit = self._costs(program, batch, accumulated)
        graph = planning_graph(
            program,
            costs,
            name=type(self.model).__name__,
            cost_unit=unit,
            reserved_bytes=parse_bytes(reserve) if isinstance(reserve, str) else reserve,
        )
        measuring = clock.lap()
        return graph, self._solve(graph), measuring, clock.lap()

    def _costs(self, program: Program, batch: Sequence[Any], accumulated: list[str]) -> tuple[list[UnitCost], str]:
        if self.options.costs == "flops":
            return estimated_costs(program), "flop"
        cache = CostCache(program.capture.device, self.options.cache)
        resident = _resident(program, self._owner, batch, accumulated)
        with counting(self.options.progress, "measuring ops") as progress:
            return measured_costs(program, resident, cache, progress), "ns"

    def _solve(self, graph: Graph) -> Plan:
        if self.options.budget is None:
            return Plan.keep_all(graph)
        budget = graph.parse_budget(self.options.budget)
        if isinstance(self.options.budget, str) and self.options.budget.endswith("%"):
            budget -= graph.reserved_bytes  # the share is of what the step takes; the reserve is a part of it
        try:
            return checkmate.solve(
                graph,
                budget,
                order=self.options.order,
                time_limit=self.options.time_limit,
                threads=self.options.threads,
                seed=self.options.seed,
                progress=self.options.progress,
            )
        except InfeasibleError as error:
            told = f"{error}; of it, {_standing(graph)}"
            raise InfeasibleError(told, error.budget, error.needed, error.op, error.sufficient) from None


def _compiled(program: Program, plan: Plan) -> Run:
    capture = program.capture
    results = [
        capture.loss,
        capture.extras,
        list(capture.gradients.values()),
        list(capture.buffer_updates.values()),
    ]
    return compile_steps(program, plan.steps, plan.frees, results)


def _standing(graph: Graph) -> str:
    """What no plan can drop."""
    results = sum(tensor.bytes for tensor in graph.tensors if tensor.output)
    resident = graph.fixed_bytes - graph.reserved_bytes
    reserve = f"{bytes_text(graph.reserved_bytes)} are the reserve, " if graph.reserved_bytes else ""
    return f"{reserve}{bytes_text(resident)} parameters, buffers and the batch, {bytes_text(results)} gradients and other results"


def _resident(program: Program, owner: Owner, batch: Sequence[Any], accumulated: Sequence[str]) -> list[torch.Tensor]:
    constants = program.capture.constants
    return [
        *owner.parameters(),
        *owner.buffers(),
        *_tensors(batch),
        *(_gradient(owner, name) for name in accumulated),
        *(constants[str(node.target)] for node in program.residents if node.op == "get_attr"),
    ]


def _tensors(batch: Sequence[Any]) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(tuple(batch)) if isinstance(leaf, torch.Tensor)]


def _gradient(owner: Owner, name: str) -> torch.Tensor:
    gradient = owner.parameter(name).grad
    assert gradient is not None, "the situation says which parameters have a gradient"
    return gradient


class _Clock:
    def __init__(self) -> None:
        self._last = time.perf_counter()

    def lap(self) -> float:
        before, self._last = self._last, time.perf_counter()
        return self._last - before
