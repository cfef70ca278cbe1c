"""From a function of tensors to a planned one: capture, lower, cost, plan, run."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from checkmate import Graph, NoPlanError, Plan
from checkmate._cache import Cache
from checkmate._core import bytes_text
from checkmate.frontend.machine import available_memory, trim_heap
from checkmate.frontend.options import PlanningOptions
from checkmate.frontend.planning import solved
from checkmate.frontend.progress import counting
from checkmate.frontend.timings import Timings
from checkmate.tensorflow.capture import Captured, capture
from checkmate.tensorflow.costs import CostCache, Sharing, UnitCost, estimated_costs, measured_costs, raised, seen_sharing
from checkmate.tensorflow.peak import peak_with_writes
from checkmate.tensorflow.planning_graph import held_bytes, late_readers, planning_graph
from checkmate.tensorflow.profiling import profile
from checkmate.tensorflow.program import Program, check_sizes, lower, with_writes
from checkmate.tensorflow.replay import function_of
from checkmate.tensorflow.results import Result
from checkmate.tensorflow.variables import restored, written_values

_MOST_ROUNDS = 6  # of plans that took more than they said


@dataclass(frozen=True)
class CompiledStep:
    """A planned function for one shape of batch."""

    program: Program
    graph: Graph
    plan: Plan
    timings: Timings
    costs: Sequence[UnitCost] = field(repr=False)
    run: Callable[..., list[Any]] = field(repr=False)
    sharing: Sharing = field(repr=False)
    seen_peak: int = 0  # of the run that checked the plan; 0: there was none

    @property
    def predicted_peak(self) -> int:
        """The plan's peak without what its units write over: at most that of the plan, and what was seen at least."""
        return max(self.seen_peak, peak_with_writes(self.program, self.graph, self.plan, self.sharing))

    def __call__(self, *batch: Any) -> Any:
        """What the captured function returns."""
        return self.program.captured.packed(self.run(*batch))

    def with_plan(self, plan: Plan) -> CompiledStep:
        """The same step by another plan."""
        return replace(self, plan=plan, run=function_of(self.program, plan.steps), seen_peak=0)


def build(
    function: Callable[..., Any],
    traced: Sequence[Any],
    batch: Sequence[Any],
    name: str,
    options: PlanningOptions,
    start: Plan | None = None,
) -> CompiledStep:
    """The planned function for batches like this one. `traced` are the specs with which TensorFlow would trace it.

    The search starts from the plan `start`, such as one for another batch.
    """
    begin = time.perf_counter()
    captured = capture(function, traced, batch)
    captured_at = time.perf_counter()
    with restored(captured):
        program, costs, sharing = _costs(captured, batch, options)
        costs_at = time.perf_counter()
        graph, plan, costs, run, seen_peak = _planned(program, costs, batch, name, options, start)
        if options.costs == "measured":
            _tell_other_numbers(program, graph, plan, run, batch)
    trim_heap()  # measuring took more than the step will
    timings = Timings(captured_at - begin, costs=costs_at - captured_at, solve=time.perf_counter() - costs_at)
    return CompiledStep(program, graph, plan, timings, costs, run, sharing, seen_peak)


def _tell_other_numbers(program: Program, graph: Graph, plan: Plan, run: Callable[..., list[Any]], batch: Sequence[Any]) -> None:
    """TensorFlow may choose other kernels where it meets copies. Where there is memory for the step without recomputation, a
    warning tells of other bits."""
    keep_all = Plan.keep_all(graph)
    if keep_all.steps == plan.steps or keep_all.peak - graph.fixed_bytes > available_memory():
        return
    plain = function_of(program, keep_all.steps)
    difference = _result(program.captured, run, batch).difference(_result(program.captured, plain, batch))
    if not difference.none:
        warnings.warn(
            f"the plan computes other bits than the step without recomputation ({difference}): TensorFlow chose other kernels; "
            "another budget may not have that",
            stacklevel=2,
        )


