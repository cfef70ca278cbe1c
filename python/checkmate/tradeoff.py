"""Cost against memory: what a sweep found at each budget, as a list, a table and a picture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from .errors import MatplotlibMissingError, PandasMissingError
from .graph import Graph
from .plan import Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

__all__ = ["Sweep", "SweepPoint"]


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """What a method found at one budget."""

    budget: int
    method: str
    plan: Plan | None
    status: str
    """``optimal``, ``feasible``, ``infeasible`` or ``unknown``."""
    lower_bound: int
    detail: str
    stage_lower_bound: int | None = None
    """No plan of the paper's class is cheaper (docs/concepts.md); ``None`` if unknown."""
    seconds: float = 0.0
    """How long the search took."""
    stop_reason: str | None = None
    """Why the search ended, as in :class:`Plan`; ``infeasible`` where it is proven that no plan fits."""


class Sweep(list[SweepPoint]):
    """The points of :func:`checkmate.sweep`: a list, sorted by method, then by rising budget."""

    graph: Graph

    def __init__(self, graph: Graph, points: Iterable[SweepPoint] = ()) -> None:
        super().__init__(points)
        self.graph = graph

    def rows(self) -> list[dict[str, Any]]:
        """One per point, with the columns of the CSV that ``checkmate sweep`` writes; ``None`` where there is no plan."""
        return [self._row(point) for point in self]

    def _row(self, point: SweepPoint) -> dict[str, Any]:
        graph, plan = self.graph, point.plan
        return {
            "budget_bytes": point.budget,
            "budget_share": (point.budget - graph.fixed_bytes) / graph.keep_all_peak if graph.keep_all_peak else 1.0,
            "method": point.method,
            "status": point.status,
            "cost": plan and plan.cost,
            "overhead": plan and plan.overhead,
            "peak_bytes": plan and plan.peak,
            "lower_bound": point.lower_bound,
            "stage_lower_bound": point.stage_lower_bound,
            "seconds": point.seconds,
        }

    def to_frame(self) -> DataFrame:
        """``rows()`` as a frame of pandas. Whole numbers stay whole: those that can be missing are of its type ``Int64``."""
        if find_spec("pandas") is None:
            raise PandasMissingError
        pandas = import_module("pandas")
        whole = dict.fromkeys(("budget_bytes", "cost", "peak_bytes", "lower_bound", "stage_lower_bound"), "Int64")
        columns = list(self._row(SweepPoint(0, "", None, "", 0, "")))
        frame: DataFrame = pandas.DataFrame(self.rows(), columns=columns).astype({**whole, "overhead": "float64"})
        return frame

    def _repr_html_(self) -> str | None:
        """How a notebook shows the points: as a table, where pandas is installed."""
        if find_spec("pandas") is None:
            return None
        table: str = self.to_frame().to_html()
        return table

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draws overhead against budget, one line per method, with matplotlib, and returns the axes: those that are given, or
        new ones. Below the grey line no plan is possible. ``checkmate plot tradeoff`` draws the same without matplotlib."""
        if find_spec("matplotlib") is None:
            raise MatplotlibMissingError
        drawn: Axes = import_module("checkmate.plots").draw_tradeoff(self, ax)
        return drawn
