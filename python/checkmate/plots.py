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

__all__ = ["draw"]

# The palette of Okabe and Ito, which is safe for colour-blind readers; the same as in `checkmate plot`.
_GREY, _BLUE, _VERMILLION, _ORANGE = "#9A9A9A", "#0072B2", "#D55E00", "#E69F00"
_KEPT = "#CFE2F0"
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
    largest = max(kept.peak, plan.peak, plan.budget)
    power = 0
    while power + 1 < len(_UNITS) and largest >= 2 * 1024 ** (power + 1):
        power += 1
    unit = 1024**power
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
    ax.set(xlabel="step", ylabel=f"memory, {_UNITS[power]}", xlim=(0, max(len(kept), len(plan))))
    ax.set_ylim(bottom=0)
    ax.grid(axis="y", color="#E3E3E3")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.08), ncols=2, frameon=False)


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