def _result(captured: Captured, run: Callable[..., list[Any]], batch: Sequence[Any]) -> Result:
    with restored(captured):
        return Result.of(captured.packed(run(*batch)), written_values(captured))


def _costs(captured: Captured, batch: Sequence[Any], options: PlanningOptions) -> tuple[Program, list[UnitCost], Sharing]:
    """The program with what its units take, measured on this batch, remembered, or estimated."""
    plain = lower(captured)
    if options.costs == "flops":
        program = with_writes(plain)
        return program, estimated_costs(program), Sharing()
    cache = CostCache(Cache(options.cache), plain)
    known = cache.read()
    if known is not None:
        program = _shared(captured, known[0])
        if len(program.units) == len(known[1]):
            return program, known[1], known[0]
    with counting(options.progress, "measuring the step, run") as progress:
        steps = _rehearsal(plain, options)
        run = function_of(plain, steps)
        run(*batch)  # kernels prepare themselves in their first run
        sharing = seen_sharing(plain, steps, lambda: run(*batch))
        program = _shared(captured, sharing)
        steps = _rehearsal(program, options)
        run = function_of(program, steps)
        run(*batch)
        costs = measured_costs(program, steps, lambda: run(*batch), progress)
    check_sizes(program, {s: cost.more for unit, cost in zip(program.units, costs, strict=True) for s in unit.makes})
    cache.write(sharing, costs)
    return program, costs, sharing


def _shared(captured: Captured, sharing: Sharing) -> Program:
    return with_writes(lower(captured, sharing.aliases, sharing.fused), lambda op: op.name in sharing.writers)


def _rehearsal(program: Program, options: PlanningOptions) -> Sequence[int]:
    """Keep-all, if there is memory for it; otherwise a plan within the budget, from estimated costs."""
    estimate = planning_graph(
        program,
        estimated_costs(program),
        "",
        cost_unit="flop",
        order=options.order,
        reserved_bytes=options.reserved_bytes,
    )
    plan = Plan.keep_all(estimate)
    if options.budget is not None and plan.peak - estimate.fixed_bytes > available_memory():
        plan = solved(estimate, replace(options, plan=None), None)
    return plan.steps


def _planned(
    program: Program,
    costs: list[UnitCost],
    batch: Sequence[Any],
    name: str,
    options: PlanningOptions,
    start: Plan | None,
) -> tuple[Graph, Plan, list[UnitCost], Callable[..., list[Any]], int]:
    """A plan that was seen to take no more than it says. What its units took beyond their costs counts in the next round."""
    once: set[int] = set()
    unit = "flop" if options.costs == "flops" else "ns"
    unexplained = 0  # bytes that no unit's costs tell
    budget: int | None = None  # in bytes: a share is one of the first graph
    for _ in range(_MOST_ROUNDS):
        graph = planning_graph(
            program,
            costs,
            name,
            cost_unit=unit,
            order=options.order,
            reserved_bytes=options.reserved_bytes,
            once=once,
            unexplained=unexplained,
        )
        if budget is None and options.budget is not None:
            budget = options.budget_bytes(graph)
        plan = solved(graph, replace(options, budget=budget), start)
        late = late_readers(program, plan.steps) - once
        if late and options.plan is None:
            once |= late
            continue
        run = function_of(program, plan.steps)
        if options.costs == "flops":
            return graph, plan, costs, run, 0
        run(*batch)
        seen = profile(lambda run=run: run(*batch))  # type: ignore[misc]
        taken = seen.peak + held_bytes(graph)
        if taken <= plan.peak:
            return graph, plan, costs, run, taken
        costs, before, start = raised(program, costs, plan.steps, seen), costs, plan
        if costs == before:
            unexplained += taken - plan.peak
    raise NoPlanError(
        f"no plan was found that takes what it says: the last took {bytes_text(taken)} of "
        f"{bytes_text(plan.peak)}; give it a larger budget",
        plan.budget,
        None,
    )
