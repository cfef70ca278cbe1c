"""What training a model takes, before anything runs: its peak, what fills it, the least budget and the price of each."""

from __future__ import annotations

import html
import json
import math
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from checkmate import Graph, InfeasibleError, Plan, Sweep, SweepPoint, _core, solve, sweep
from checkmate._core import bytes_text
from checkmate.progress import ProgressOption
from checkmate.search import SolveOptions
from checkmate.torch.capture import captured
from checkmate.torch.costs import estimated_costs
from checkmate.torch.peak import Part, largest_at_peak, parts_at_peak
from checkmate.torch.planning_graph import planning_graph
from checkmate.torch.sharding.estimate import Accelerator, ShardedEstimate, sharded_estimate
from checkmate.torch.sharding.interconnect import Interconnect
from checkmate.torch.tables import aligned
from checkmate.torch.trace import LossFn

_GAP = 2e-3  # as in compile(): costs are not known any better
_SHARES = range(100, 0, -10)
_SHOWN, _WIDTH = 8, 60


@dataclass(frozen=True, repr=False)
class Estimate:
    """What a training step takes: made by :func:`checkmate.estimate`, shown by ``print``.

    Amounts are bytes and include the fixed ones: parameters, buffers, the batch, the reserve.
    """

    keep_all: Plan
    """The step without recomputation."""
    parts: list[Part]
    """All that is in memory at its peak, by purpose."""
    largest: list[Part]
    """What a plan may drop of it, by module and op, the largest first."""
    needed: int
    """Proven: no plan fits in less."""
    sufficient: int
    """Known: a plan fits in this."""
    points: Sweep
    """The price of each budget, from the largest down."""
    seconds: float
    """How long the estimate took."""

    @property
    def graph(self) -> Graph:
        """The step's ops and storages, with estimated costs."""
        return self.keep_all.graph

    @property
    def peak(self) -> int:
        """Without recomputation."""
        return self.keep_all.peak

    @property
    def plan(self) -> Plan:
        """That of the smallest budget that has one."""
        return next((point.plan for point in reversed(self.points) if point.plan is not None), self.keep_all)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes the page of docs/report.md, about ``plan`` and with the price of each budget."""
        self.plan.report(path, self.points)

    def to_json(self) -> str:
        """What ``checkmate torch --json`` prints (docs/command_line.md)."""
        graph = self.graph
        return json.dumps(
            {
                "graph": graph.name,
                "ops": len(graph),
                "cost_unit": graph.cost_unit,
                "keep_all_cost": graph.keep_all_cost,
                "fixed_bytes": graph.fixed_bytes,
                "peak_bytes": self.peak,
                "at_peak": [_part_record(part) for part in self.parts],
                "largest_at_peak": [_part_record(part) for part in self.largest],
                "needed_bytes": self.needed,
                "sufficient_bytes": self.sufficient,
                "points": [_point_record(point) for point in self.points],
                "seconds": self.seconds,
            }
        )

    def __str__(self) -> str:
        graph = self.graph
        return "\n".join(
            [
                f"{graph.name}: peak {bytes_text(self.peak)} without recomputation, {len(graph):,} ops",
                f"least budget: {self._least()}",
                "",
                *aligned(["at the peak", "tensors", "size", "of the peak"], [self._part_row(part) for part in self.parts]),
                "",
                *self._largest_lines(),
                *aligned(["budget", "share", "peak", "overhead", "gap"], [self._point_row(point) for point in self.points]),
                "",
                "Costs are estimated (flops) and workspace of ops is not counted: checkmate.compile measures both.",
            ]
        )

    def __repr__(self) -> str:
        peak, least = bytes_text(self.peak), bytes_text(self.sufficient)
        return f"<checkmate.torch.Estimate of {self.graph.name}: peak {peak}, {least} suffice>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def _least(self) -> str:
        if self.needed == self.peak:
            return f"{bytes_text(self.needed)} (proven): recomputation saves nothing"
        if self.needed == self.sufficient:
            return f"{bytes_text(self.needed)} (proven)"
        return f"{bytes_text(self.sufficient)} suffice, {bytes_text(self.needed)} are needed (proven)"

    def _largest_lines(self) -> list[str]:
        if not self.largest:
            return []
        rows = [self._part_row(part) for part in self.largest[:_SHOWN]]
        more = len(self.largest) - _SHOWN
        others = [f"and {more} more"] if more > 0 else []
        return [*aligned(["of it, a plan may drop", "tensors", "size", "of the peak"], rows), *others, ""]

    def _part_row(self, part: Part) -> list[str]:
        count = f"{part.tensors:,}" if part.tensors else "-"
        name = part.name if len(part.name) <= _WIDTH else "..." + part.name[3 - _WIDTH :]  # its end says more
        return [name, count, bytes_text(part.bytes), f"{part.bytes / self.peak:.1%}"]

    def _point_row(self, point: SweepPoint) -> list[str]:
        graph, plan = self.graph, point.plan
        share = f"{(point.budget - graph.fixed_bytes) / graph.keep_all_peak:.1%}"
        if plan is None:
            why = "no plan fits" if point.status == "infeasible" else "none found"
            return [bytes_text(point.budget), share, why, "-", "-"]
        gap = "0" if plan.gap == 0 else f"{math.ceil(plan.gap * 1e4) / 1e2:.2f}%"
        return [bytes_text(point.budget), share, bytes_text(plan.peak), f"{plan.overhead:.4f}x", gap]


def estimate(
    model: torch.nn.Module,
    loss_fn: LossFn,
    example: Sequence[Any],
    *,
    budgets: str | Iterable[str | int] | None = None,
    reserve: str | int = 0,
    ranks: int | Iterable[int] | None = None,
    network: Interconnect | None = None,
    accelerator: Accelerator | None = None,
    state_per_parameter: int = 8,
    order: str = _core.default_order,
    time_limit: float = 1.0,
    threads: int | None = None,
    seed: int = _core.default_seed,
    progress: ProgressOption = None,
) -> Estimate | ShardedEstimate:
    """What a training step of the model takes: its peak, what fills it, the least budget, and the price of each budget.

    Nothing runs and nothing is allocated: model and batch may be on the ``meta`` device, made of fake tensors, or real. So a
    model can be asked about that does not fit on this machine. What is on ``meta`` counts as being on the device of the others,
    on the CPU if there are none.

    Costs are estimated, and workspace of ops is not known, as in ``checkmate.compile(costs="flops")``.

    ``budgets``: as :func:`checkmate.sweep` takes them; by default from 100% in steps of 10% down to the least budget.
    ``reserve``: other memory to leave free, as in :func:`checkmate.compile`. ``time_limit``: seconds for each budget, and for the
    least one. ``order``, ``threads``, ``seed``, ``progress``: see :func:`checkmate.solve`.

    With ``ranks``, a number or several, parameters are sharded over so many processes, and ``example`` is the batch of one of
    them. ``network`` describes what is between them and ``accelerator`` what they run on; its memory is the budget of each.
    ``state_per_parameter``: bytes of the optimizer for an element of a parameter. The result is a
    :class:`checkmate.torch.ShardedEstimate`: peaks, gathers and predicted times of a plan, and of what is usually done.

    Changes neither the model nor the state of random generators. Raises :class:`CaptureError` if the step is not a graph of
    fixed shapes.
    """
    begin = time.perf_counter()
    reserved = _core.parse_bytes(reserve) if isinstance(reserve, str) else reserve
    if ranks is not None:
        return sharded_estimate(
            model,
            loss_fn,
            example,
            ranks=ranks,
            network=network,
            accelerator=accelerator,
            reserve=reserved,
            state_per_parameter=state_per_parameter,
            order=order,
            time_limit=time_limit,
            threads=threads,
            seed=seed,
            progress=progress,
        )
    state, program, _ = captured(model, loss_fn, example, values=False)
    costs, name = estimated_costs(program), type(state.model).__name__
    graph = planning_graph(program, costs, name, cost_unit="flop", order=order, reserved_bytes=reserved)
    options = SolveOptions(order=order, time_limit=time_limit, threads=threads, seed=seed, gap=_GAP, progress=progress)
    needed, sufficient = _least_budget(graph, options)
    points = sweep(graph, _default_budgets(graph, sufficient) if budgets is None else budgets, **options)
    keep_all = Plan.keep_all(graph)
    return Estimate(
        keep_all=keep_all,
        parts=parts_at_peak(program, keep_all),
        largest=largest_at_peak(program, keep_all),
        needed=needed,
        sufficient=sufficient,
        points=Sweep(graph, points[::-1]),
        seconds=time.perf_counter() - begin,
    )


def _least_budget(graph: Graph, options: SolveOptions) -> tuple[int, int]:
    """(needed, sufficient) bytes: what the solver tells of a budget that is too small."""
    longer: SolveOptions = {**options, "time_limit": 5 * options["time_limit"]}  # a fifth of it is for that
    try:
        solve(graph, graph.fixed_bytes, **longer)
    except InfeasibleError as error:
        return error.needed, error.sufficient or graph.fixed_bytes + graph.keep_all_peak
    raise AssertionError("no step makes do with fixed memory")


def _default_budgets(graph: Graph, sufficient: int) -> list[int]:
    shares = (graph.parse_budget(f"{share}%") for share in _SHARES)
    return [sufficient, *(budget for budget in shares if budget > sufficient)]


def _part_record(part: Part) -> dict[str, Any]:
    return {"name": part.name, "bytes": part.bytes, "tensors": part.tensors}


def _point_record(point: SweepPoint) -> dict[str, Any]:
    plan = point.plan
    return {
        "budget_bytes": point.budget,
        "status": point.status,
        "peak_bytes": plan.peak if plan else None,
        "overhead": plan.overhead if plan else None,
        "gap": plan.gap if plan else None,
    }
