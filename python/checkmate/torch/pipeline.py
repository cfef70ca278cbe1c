"""From a model to a training step within a budget: trace, lower, cost, plan, generate."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.utils import _pytree as pytree

import checkmate
from checkmate import Graph, InfeasibleError, Plan
from checkmate._core import bytes_text, parse_bytes
from checkmate.torch.codegen import Run, generate
from checkmate.torch.cost_cache import CostCache, UnitCost
from checkmate.torch.costs import estimated_costs, measured_costs
from checkmate.torch.distributed import Group
from checkmate.torch.fx_utils import tensors_of, value
from checkmate.torch.guards import ModelState
from checkmate.torch.ir import Program
from checkmate.torch.lowering import lower
from checkmate.torch.options import Options
from checkmate.torch.planning_graph import fingerprint, planning_graph
from checkmate.torch.processor import VARIABLE, working_isa
from checkmate.torch.progress import counting
from checkmate.torch.trace import LossFn, Trace, trace_step


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
    _run: Run = field(repr=False)

    def __call__(self, state: ModelState, batch: Sequence[Any]) -> Any:
        """Leaves gradients in `.grad`, updates buffers, and returns what the loss function returned."""
        trace = self.program.trace
        with torch.no_grad():
            with torch._C._DisableAutocast(), torch._C._AutoDispatchBelowAutograd():
                loss, extras, gradients, updates = self._run(trace.signature.values(state, batch))
            for name, gradient in zip(trace.gradients, gradients, strict=True):
                state.parameter(name).grad = gradient
            for name, value in zip(trace.buffer_updates, updates, strict=True):
                state.buffer(name).copy_(value)
        return loss if trace.extras_spec is None else (loss, *pytree.tree_unflatten(extras, trace.extras_spec))

    @property
    def source(self) -> str:
        """The generated function, as text."""
        return self._run.__doc__ or ""

    def with_plan(self, plan: Plan) -> CompiledStep:
        """The same step by another plan."""
        return replace(self, plan=plan, _run=_generated(self.program, plan))


def build(state: ModelState, loss_fn: LossFn, batch: Sequence[Any], options: Options, group: Group) -> CompiledStep:
    """The planned step of this model on such a batch. Every rank of the group gets the same plan."""
    clock = _Clock()
    program = lower(trace_step(state, loss_fn, batch))
    check_processor(program)
    capture_seconds = clock.lap()

    def decide() -> tuple[Graph, Plan, float, float]:
        clock.lap()
        graph = _with_costs(program, program.trace.signature.values(state, batch), type(state.model).__name__, options)
        cost_seconds = clock.lap()
        return graph, _solve(graph, options), cost_seconds, clock.lap()

    graph, plan, cost_seconds, solve_seconds = group.agree(fingerprint(program), decide)
    return CompiledStep(program, graph, plan, Timings(capture_seconds, cost_seconds, solve_seconds), _generated(program, plan))


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


def _with_costs(program: Program, inputs: Sequence[torch.Tensor], name: str, options: Options) -> Graph:
    costs, unit = _costs(program, inputs, options)
    reserve = parse_bytes(options.reserve) if isinstance(options.reserve, str) else options.reserve
    return planning_graph(program, costs, name=name, cost_unit=unit, reserved_bytes=reserve)


def _costs(program: Program, inputs: Sequence[torch.Tensor], options: Options) -> tuple[list[UnitCost], str]:
    if options.costs == "flops":
        return estimated_costs(program), "flop"
    cache = CostCache(program.trace.device, options.cache)
    with counting(options.progress, "measuring ops") as progress:
        return measured_costs(program, inputs, cache, progress), "ns"


def _solve(graph: Graph, options: Options) -> Plan:
    if options.budget is None:
        return Plan.keep_all(graph)
    try:
        return checkmate.solve(
            graph,
            options.budget,
            order=options.order,
            time_limit=options.time_limit,
            threads=options.threads,
            seed=options.seed,
            progress=options.progress,
        )
    except InfeasibleError as error:
        told = f"{error}; of this, {_standing(graph)}"
        raise InfeasibleError(told, error.budget, error.needed, error.op, error.sufficient) from None


def _standing(graph: Graph) -> str:
    """What no plan can drop."""
    results = sum(tensor.bytes for tensor in graph.tensors if tensor.output)
    resident = graph.fixed_bytes - graph.reserved_bytes
    reserve = f"{bytes_text(graph.reserved_bytes)} are the reserve, " if graph.reserved_bytes else ""
    return (
        f"{reserve}{bytes_text(resident)} are parameters, buffers and the batch, "
        f"and {bytes_text(results)} are gradients and other results"
    )


def _generated(program: Program, plan: Plan) -> Run:
    trace: Trace = program.trace
    results = [trace.loss, trace.extras, list(trace.gradients.values()), list(trace.buffer_updates.values())]
    return generate(program, plan.steps, plan.frees, results)


class _Clock:
    def __init__(self) -> None:
        self._last = time.perf_counter()

    def lap(self) -> float:
        before, self._last = self._last, time.perf_counter()
        return self._last - before
