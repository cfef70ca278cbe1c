"""What sharded training takes on a machine that is not there: a model of it, from shapes alone."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import fx

from checkmate import Error, Graph, InfeasibleError, NoPlanError, Plan, solve
from checkmate._core import bytes_text, parse_bytes
from checkmate.progress import ProgressOption
from checkmate.search import SolveOptions
from checkmate.torch.capture import traced
from checkmate.torch.costs import UnitCost, flops_of, moved_bytes
from checkmate.torch.fx_utils import value
from checkmate.torch.ir import Program
from checkmate.torch.lowering import lower
from checkmate.torch.planning_graph import planning_graph
from checkmate.torch.sharding.buckets import buckets_of
from checkmate.torch.sharding.collectives import Collective, Gather
from checkmate.torch.sharding.gathers import with_collectives
from checkmate.torch.sharding.interconnect import Interconnect
from checkmate.torch.sharding.placement import Layout
from checkmate.torch.sharding.timeline import duration
from checkmate.torch.sharding.usual import SETTINGS, Setting, usual_steps
from checkmate.torch.sharding.windows import overlapping
from checkmate.torch.tables import aligned
from checkmate.torch.trace import LossFn, Trace

_GAP = 2e-3
_ROOMS = (0.0, 0.15)  # shares of a rank's free memory that are left to messages
_HIDDEN = 10  # messages that ops hide cost a plan little: it is also searched for with a tenth of their costs


@dataclass(frozen=True)
class Accelerator:
    """A device, as the roofline model has it: an op takes as long as its arithmetic or its traffic, whichever takes longer."""

    flops: float
    """Per second, that its kernels reach."""
    bandwidth: float
    """Bytes per second of its memory."""
    memory: int | str
    """Bytes: the budget of a rank."""

    def __post_init__(self) -> None:
        if not (self.flops > 0 and self.bandwidth > 0):
            raise Error(f"an accelerator has flops and bandwidth per second, got {self.flops!r} and {self.bandwidth!r}")

    @property
    def memory_bytes(self) -> int:
        """As a number."""
        return parse_bytes(self.memory) if isinstance(self.memory, str) else self.memory


@dataclass(frozen=True)
class Predicted:
    """A step by the model."""

    peak: int
    """Bytes per rank."""
    seconds: float
    gathers: int
    """Gathers of parameters, or of buckets of them."""
    recomputed: int
    """Runs of ops in addition to their first, gathers aside."""
    plan: Plan


@dataclass(frozen=True)
class OnRanks:
    """What training takes on so many ranks."""

    ranks: int
    budget: int
    fixed: int
    """Bytes of a rank's shards, its state of the optimizer, buffers, and its batch."""
    messages: int
    """That gather each parameter once."""
    planned: Predicted | None
    """None: no plan was found within the budget."""
    needed: int
    """If there is none: bytes that every plan needs, proven."""
    usual: dict[Setting, Predicted]
    seconds: float
    """That planning took."""


