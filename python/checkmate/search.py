"""Searches: for a plan at one budget, at many budgets, and for the largest batch."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

from . import _checks, _core
from .errors import Error, InfeasibleError, NoPlanError
from .graph import Graph, handle_of, load
from .plan import Plan
from .progress import ProgressLine, ProgressOption, listening
from .tradeoff import Sweep, SweepPoint

__all__ = ["LeastBudget", "MaxBatch", "SolveOptions", "least_budget", "max_batch", "solve", "sweep"]

_MOST_THREADS = 8


class SolveOptions(TypedDict, total=False):
    """The options that :func:`solve`, :func:`sweep` and :func:`max_batch` share; see :func:`solve`."""

    order: str
    time_limit: float
    threads: int | None
    seed: int
    gap: float
    patience: float
    moves: int
    progress: ProgressOption


def solve(
    graph: Graph,
    budget: str | int,
    *,
    method: str = _core.default_method,
    order: str = _core.default_order,
    time_limit: float = _core.default_time_limit,
    threads: int | None = None,
    seed: int = _core.default_seed,
    gap: float = _core.default_gap,
    patience: float = _core.default_patience,
    moves: int = _core.default_moves,
    start: Plan | Iterable[int] | None = None,
    progress: ProgressOption = None,
) -> Plan:
    """The cheapest plan within the budget that can be found in time.

    ``budget``: bytes for everything, as :meth:`Graph.parse_budget` reads them: ``"60%"``, ``"6GiB"``, an int.
    ``method``: one of :func:`checkmate.methods`. ``order``: ``"free"`` lets first runs move too.
    ``time_limit``: in seconds; then the best plan so far is returned. ``threads``: all cores, at most 8, by default.
    ``gap``: stop when the plan is proven to be this close to the best. ``patience``: stop when for this many seconds no plan was
    found that saves a thousandth of keep-all's cost more (0: never). ``moves``: stop after this many moves (0: no limit);
    the same ``seed`` and ``threads`` then give the same plan. ``start``: a plan, or the op of each step, to start from;
    ignored if it does not fit.
    ``progress``: a function that is called with each :class:`Progress`; ``False`` for none; ``None`` for a live line on stderr if
    that is a terminal or a notebook. An exception that it raises ends the search and is raised here.

    Other Python threads keep running. Ctrl-C in the main thread ends the search: the best plan so far is returned, or
    ``KeyboardInterrupt`` is raised if there is none, or at a second Ctrl-C.

    Raises :class:`InfeasibleError` if it is proven that no plan fits, :class:`NoPlanError` if none was found, and
    :class:`Error` for invalid options.
    """
    handle = handle_of(graph)
    count = graph.parse_budget(budget)
    options = _options(method, order, time_limit, threads, seed, gap, patience, moves, _steps(start))
    with listening(progress, ProgressLine(graph)) as listener:
        result = _core.solve(handle, count, options, *listener)
    plan = _plan(graph, count, order, seed, result)
    if plan is not None:
        return plan
    raise _no_plan(graph, count, result)


def sweep(
    graph: Graph,
    budgets: str | Iterable[str | int],
    methods: Sequence[str] = (_core.default_method,),
    *,
    start: Plan | Iterable[int] | None = None,
    **options: Unpack[SolveOptions],
) -> Sweep:
    """Every method at every budget, from the smallest up: each point starts from the plan of the previous one, so that more
    memory never costs more.

    ``budgets``: ``"90%..20%:10%"``, ``"60%,6GiB"``, or a list. The points are a list, sorted by method, then by rising budget,
    with ``to_frame()`` and ``plot()``.
    The options are those of :func:`solve`, for each point. Ctrl-C ends the sweep: the points so far are returned.
    """
    handle = handle_of(graph)
    if isinstance(budgets, str):
        counts = handle.parse_budgets(_checks.text(budgets, "budgets"))
    else:
        counts = [graph.parse_budget(budget) for budget in budgets]
    names = [_checks.text(name, "each of methods") for name in _checks.sequence(methods, "methods")]
    line = ProgressLine(graph)
    done = 0

    def count_point(_budget: int, _method: str) -> None:
        nonlocal done
        done += 1
        line.begin(f"{done} of {len(counts) * len(names)} done, ")

    with listening(options.get("progress"), line) as listener:
        rows = _core.sweep(handle, counts, names, _shared(_core.default_method, options, start), *listener, count_point)
    order, seed = options.get("order", _core.default_order), options.get("seed", _core.default_seed)
    return Sweep(
        graph,
        [
            SweepPoint(
                budget,
                method,
                _plan(graph, budget, order, seed, result),
                result.status,
                result.lower_bound,
                result.detail,
                stage_lower_bound=result.stage_lower_bound,
                seconds=result.seconds,
                stop_reason=result.stop_reason,
            )
            for budget, method, result in rows
        ],
    )


@dataclass(frozen=True, slots=True)
class LeastBudget:
    """The smallest budget that has a plan lies between ``needed`` and ``sufficient``, both with fixed memory."""

    needed: int
    """Proven: no plan of the order fits in less."""
    sufficient: int
    """The peak of ``plan``."""
    plan: Plan
    """Chosen for its peak, not for its cost."""
    detail: str
    """Why so much is needed."""
    seconds: float


def least_budget(
    graph: Graph,
    *,
    order: str = _core.default_order,
    time_limit: float = _core.default_least_budget_time_limit,
    threads: int | None = None,
    seed: int = _core.default_seed,
    gap: float = _core.default_least_budget_gap,
    start: Plan | Iterable[int] | None = None,
) -> LeastBudget:
    """The smallest budget that has a plan: a proof that so much is needed, and a plan that needs so much.

    Keep-all is a plan, so there is always an answer; more time only brings the two figures closer. The search ends when they
    are within ``gap`` of each other. ``start``: a plan to begin with. The other options are those of :func:`solve`. Ctrl-C ends
    the search: what it knows so far is returned.
    """
    options = _options("auto", order, time_limit, threads, seed, gap, 0.0, 0, _steps(start))
    row = _core.least_budget(handle_of(graph), options, None)
    needed, sufficient, handle, cost, method, detail, seconds = row
    plan = Plan(
        graph=graph,
        budget=sufficient,
        cost=cost,
        peak=sufficient,
        lower_bound=graph.keep_all_cost,
        stage_lower_bound=None,
        status="feasible",
        method=method,
        order=order,
        seed=seed,
        detail="",
        stop_reason="exhausted",
        seconds=seconds,
        first_plan_seconds=seconds,
        _handle=handle,
    )
    return LeastBudget(needed, sufficient, plan, detail, seconds)


@dataclass(frozen=True, slots=True)
class MaxBatch:
    """The largest batch that was found."""

    batch: int
    """0 if none fits."""
    upper_limit: int
    """Proven: no larger batch has a plan."""
    proven: bool
    """Whether ``batch`` equals ``upper_limit``."""
    overhead: float
    """Of the plan for ``batch``."""
    certificate: str
    """Why a larger batch does not fit, or that this is not proven."""
    seconds: float


def max_batch(
    network: str | Callable[[int], Graph],
    memory: str | int,
    *,
    extra_forward: float = 1.0,
    method: str = _core.default_method,
    largest: int = 2**20,
    **options: Unpack[SolveOptions],
) -> MaxBatch:
    """The largest batch whose plan fits the memory and costs at most ``extra_forward`` forward passes more than running every
    op once.

    ``network``: a name of the zoo such as ``"zoo:vgg19"``, or a function that builds the graph for a batch, whose bytes and costs
    must not fall as the batch grows. The function is called at most once per batch, with numbers up to ``largest``; what it
    raises is raised here. ``memory``: bytes for everything, as an int or ``"16GB"``. The options are those of :func:`solve`, for
    each batch that is tried. Ctrl-C ends the search: the largest batch so far is returned.
    """
    build = _zoo_network(network) if isinstance(network, str) else network
    if not callable(build):
        raise TypeError(f"network must be a name of the zoo or a function, got {network!r:.60}")
    count = _memory(memory)
    share = _checks.number(extra_forward, "extra_forward")
    if share < 0:
        raise Error(f"extra_forward must be 0 or more, got {share:g}")
    graphs: dict[int, _core.Graph] = {}

    def graph_of(batch: int) -> _core.Graph:
        if batch not in graphs:
            graphs[batch] = handle_of(build(batch))
        return graphs[batch]

    line = ProgressLine(None, "looking for the largest batch, ")

    def tell_probe(batch: int, fits: bool) -> None:
        line.begin(f"batch {batch} {'fits' if fits else 'found no plan'}, ")

    with listening(options.get("progress"), line) as listener:
        row = _core.max_batch(
            graph_of,
            count,
            share,
            _shared(method, options, None),
            _checks.natural(largest, "largest"),
            *listener,
            tell_probe,
        )
    batch, upper_limit, proven, certificate, overhead, seconds = row
    return MaxBatch(batch, upper_limit, proven, overhead, certificate, seconds)


def _options(
    method: str,
    order: str,
    time_limit: float,
    threads: int | None,
    seed: int,
    gap: float,
    patience: float,
    moves: int,
    start: Sequence[int],
) -> _core.SolveOptions:
    return _core.SolveOptions(
        _checks.text(method, "method"),
        _checks.text(order, "order"),
        _checks.number(time_limit, "time_limit"),
        _cores() if threads is None else _checks.whole(threads, "threads", limit=2**31),
        _checks.natural(seed, "seed"),
        _checks.number(gap, "gap"),
        _checks.number(patience, "patience"),
        _checks.natural(moves, "moves"),
        start,
    )


def _shared(method: str, options: SolveOptions, start: Plan | Iterable[int] | None) -> _core.SolveOptions:
    unknown = set(options) - set(SolveOptions.__annotations__)
    if unknown:
        raise TypeError(f"unknown option {min(unknown)!r}; the options are {', '.join(SolveOptions.__annotations__)}")
    return _options(
        method,
        options.get("order", _core.default_order),
        options.get("time_limit", _core.default_time_limit),
        options.get("threads"),
        options.get("seed", _core.default_seed),
        options.get("gap", _core.default_gap),
        options.get("patience", _core.default_patience),
        options.get("moves", _core.default_moves),
        _steps(start),
    )


def _cores() -> int:
    return min(_MOST_THREADS, len(os.sched_getaffinity(0)))


def _steps(start: Plan | Iterable[int] | None) -> Sequence[int]:
    if start is None:
        return ()
    return start.steps if isinstance(start, Plan) else _checks.indices(start, "start")


def _plan(graph: Graph, budget: int, order: str, seed: int, result: _core.SolveResult) -> Plan | None:
    handle = result.plan
    if handle is None or result.cost is None or result.peak is None:
        return None
    return Plan(
        graph=graph,
        budget=budget,
        cost=result.cost,
        peak=result.peak,
        lower_bound=result.lower_bound,
        stage_lower_bound=result.stage_lower_bound,
        status=result.status,
        method=result.method,
        order=order,
        seed=seed,
        detail=result.detail,
        stop_reason=result.stop_reason,
        seconds=result.seconds,
        first_plan_seconds=result.first_plan_seconds,
        _handle=handle,
    )


def _no_plan(graph: Graph, budget: int, result: _core.SolveResult) -> InfeasibleError | NoPlanError:
    because = f": {result.detail}" if result.detail else ""
    enough = f"; {_bytes(result.sufficient)} suffice (a plan is known)" if result.sufficient is not None else ""
    if result.status == "infeasible":
        needed = result.needed if result.needed is not None else budget + 1
        needs = f"; every plan needs at least {_bytes(needed)} (proven)"
        enough = ", and that suffices" if result.sufficient == needed else enough
        message = f"no plan fits {_core.bytes_text(budget)}{because}{needs}{enough}"
        op = handle_of(graph).op_name(graph.structural_minimum[1])
        return InfeasibleError(message, budget, needed, op, result.sufficient)
    message = f"no plan found within {_core.bytes_text(budget)}{because}{enough}"
    return NoPlanError(message, budget, result.sufficient, result.stop_reason, result.needed)


def _bytes(count: int) -> str:
    return f"{count} bytes ({_core.bytes_text(count)})"


def _memory(memory: str | int) -> int:
    if not isinstance(memory, str):
        return _checks.natural(memory, "memory")
    try:
        return _core.parse_bytes(_checks.text(memory, "memory"))
    except Error as error:
        raise Error(f"memory: {error}") from None


def _zoo_network(spec: str) -> Callable[[int], Graph]:
    name = spec if spec.startswith("zoo:") else f"zoo:{spec}"
    _core.zoo_with_batch(name, 1)  # refused now, not at the first graph
    return lambda batch: load(_core.zoo_with_batch(name, batch))
