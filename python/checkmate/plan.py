"""Plans: which op runs at each step, what is freed after it, and what is known about the whole."""

from __future__ import annotations

import html
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from . import _checks, _core
from .errors import Error, MatplotlibMissingError
from .graph import Graph, handle_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .tradeoff import SweepPoint

__all__ = ["Plan", "load_plan"]

_SHOWN = 5
_LARGEST_FRAME = 4 * 2**20  # characters; a notebook keeps what it shows in its file


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Plan:
    """A way to run a graph within a budget. Immutable; replayed and checked before you see it.

    Made by :func:`checkmate.solve`, :meth:`keep_all`, :meth:`from_steps` and :func:`checkmate.load_plan`. Two plans are equal
    when they do the same on the same graph and the same is known about them, however long the searches took.
    """

    graph: Graph
    budget: int
    """Bytes that the plan may use, ``graph.fixed_bytes`` included."""
    cost: int
    """The cost of all runs, in ``graph.cost_unit``."""
    peak: int
    """The most bytes in use at any step, ``graph.fixed_bytes`` included."""
    lower_bound: int
    """No plan of that order is cheaper."""
    stage_lower_bound: int | None = None
    """No plan of the paper's class is cheaper (docs/concepts.md); ``None`` if unknown."""
    status: str
    """``optimal`` or ``feasible``."""
    method: str
    """The method that found the plan."""
    order: str
    """``fixed``: first runs follow the graph's order; ``free``: they may move."""
    seed: int = 0
    detail: str = ""
    """A sentence where the status alone does not explain itself."""
    stop_reason: str | None = field(default=None, compare=False)
    """Why the search ended: ``gap_closed``, ``cancelled``, ``time_limit``, ``moves_limit``, ``patience`` or ``exhausted``, else
    ``None``."""
    seconds: float = field(default=0.0, compare=False)
    """How long the search took."""
    first_plan_seconds: float = field(default=0.0, compare=False)
    """How long it took to find the first plan."""
    _handle: _core.Plan = field(hash=False)

    @classmethod
    def keep_all(cls, graph: Graph) -> Plan:
        """Runs every op once, in the graph's order. The budget is the peak of that."""
        return cls._checked(graph, _core.keep_all_plan(handle_of(graph)), method="keep-all")

    @classmethod
    def from_steps(
        cls,
        graph: Graph,
        steps: Iterable[int],
        budget: str | int | None = None,
        *,
        order: str = "fixed",
        method: str = "steps",
        lower_bound: int | None = None,
        seed: int = 0,
    ) -> Plan:
        """A plan made elsewhere: the op of each step. Tensors are freed as early as possible.

        The budget is the plan's peak by default. An :class:`checkmate.Error` says why the steps cannot run, or which limit they
        break. The lower bound is trusted, unless the plan itself is cheaper; by default it is ``graph.keep_all_cost``.
        """
        handle = _core.plan_from_steps(handle_of(graph), _checks.indices(steps, "steps"))
        return cls._checked(
            graph,
            handle,
            budget=None if budget is None else graph.parse_budget(budget),
            order=_checks.text(order, "order"),
            method=_checks.text(method, "method"),
            lower_bound=None if lower_bound is None else _checks.whole(lower_bound, "lower_bound"),
            seed=_checks.natural(seed, "seed"),
        )

    @classmethod
    def from_json(cls, text: str, graph: Graph) -> Plan:
        """A plan of this graph from the text of a plan file, replayed: an :class:`checkmate.Error` says why it cannot run, or
        which claim is false."""
        return cls._recorded(graph, _core.parse_plan(_checks.text(text, "a plan's JSON"), handle_of(graph)), "plan")

    @classmethod
    def _recorded(cls, graph: Graph, record: _core.PlanRecord, source: str) -> Plan:
        plan = cls._checked(
            graph,
            record.plan,
            budget=record.budget,
            order=record.order,
            method=record.method,
            lower_bound=record.lower_bound,
            seed=record.seed,
        )
        for what, claimed, real in (("cost", record.cost, plan.cost), ("peak_bytes", record.peak, plan.peak)):
            if claimed is not None and claimed != real:
                raise Error(f"{source}: the file claims {what} {claimed}, but it is {real}", "invalid_plan")
        return plan

    @classmethod
    def _checked(
        cls,
        graph: Graph,
        handle: _core.Plan,
        *,
        budget: int | None = None,
        order: str = "fixed",
        method: str,
        lower_bound: int | None = None,
        seed: int = 0,
    ) -> Plan:
        cost, peak, _ = _core.simulate(handle_of(graph), handle)
        budget = peak if budget is None else budget
        violations = _core.violations(handle_of(graph), handle, budget, order)
        if violations:
            more = f" (and {len(violations) - 1} more)" if len(violations) > 1 else ""
            raise Error(violations[0] + more, "invalid_plan")
        if lower_bound is not None and lower_bound > cost:
            raise Error(f"lower bound {lower_bound} is above the plan's cost {cost}", "invalid_plan")
        bound = max(graph.keep_all_cost, lower_bound or 0)
        return cls(
            graph=graph,
            budget=budget,
            cost=cost,
            peak=peak,
            lower_bound=bound,
            status="optimal" if cost == bound else "feasible",
            method=method,
            order=order,
            seed=seed,
            _handle=handle,
        )

    @property
    def steps(self) -> list[int]:
        """The op that runs at each step."""
        return self._handle.steps

    @property
    def frees(self) -> list[list[int]]:
        """The tensors that are freed after each step."""
        return self._handle.frees

    @property
    def keep_all_cost(self) -> int:
        """The cost of running every op of the graph once."""
        return self.graph.keep_all_cost

    @property
    def overhead(self) -> float:
        """``cost`` over the cost of running every op once; 1 for a graph that costs nothing."""
        return self.cost / self.keep_all_cost if self.keep_all_cost else 1.0

    @property
    def gap(self) -> float:
        """The share of ``cost`` that the best possible plan saves at most: ``(cost - lower_bound) / cost``."""
        return (self.cost - self.lower_bound) / self.cost if self.cost else 0.0

    @property
    def recomputed(self) -> list[tuple[int, int, int]]:
        """``(op index, runs beyond the first, their cost)``, the most expensive first."""
        return _core.recomputed(handle_of(self.graph), self._handle)

    @property
    def at_peak(self) -> tuple[int, list[int]]:
        """The first step at the peak, and the tensors in memory then, the largest first; without resident ones."""
        return _core.at_peak(handle_of(self.graph), self._handle)

    @property
    def memory(self) -> list[int]:
        """Bytes in use while each step runs, ``graph.fixed_bytes`` included."""
        return _core.simulate(handle_of(self.graph), self._handle)[2]

    def plot(self, kind: Literal["timeline", "map"] = "timeline", *, ax: Axes | None = None) -> Axes:
        """Draws the plan with matplotlib and returns the axes: those that are given, or new ones.

        ``timeline``: memory over the steps, keeping everything against the plan. ``map``: stages against ops, what runs for the
        first time, is recomputed, is kept. ``checkmate plot`` of the command line draws the same without matplotlib.
        """
        if find_spec("matplotlib") is None:
            raise MatplotlibMissingError
        # matplotlib takes a second to import.
        drawn: Axes = import_module("checkmate.plots").draw(self, _checks.text(kind, "kind"), ax)
        return drawn

    def to_json(self) -> str:
        """In the format of docs/file_formats.md; ``from_json`` of it gives the plan again."""
        return _core.plan_to_json(
            handle_of(self.graph),
            self._handle,
            self.budget,
            self.order,
            self.cost,
            self.peak,
            self.lower_bound,
            self.method,
            self.seed,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes ``to_json()`` to a file, as a whole or not at all."""
        _core.write_file(_checks.path(path), self.to_json())

    def to_html(self, points: Iterable[SweepPoint] = (), *, arena: int | None = None, resident: int | None = None) -> str:
        """The page of docs/report.md: the plan next to keep-all, in one file that works offline.

        ``points``: of :func:`checkmate.sweep` on the same graph, for overhead against budget. ``arena``, ``resident``: bytes of
        addresses that all tensors lie in, and of a process that ran the plan, with fixed memory; the page shows them.
        """
        return _core.report_html(
            handle_of(self.graph),
            self._handle,
            self.budget,
            self.order,
            self.method,
            self.lower_bound,
            arena,
            resident,
            [self._point_row(point) for point in points],
        )

    def _point_row(self, point: SweepPoint) -> tuple[int, str, str, int | None, int | None]:
        if point.plan is not None and point.plan.graph != self.graph:
            raise Error(f"the point of {point.method} at {_core.bytes_text(point.budget)} belongs to another graph")
        cost = None if point.plan is None else point.plan.cost
        # Where no plan fits, every bound holds: it says nothing.
        return point.budget, point.method, point.status, cost, None if point.status == "infeasible" else point.lower_bound

    def report(self, path: str | os.PathLike[str], points: Iterable[SweepPoint] = ()) -> None:
        """Writes ``to_html(points)`` to a file, as a whole or not at all."""
        _core.write_file(_checks.path(path), self.to_html(points))

    def _repr_html_(self) -> str | None:
        """How a notebook shows the plan: the page, in a sandboxed frame."""
        page = html.escape(self.to_html())
        if len(page) > _LARGEST_FRAME:
            return None
        style = "width: 100%; height: 760px; border: 0"
        return f'<iframe title="Checkmate report" sandbox="allow-scripts" style="{style}" srcdoc="{page}"></iframe>'

    def __len__(self) -> int:
        """The number of steps."""
        return self._handle.step_count()

    def __str__(self) -> str:
        quality = "optimal" if self.status == "optimal" else f"gap at most {math.ceil(self.gap * 1e5) / 1e3:.3f}%"
        lines = [
            f"{self.graph.name}: peak {_core.bytes_text(self.peak)} of {_core.bytes_text(self.budget)}{_reserve(self.graph)},"
            f" overhead {self.overhead:.4f}x, {quality} ({self.order} order, {self.method})"
        ]
        again = self.recomputed
        if not again:
            return "\n".join([*lines, "recomputes nothing"])
        runs = sum(times for _, times, _ in again)
        total = sum(cost for _, _, cost in again)
        lines.append(f"recomputes {_counted(len(again), 'op')} in {_counted(runs, 'run')}:")
        names = [handle_of(self.graph).op_name(op) for op, _, _ in again[:_SHOWN]]
        width = min(60, max(map(len, names)))
        for name, (_, times, cost) in zip(names, again, strict=False):
            lines.append(f"  {name:<{width}.60}  {times:,} x  {cost / total if total else 0:6.1%} of the extra cost")
        if len(again) > _SHOWN:
            lines.append(f"  and {_counted(len(again) - _SHOWN, 'more op')}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"<checkmate.Plan for {self.graph.name!r}: {len(self)} steps, peak {_core.bytes_text(self.peak)} of"
            f" {_core.bytes_text(self.budget)}, overhead {self.overhead:.4f}, {self.status}>"
        )


def load_plan(path: str | os.PathLike[str], graph: Graph) -> Plan:
    """A plan of this graph from a file, replayed: an :class:`checkmate.Error` says why it cannot run, or which claim is false."""
    return Plan._recorded(graph, _core.read_plan(_checks.path(path), handle_of(graph)), os.fspath(path))


def _reserve(graph: Graph) -> str:
    return f" (both including {_core.bytes_text(graph.reserved_bytes)} reserved)" if graph.reserved_bytes else ""


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
