"""From a model to a training step within a budget: trace, lower, cost, plan, generate."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import torch
from torch.utils import _pytree as pytree

import checkmate
from checkmate import Graph, Plan
from checkmate._cache import Cache
from checkmate.frontend.machine import trim_heap
from checkmate.frontend.planning import solved
from checkmate.frontend.progress import counting
from checkmate.frontend.timings import Timings
from checkmate.torch.addresses import Addresses
from checkmate.torch.captured import Captured
from checkmate.torch.codegen import generate
from checkmate.torch.costs import Lockstep, UnitCost, alone, estimated_costs, measured_costs
from checkmate.torch.distributed import Group, Measured
from checkmate.torch.execution import Execution, GeneratedExecution, Gradients, NativeExecution, planned_schedule
from checkmate.torch.fx_utils import tensors_of, value
from checkmate.torch.guards import ModelState
from checkmate.torch.ir import Program
from checkmate.torch.lowering import lower
from checkmate.torch.memory import available_bytes, return_large_blocks
from checkmate.torch.optimizer import with_updates
from checkmate.torch.options import Options
from checkmate.torch.planning import plan_addresses, planned
from checkmate.torch.planning_graph import fingerprint, planning_graph
from checkmate.torch.processor import VARIABLE, working_isa
from checkmate.torch.rehearsal import Rehearsal
from checkmate.torch.runtime import extension_for
from checkmate.torch.side_effects import run_gradient_hooks
from checkmate.torch.trace import LossFn, Trace, trace_step

if TYPE_CHECKING:
    from checkmate.torch.fused.fuse import Fused

C = TypeVar("C", bound=Captured)


@dataclass(frozen=True)
class CompiledStep:
    """A planned step for one shape of batch and state of the model."""

    program: Program
    graph: Graph
    plan: Plan
    timings: Timings
    costs: Sequence[UnitCost] = field(repr=False)
    execution: Execution = field(repr=False)
    refused: Mapping[str, str] = field(default_factory=dict, repr=False)  # groups of ops that are not fused, and why

    def __call__(self, state: ModelState, batch: Sequence[Any], held: Gradients | None = None) -> Any:
        """Leaves gradients in `.grad`, or in `held`; updates buffers and attributes; returns what the loss function returned."""
        trace = self.trace
        loss, extras = self.execution(state, trace.signature.values(state, batch), held)
        with torch.no_grad():
            for (module, name), value in trace.attributes.items():
                state.set_attribute(module, name, value)
            if held is None:
                run_gradient_hooks(state.parameter(name) for name in (*trace.gradients, *trace.signature.accumulated))
        if trace.extras_spec is None:
            return loss
        return pytree.tree_unflatten(extras, trace.extras_spec)

    @property
    def trace(self) -> Trace:
        """The step as it was captured."""
        return cast(Trace, self.program.trace)

    @property
    def source(self) -> str:
        """The plan as a Python function."""
        return generate(planned_schedule(self.program, self.plan)).__doc__ or ""

    @property
    def addresses(self) -> Addresses | None:
        """Where its allocations lie, if the runtime runs it and that is known."""
        return self.execution.addresses if isinstance(self.execution, NativeExecution) else None

    def generated(self) -> CompiledStep:
        """The same step by generated Python code."""
        return replace(self, execution=GeneratedExecution(planned_schedule(self.program, self.plan), self.plan))

    def with_plan(self, plan: Plan) -> CompiledStep:
        """The same step by another plan."""
        addresses = plan_addresses(self.program, plan, self.costs)
        return replace(self, plan=plan, execution=execution_of(self.program, plan, addresses))


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
    begin = time.perf_counter()
    trace = trace_step(state, loss_fn, batch, accumulate=options.deliver == "now")
    capture_seconds = time.perf_counter() - begin

    def finished(trace: Trace) -> Trace:
        return with_updates(trace, state, options.optimizer) if options.optimizer else trace

    inputs = trace.signature.values(state, batch)
    found = plan_captured(trace, inputs, type(state.model).__name__, options, group, finished, similar.plan if similar else None)
    timings = replace(found.timings, capture=capture_seconds)
    execution = execution_of(found.program, found.plan, found.addresses, found.room)
    return CompiledStep(found.program, found.graph, found.plan, timings, found.costs, execution, found.refused)


@dataclass(frozen=True)
class Planned:
    """What is planned for a captured graph."""

    program: Program
    graph: Graph
    plan: Plan
    costs: Sequence[UnitCost]
    addresses: Addresses | None
    timings: Timings
    room: int | None  # bytes that the budget leaves for allocations
    refused: Mapping[str, str] = field(default_factory=dict)  # groups of ops that are not fused, and why


def plan_captured(
    captured: C,
    inputs: Sequence[torch.Tensor],
    name: str,
    options: Options,
    group: Group,
    finished: Callable[[C], C] = lambda captured: captured,
    start: Plan | None = None,
) -> Planned:
    """Lowers, measures on these inputs, and plans. `finished` adds what comes after the backward pass."""
    clock = _Clock()
    fused = _fused(captured, finished, options, group) if options.kernels == "fused" else None
    if fused is not None:
        program, refused = fused.program, fused.refused
        options = replace(options, spared_bytes=fused.spared_bytes)
    else:
        program, refused = lower(finished(captured)), {}
    check_processor(program)
    fuse_seconds = clock.lap()

    def measure() -> Measured:
        clock.lap()
        return unit_costs(program, inputs, options, group.in_lockstep), clock.lap()

    def plan_for(measured: Measured, given: Plan | None) -> tuple[Graph, Plan, Addresses | None, float]:
        chosen = options if given is None else replace(options, plan=given)
        return *planned(program, measured[0], name, chosen, start), clock.lap()

    (costs, cost_seconds), (graph, plan, addresses, solve_seconds) = group.costs_and_plan(program, measure, plan_for)
    timings = Timings(kernels=fuse_seconds, costs=cost_seconds, solve=solve_seconds)
    trim_heap()  # measuring and searching took more than the step will
    room = None if options.budget is None else plan.budget - graph.fixed_bytes
    return Planned(program, graph, plan, costs, addresses, timings, room, refused)


def _fused(captured: C, finished: Callable[[C], C], options: Options, group: Group) -> Fused | None:
    """The step over fused kernels; None if they cannot be compiled."""
    fuse = importlib.import_module("checkmate.torch.fused.fuse").fuse  # torch's compiler takes seconds to import
    return cast("Fused | None", fuse(captured, finished, options, group, fingerprint(lower(captured))))


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


def unit_costs(
    program: Program, inputs: Sequence[torch.Tensor], options: Options, in_lockstep: Lockstep = alone
) -> Sequence[UnitCost]:
    """Measured on these inputs, or estimated, as the options say. Ranks that measure together decide `in_lockstep`."""
    estimated = estimated_costs(program)
    if options.costs == "flops":
        return estimated
    return_large_blocks()
    with counting(options.progress, "measuring the step, run") as progress:
        estimate = planning_graph(
            program, estimated, "", cost_unit="flop", order=options.order, reserved_bytes=options.reserved_bytes
        )
        rehearsal = in_lockstep(lambda: _rehearsal(estimate, program.trace.device, options))
        return measured_costs(program, inputs, rehearsal, Cache(options.cache), progress, in_lockstep)


def _rehearsal(estimate: Graph, device: torch.device, options: Options) -> Rehearsal:
    """Keep-all, if there is memory for it; otherwise a plan within the budget, from estimated costs."""
    plan = Plan.keep_all(estimate)
    if options.budget is not None and plan.peak - estimate.fixed_bytes > available_bytes(device):
        plan = solved(estimate, options, None)
    return Rehearsal(plan.steps, plan.frees)


def execution_of(program: Program, plan: Plan, addresses: Addresses | None, room: int | None = None) -> Execution:
    """What runs the plan, at addresses if they are known."""
    extension, planned = extension_for(program), planned_schedule(program, plan)
    return GeneratedExecution(planned, plan) if extension is None else NativeExecution(extension, planned, addresses, room)


class _Clock:
    def __init__(self) -> None:
        self._last = time.perf_counter()

    def lap(self) -> float:
        before, self._last = self._last, time.perf_counter()
        return self._last - before
