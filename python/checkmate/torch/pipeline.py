"""From a model to a training step within a budget: trace, lower, cost, plan, generate."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

import checkmate
from checkmate import Graph, InfeasibleError, NoPlanError, Plan, load_plan
from checkmate._core import bytes_text, parse_bytes
from checkmate.torch.addresses import Addresses, planned_addresses
from checkmate.torch.cache import Cache
from checkmate.torch.codegen import generate
from checkmate.torch.costs import Rehearsal, UnitCost, estimated_costs, measured_costs
from checkmate.torch.distributed import Group
from checkmate.torch.execution import Execution, GeneratedExecution, NativeExecution, planned_schedule
from checkmate.torch.fx_utils import tensors_of, value
from checkmate.torch.guards import ModelState
from checkmate.torch.ir import Program
from checkmate.torch.lowering import lower
from checkmate.torch.memory import available_bytes, trim_heap
from checkmate.torch.optimizer import readers_after_updates, with_updates
from checkmate.torch.options import Options
from checkmate.torch.planning_graph import fingerprint, planning_graph
from checkmate.torch.processor import VARIABLE, working_isa
from checkmate.torch.progress import counting
from checkmate.torch.runtime import extension_for
from checkmate.torch.side_effects import run_gradient_hooks
from checkmate.torch.trace import LossFn, trace_step

_MOST_LAYOUTS = 6  # of plans for smaller and smaller budgets


@dataclass(frozen=True)
class Timings:
    """Seconds that the parts of compiling took."""

    capture: float = 0.0
    costs: float = 0.0
    solve: float = 0.0


@dataclass(frozen=True)
class CompiledStep:
    """A planned step for one shape of batch and state of the model."""

    program: Program
    graph: Graph
    plan: Plan
    timings: Timings
    costs: Sequence[UnitCost] = field(repr=False)
    execution: Execution = field(repr=False)

    def __call__(self, state: ModelState, batch: Sequence[Any]) -> Any:
        """Leaves gradients in `.grad`, updates buffers and attributes, and returns what the loss function returned."""
        trace = self.program.trace
        loss, extras = self.execution(state, trace.signature.values(state, batch))
        with torch.no_grad():
            for (module, name), value in trace.attributes.items():
                state.set_attribute(module, name, value)
            run_gradient_hooks(state.parameter(name) for name in (*trace.gradients, *trace.signature.accumulated))
        if trace.extras_spec is None:
            return loss
        return pytree.tree_unflatten(extras, trace.extras_spec)

    @property
    def source(self) -> str:
        """The plan as a Python function."""
        return generate(planned_schedule(self.program, self.plan)).__doc__ or ""

    @property
    def addresses(self) -> Addresses | None:
        """Where its allocations lie, if the runtime runs it and that is known."""
        return self.execution.addresses if isinstance(self.execution, NativeExecution) else None

    def with_plan(self, plan: Plan) -> CompiledStep:
        """The same step by another plan."""
        addresses = _addresses(self.program, plan, self.costs, None)
        return replace(self, plan=plan, execution=_execution(self.program, plan, addresses))


def build(
    state: ModelState,
    loss_fn: LossFn,
    batch: Sequence[Any],
    options: Options,
    group: Group,
    similar: CompiledStep | None = None,
) -> CompiledStep:
    """The planned step of this model on such a batch. Every rank of the group gets the same plan.

    The search starts from the plan of a `similar` step, such as one for another length of the sequence.
    """
    clock = _Clock()
    trace = trace_step(state, loss_fn, batch)
    program = lower(with_updates(trace, state, options.optimizer) if options.optimizer else trace)
    check_processor(program)
    capture_seconds = clock.lap()

    def decide() -> tuple[Sequence[UnitCost], Graph, Plan, Addresses | None, float, float]:
        clock.lap()
        costs = _costs(program, program.trace.signature.values(state, batch), options)
        cost_seconds = clock.lap()
        graph, plan, addresses = _planned(program, costs, type(state.model).__name__, options, similar.plan if similar else None)
        return costs, graph, plan, addresses, cost_seconds, clock.lap()

    costs, graph, plan, addresses, cost_seconds, solve_seconds = group.agree(fingerprint(program), decide)
    timings = Timings(capture_seconds, cost_seconds, solve_seconds)
    trim_heap()  # measuring and searching took more than the step will
    return CompiledStep(program, graph, plan, timings, costs, _execution(program, plan, addresses))


def check_processor(program: Program) -> None:
    """Refuses a step whose kernels would end the process, which a child process has found out."""
    kinds = {tensor.dtype for unit in program.units for call in unit.calls for tensor in tensors_of(value(call.node))}
    if program.trace.device.type != "cpu" or not kinds & {torch.bfloat16, torch.float16} or VARIABLE in os.environ:
        return
    isa = working_isa()
    if isa is not None:
        raise checkmate.Error(
            "oneDNN's kernels for 16-bit numbers end the process on this machine: the processor announces instructions that the "
            f"machine forbids; start Python with {VARIABLE}={isa}"
        )


def _costs(program: Program, inputs: Sequence[torch.Tensor], options: Options) -> Sequence[UnitCost]:
    estimated = estimated_costs(program)
    if options.costs == "flops":
        return estimated
    with counting(options.progress, "measuring the step, run") as progress:
        estimate = planning_graph(program, estimated, "", cost_unit="flop", order=options.order, reserved_bytes=_reserve(options))
        rehearsal = _rehearsal(estimate, program.trace.device, options)
        return measured_costs(program, inputs, rehearsal, Cache(options.cache), progress)


def _reserve(options: Options) -> int:
    return parse_bytes(options.reserve) if isinstance(options.reserve, str) else options.reserve


def _planned(
    program: Program, costs: Sequence[UnitCost], name: str, options: Options, start: Plan | None
) -> tuple[Graph, Plan, Addresses | None]:
    """A plan in which nobody reads a parameter after its update. Each round forbids what the one before did wrong."""
    once: set[int] = set()
    unit = "flop" if options.costs == "flops" else "ns"
    while True:
        graph = planning_graph(
            program, costs, name, cost_unit=unit, order=options.order, reserved_bytes=_reserve(options), once=once
        )
        plan, addresses = _fitting(program, graph, costs, options, start)
        late = readers_after_updates(program, plan.steps)
        if not late:
            return graph, plan, addresses
        once |= late


def _fitting(
    program: Program, graph: Graph, costs: Sequence[UnitCost], options: Options, start: Plan | None
) -> tuple[Plan, Addresses | None]:
    """A plan whose arena fits the budget, not only its peak. What the layout of one leaves over, the next must save."""
    wanted = plan = _solve(graph, options, start)
    room = plan.budget - graph.fixed_bytes
    addresses = _addresses(program, plan, costs, room if options.budget is not None else None)
    if addresses is None or options.budget is None or options.plan is not None:
        return plan, addresses
    budget = plan.budget
    for _ in range(_MOST_LAYOUTS):
        if addresses.total <= room:
            break
        budget -= max(addresses.total - room, room // 1000)
        try:
            plan = _solve(graph, replace(options, budget=budget), plan)
        except (InfeasibleError, NoPlanError):
            break
        smaller = _addresses(program, plan, costs, room)
        assert smaller is not None
        addresses = smaller
    if addresses.total > room:
        least = graph.fixed_bytes + addresses.total
        raise NoPlanError(
            f"no layout within {bytes_text(wanted.budget)} was found: the values of a plan fit, but not side by side; "
            f"{least} bytes ({bytes_text(least)}) suffice",
            wanted.budget,
            least,
        )
    if plan is not wanted:
        plan = Plan.from_steps(
            graph, plan.steps, wanted.budget, order=plan.order, method=plan.method, lower_bound=wanted.lower_bound, seed=plan.seed
        )
    return plan, addresses


def _addresses(program: Program, plan: Plan, costs: Sequence[UnitCost], room: int | None) -> Addresses | None:
    known = [cost.allocations for cost in costs if cost.allocations is not None]
    if extension_for(program) is None or len(known) < len(costs):
        return None
    return planned_addresses(program, known, plan.steps, plan.frees, room)


def _rehearsal(estimate: Graph, device: torch.device, options: Options) -> Rehearsal:
    """Keep-all, if there is memory for it; otherwise a plan within the budget, from estimated costs."""
    plan = Plan.keep_all(estimate)
    if options.budget is not None and plan.peak - estimate.fixed_bytes > available_bytes(device):
        plan = _solve(estimate, options, None)
    return Rehearsal(plan.steps, plan.frees)


def _solve(graph: Graph, options: Options, start: Plan | None) -> Plan:
    if options.plan is not None:
        return _given_plan(graph, options.plan, options)
    if options.budget is None:
        return Plan.keep_all(graph)
    budget = graph.parse_budget(options.budget)
    cache = Cache(options.cache)
    cached = cache.path("plans", f"{graph.sha256} {budget} {options.order} {options.time_limit} {options.gap}")
    with contextlib.suppress(checkmate.Error):
        return load_plan(cached, graph)
    try:
        plan = checkmate.solve(
            graph,
            budget,
            order=options.order,
            time_limit=options.time_limit,
            gap=options.gap,
            threads=options.threads,
            seed=options.seed,
            start=start if start is not None and len(start.graph) == len(graph) else None,
            progress=options.progress,
        )
    except InfeasibleError as error:
        told = f"{error}; of this, {_standing(graph)}"
        raise InfeasibleError(told, error.budget, error.needed, error.op, error.sufficient) from None
    with contextlib.suppress(checkmate.Error, OSError):
        cached.parent.mkdir(parents=True, exist_ok=True)
        plan.save(cached)
        cache.make_room("plans")
    return plan


def _given_plan(graph: Graph, given: Plan | Path, options: Options) -> Plan:
    """The plan on this graph: costs may have been measured anew since it was found."""
    steps = given.steps if isinstance(given, Plan) else _read_steps(given)
    try:
        return Plan.from_steps(graph, steps, options.budget, order=options.order, method="given")
    except checkmate.Error as error:
        raise checkmate.Error(f"the plan that was given does not fit this step: {error}", "invalid_plan") from None


def _read_steps(path: Path) -> list[int]:
    try:
        steps = json.loads(path.read_text())["steps"]
    except OSError as error:
        raise checkmate.Error(f"{path}: {error.strerror}", "io") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise checkmate.Error(f"{path}: not a plan file; write one with step.plan.save()", "invalid_file") from None
    return steps  # type: ignore[no-any-return]  # from_steps() checks it


def _standing(graph: Graph) -> str:
    """What no plan can drop."""
    results = sum(tensor.bytes for tensor in graph.tensors if tensor.output)
    resident = graph.fixed_bytes - graph.reserved_bytes
    reserve = f"{bytes_text(graph.reserved_bytes)} are the reserve, " if graph.reserved_bytes else ""
    return (
        f"{reserve}{bytes_text(resident)} are parameters, buffers and the batch, "
        f"and {bytes_text(results)} are gradients and other results"
    )


def _execution(program: Program, plan: Plan, addresses: Addresses | None) -> Execution:
    extension, planned = extension_for(program), planned_schedule(program, plan)
    return GeneratedExecution(planned) if extension is None else NativeExecution(extension, planned, addresses)


class _Clock:
    def __init__(self) -> None:
        self._last = time.perf_counter()

    def lap(self) -> float:
        before, self._last = self._last, time.perf_counter()
        return self._last - before