@dataclass(frozen=True, repr=False)
class ShardedEstimate:
    """Made by :func:`checkmate.estimate` with ``ranks=``, shown by ``print``. Everything in it is a model."""

    name: str
    points: list[OnRanks]
    seconds: float
    """How long all of it took."""
    capture_seconds: float

    def __str__(self) -> str:
        lines = [
            f"{self.name}: predicted by a model (roofline, alpha-beta network, messages beside ops); nothing was run",
            f"captured in {self.capture_seconds:.1f} s, planned in {self.seconds - self.capture_seconds:.1f} s",
        ]
        for point in self.points:
            rows = [_row("planned", point, point.planned), *(_row(str(s), point, p) for s, p in point.usual.items())]
            lines += [
                "",
                f"{point.ranks:,} ranks, {bytes_text(point.budget)} each, of which {bytes_text(point.fixed)} are fixed; "
                f"{point.messages:,} messages gather all parameters once; planned in {point.seconds:.1f} s",
                *aligned(["", "peak", "gathers", "recomputed", "step"], rows),
            ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        ranks = ", ".join(f"{point.ranks:,}" for point in self.points)
        return f"<checkmate.torch.ShardedEstimate of {self.name} on {ranks} ranks>"


def _row(name: str, point: OnRanks, found: Predicted | None) -> list[str]:
    if found is None:
        return [name, f"{bytes_text(point.needed)} needed", "-", "-", "-"]
    time_or_not = f"{found.seconds:.3f} s" if found.peak <= point.budget else "does not fit"
    return [name, bytes_text(found.peak), f"{found.gathers:,}", f"{found.recomputed:,}", time_or_not]


def sharded_estimate(
    model: Any,
    loss_fn: LossFn,
    example: Sequence[Any],
    *,
    ranks: int | Iterable[int],
    network: Interconnect | None,
    accelerator: Accelerator | None,
    reserve: int,
    state_per_parameter: int,
    order: str,
    time_limit: float,
    threads: int | None,
    seed: int,
    progress: ProgressOption,
) -> ShardedEstimate:
    """See :func:`checkmate.estimate`."""
    if network is None or accelerator is None:
        raise Error(
            "an estimate for ranks= needs network=checkmate.Interconnect(latency=..., bandwidth=...) and "
            "accelerator=checkmate.Accelerator(flops=..., bandwidth=..., memory=...): it knows neither"
        )
    begin = time.perf_counter()
    state, trace = traced(model, loss_fn, example, values=False)
    capture_seconds = time.perf_counter() - begin
    name, parameters = type(state.model).__name__, list(state.parameter_names)
    options = SolveOptions(order=order, time_limit=time_limit, threads=threads, seed=seed, gap=_GAP, progress=progress)
    points = []
    for count in [ranks] if isinstance(ranks, int) else ranks:
        if count < 1:
            raise Error(f"ranks must be 1 or more, got {count}")
        lap, layout = time.perf_counter(), Layout(count)
        local = _copied(trace)
        buckets = buckets_of(local, parameters, layout, network)
        program = lower(with_collectives(local, layout, None, parameters, buckets))
        held = reserve + state_per_parameter * _trained_elements(trace, layout)
        predictor = _Predictor(program, name, network, accelerator, held, order)
        points.append(predictor.on(count, options, lap))
    return ShardedEstimate(name, points, time.perf_counter() - begin, capture_seconds)


def _trained_elements(trace: Trace, layout: Layout) -> int:
    inputs = dict(zip(trace.signature.model_inputs, trace.inputs, strict=False))
    return sum(layout.shard_elements(value(inputs[name]).shape) for name in trace.gradients)


def _copied(trace: Trace) -> Trace:
    """Collectives are put into a graph in place."""
    graph = fx.Graph()
    new: dict[fx.Node, fx.Node] = {}
    graph.output(graph.graph_copy(trace.graph, new))
    return trace.over(graph, [new[node] for node in trace.inputs], new)


class _Predictor:
    def __init__(
        self, program: Program, name: str, network: Interconnect, accelerator: Accelerator, reserved: int, order: str
    ) -> None:
        self._program = program
        self._budget = accelerator.memory_bytes
        self._costs = [cost_of(program, index, network, accelerator) for index in range(len(program.units))]
        self._messages = [isinstance(unit.node.target, Collective) for unit in program.units]
        self._graph = self._graph_with(self._costs, name, order, reserved)
        cheap = [max(1, c // _HIDDEN) if m else c for c, m in zip(self._costs, self._messages, strict=True)]
        self._graph_of_ops = self._graph_with(cheap, name, order, reserved)

    def _graph_with(self, costs: Sequence[int], name: str, order: str, reserved: int) -> Graph:
        units = [UnitCost(cost) for cost in costs]
        return planning_graph(self._program, units, name, cost_unit="ns", order=order, reserved_bytes=reserved)

    def on(self, ranks: int, options: SolveOptions, begin: float) -> OnRanks:
        usual = {s: self._predicted(Plan.from_steps(self._graph, usual_steps(self._program, s))) for s in SETTINGS}
        found, needed = [], 0
        fitting = [p.plan for p in usual.values() if p.peak <= self._budget]
        for graph, room in itertools.product((self._graph, self._graph_of_ops), _ROOMS):
            budget = self._budget - int((self._budget - self._graph.fixed_bytes) * room)
            start = min((Plan.from_steps(graph, plan.steps) for plan in fitting), key=lambda plan: plan.cost, default=None)
            try:
                plan = solve(graph, budget, start=start, **options)
            except (InfeasibleError, NoPlanError) as error:
                needed = needed or getattr(error, "needed", 0)
                continue
            found.append(self._predicted(Plan.from_steps(self._graph, plan.steps, self._budget)))
        found += [predicted for predicted in usual.values() if predicted.peak <= self._budget]
        best = min(found, key=lambda each: each.seconds, default=None)
        messages = sum(isinstance(unit.node.target, Gather) for unit in self._program.units)
        seconds = time.perf_counter() - begin
        return OnRanks(ranks, self._budget, self._graph.fixed_bytes, messages, best, needed, usual, seconds)

    def _predicted(self, plan: Plan) -> Predicted:
        """With messages that go on beside ops, as far as there is room."""
        events = overlapping(self._program, plan, self._costs, max(self._budget, plan.peak))
        gathers = sum(isinstance(self._program.units[unit].node.target, Gather) for unit in plan.steps)
        first = sum(isinstance(unit.node.target, Gather) for unit in self._program.units)
        again = len(plan.steps) - len(self._program.units) - (gathers - first)
        return Predicted(plan.peak, duration(events, self._costs) / 1e9, gathers, again, plan)


def cost_of(program: Program, index: int, network: Interconnect, accelerator: Accelerator) -> int:
    """Nanoseconds of a unit, by the model."""
    unit = program.units[index]
    target = unit.node.target
    if isinstance(target, Collective):
        return network.nanoseconds(target, value(unit.node)[0].itemsize)
    seconds = max(flops_of(unit) / accelerator.flops, moved_bytes(program, unit) / accelerator.bandwidth)
    return max(1, round(1e9 * seconds))
