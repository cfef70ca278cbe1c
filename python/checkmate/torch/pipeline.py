"""From a model to a training step within a budget: trace, lower, cost, plan, generate."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

import checkmate
from checkmate import Graph, InfeasibleError, Plan, load_plan
from checkmate._core import bytes_text, parse_bytes
from checkmate.torch.cache import Cache
from checkmate.torch.codegen import Run, below_autograd, generate
from checkmate.torch.costs import Rehearsal, estimated_costs, measured_costs
from checkmate.torch.distributed import Group
from checkmate.torch.fx_utils import tensors_of, value
from checkmate.torch.guards import ModelState
from checkmate.torch.ir import Program
from checkmate.torch.lowering import lower
from checkmate.torch.memory import available_bytes
from checkmate.torch.optimizer import readers_after_updates, with_updates
from checkmate.torch.options import Options
from checkmate.torch.planning_graph import fingerprint, planning_graph
from checkmate.torch.processor import VARIABLE, working_isa
from checkmate.torch.progress import counting
from checkmate.torch.side_effects import run_gradient_hooks
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
        """Leaves gradients in `.grad`, updates buffers and attributes, and returns what the loss function returned."""
        trace = self.program.trace
        with below_autograd():
            loss, extras, gradients, updates = self._run(trace.signature.values(state, batch))
        with torch.no_grad():
            for name, gradient in zip(trace.gradients, gradients, strict=True):
                parameter = state.parameter(name)
                parameter.grad = gradient if isinstance(gradient, torch.Tensor) else _sparse(parameter, *gradient)
            for name, value in zip(trace.updates, updates, strict=True):
                state.write(name, value)
            for (module, name), value in trace.attributes.items():
                state.set_attribute(module, name, value)
            run_gradient_hooks(state.parameter(name) for name in (*trace.gradients, *trace.signature.accumulated))
        if trace.extras_spec is None:
            return loss
        return pytree.tree_unflatten(extras, trace.extras_spec)

    @property
    def source(self) -> str:
        """The generated function, as text."""
        return self._run.__doc__ or ""

    def with_plan(self, plan: Plan) -> CompiledStep:
        """The same step by another plan."""
        return replace(self, plan=plan, _run=_generated(self.program, plan))


def _sparse(parameter: torch.nn.Parameter, indices: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """As autograd would leave it in `.grad`, added to what is there."""
    gradient = torch.sparse_coo_tensor(indices, values, parameter.shape, check_invariants=False)
    return gradient if parameter.grad is None else parameter.grad + gradient


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

    def decide() -> tuple[Graph, Plan, float, float]:
        clock.lap()
        graph_with = _with_costs(program, program.trace.signature.values(state, batch), type(state.model).__name__, options)
        cost_seconds = clock.lap()
        graph, plan = _planned(program, graph_with, options, similar.plan if similar else None)
        return graph, plan, cost_seconds, clock.lap()

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


GraphWith = Callable[[Set[int]], Graph]  # a graph in which these units run once


def _with_costs(program: Program, inputs: Sequence[torch.Tensor], name: str, options: Options) -> GraphWith:
    reserve = parse_bytes(options.reserve) if isinstance(options.reserve, str) else options.reserve
    make = partial(planning_graph, program, name=name, order=options.order, reserved_bytes=reserve)
    estimate = make(estimated_costs(program), cost_unit="flop")
    if options.costs == "flops":
        return lambda once: make(estimated_costs(program), cost_unit="flop", once=once)
    with counting(options.progress, "measuring the step, run") as progress:
        rehearsal = _rehearsal(estimate, program.trace.device, options)
        costs = measured_costs(program, inputs, rehearsal, Cache(options.cache), progress)
    return lambda once: make(costs, cost_unit="ns", once=once)


def _planned(program: Program, graph_with: GraphWith, options: Options, start: Plan | None) -> tuple[Graph, Plan]:
    """A plan in which nobody reads a parameter after its update. Each round forbids what the one before did wrong."""
    once: set[int] = set()
    while True:
        graph = graph_with(once)
        plan = _solve(graph, options, start)
        late = readers_after_updates(program, plan.steps)
        if not late:
            return graph, plan
        once |= late


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


def _generated(program: Program, plan: Plan) -> Run:
    trace: Trace = program.trace
    results = [trace.loss, trace.extras, list(trace.gradients.values()), list(trace.updates.values())]
    return generate(program, plan.steps, plan.frees, results)


class _Clock:
    def __init__(self) -> None:
        self._last = time.perf_counter()

    def lap(self) -> float:
        before, self._last = self._last, time.perf_counter()
        return self._last - before
