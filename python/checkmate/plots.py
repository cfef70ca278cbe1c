"""Pictures of plans with matplotlib. Imported by ``Plan.plot`` when the first one is drawn, and not before."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch

from . import _core
from .errors import Error
from .graph import handle_of
from .plan import Plan
from .tradeoff import Sweep

__all__ = ["draw", "draw_tradeoff"]

# The palette of Okabe and Ito, which is safe for colour-blind readers; the same as in `checkmate plot`.
_GREY, _BLUE, _VERMILLION, _ORANGE = "#9A9A9A", "#0072B2", "#D55E00", "#E69F00"
_KEPT = "#CFE2F0"
_METHODS = (_VERMILLION, "#009E73", _ORANGE, "#CC79A7", "#222222", "#56B4E9")
_MARKS = "s^Dv<>P"  # one per method, so that colour is not needed
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def draw(plan: Plan, kind: str, ax: Axes | None) -> Axes:
    """Draws on the axes that are given, or on new ones."""
    drawers: dict[str, Callable[[Plan, Axes], None]] = {"timeline": _timeline, "map": _map}
    if kind not in drawers:
        raise Error(f"kind must be {' or '.join(map(repr, drawers))}, got {kind!r:.60}")
    if ax is None:
        _, ax = pyplot.subplots(figsize=(9, 4.5) if kind == "timeline" else (6, 6), layout="constrained")
    drawers[kind](plan, ax)
    return ax


def _timeline(plan: Plan, ax: Axes) -> None:
    graph = plan.graph
    kept = Plan.keep_all(graph)
    unit, unit_name = _unit_for(max(kept.peak, plan.peak, plan.budget))
    for memory, colour, label in (
        (kept.memory, _GREY, f"keep everything: {_core.bytes_text(kept.peak)}"),
        (plan.memory, _BLUE, f"plan: {_core.bytes_text(plan.peak)}, {plan.overhead - 1:.1%} extra cost"),
    ):
        ax.stairs([amount / unit for amount in memory], color=colour, fill=True, alpha=0.2)
        ax.stairs([amount / unit for amount in memory], color=colour, linewidth=1.6, label=label, baseline=None)
    ax.axhline(plan.budget / unit, color=_VERMILLION, linestyle="--", label=f"budget: {_core.bytes_text(plan.budget)}")
    again = _recomputed_steps(plan)
    if again:
        ax.plot(again, [0] * len(again), "|", color=_ORANGE, markersize=12, label=f"{len(again):,} recomputed", zorder=3)
    ax.set_title(graph.name, parse_math=False)
    ax.set(xlabel="step", ylabel=f"memory, {unit_name}", xlim=(0, max(len(kept), len(plan))))
    ax.set_ylim(bottom=0)
    ax.grid(axis="y", color="#E3E3E3")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.08), ncols=2, frameon=False)


def _unit_for(largest: int) -> tuple[int, str]:
    power = 0
    while power + 1 < len(_UNITS) and largest >= 2 * 1024 ** (power + 1):
        power += 1
    return 1024**power, _UNITS[power]


def draw_tradeoff(sweep: Sweep, ax: Axes | None) -> Axes:
    """Overhead against budget, on the axes that are given, or on new ones."""
    if ax is None:
        _, ax = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    graph = sweep.graph
    unit, unit_name = _unit_for(max((point.budget for point in sweep), default=0))
    others = 0
    for method in dict.fromkeys(point.method for point in sweep):
        plans = [(point.budget, point.plan) for point in sweep if point.method == method and point.plan is not None]
        colour, mark, width = _BLUE, "o", 2.0  # ours, when it is there, is what the picture is about
        if method != _core.default_method:
            colour, mark, width = _METHODS[others % len(_METHODS)], _MARKS[others % len(_MARKS)], 1.3
            others += 1
        budgets, overheads = [budget / unit for budget, _ in plans], [plan.overhead for _, plan in plans]
        label = method if plans else f"{method}: no plan"
        ax.plot(budgets, overheads, color=colour, marker=mark, markersize=5, linewidth=width, label=label)
    if bounds := _bounds(sweep):
        budgets, overheads = [budget / unit for budget, _ in bounds], [bound / graph.keep_all_cost for _, bound in bounds]
        # A bound for more memory holds for less: between two budgets it is that of the larger.
        ax.step(budgets, overheads, where="pre", color=_GREY, linewidth=1.0, label="lower bound", zorder=1)
    ax.set_title(graph.name, parse_math=False)
    ax.set(xlabel=f"budget, {unit_name}", ylabel="overhead: cost over that of running every op once")
    ax.grid(color="#E3E3E3")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    if sweep:
        ax.legend(frameon=False)
    return ax


def _bounds(sweep: Sweep) -> list[tuple[int, int]]:
    """The best that is proven at each budget; where no plan fits, every bound holds, and says nothing."""
    best: dict[int, int] = {}
    for point in sweep:
        if point.status != "infeasible" and sweep.graph.keep_all_cost:
            best[point.budget] = max(point.lower_bound, best.get(point.budget, 0))
    return sorted(best.items())


def _recomputed_steps(plan: Plan) -> list[float]:
    seen: set[int] = set()
    again: list[float] = []
    for step, op in enumerate(plan.steps):
        if op in seen:
            again.append(step + 0.5)
        seen.add(op)
    return again


def _map(plan: Plan, ax: Axes) -> None:
    stages, ops, recomputed, kept = _core.stage_map(handle_of(plan.graph), plan._handle)
    first = [(place, place, place) for place in range(len(ops))]
    again = [(place, stage, stage) for stage, place in recomputed]
    legend = []
    for bars, colour, label in (
        (kept, _KEPT, "kept in memory"),
        (first, _BLUE, "runs for the first time"),
        (again, _VERMILLION, "recomputed"),
    ):
        corners = [[(place, begin), (place + 1, begin), (place + 1, end + 1), (place, end + 1)] for place, begin, end in bars]
        ax.add_collection(PolyCollection(corners, facecolors=colour, linewidths=0))
        legend.append(Patch(facecolor=colour, label=label))
    ax.set_title(plan.graph.name, parse_math=False)
    ax.set(xlabel="op, in the order of first runs", ylabel="stage", xlim=(0, len(ops)), ylim=(stages, 0))
    ax.legend(handles=legend, loc="upper right", frameon=False)
