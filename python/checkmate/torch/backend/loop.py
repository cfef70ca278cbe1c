"""The graphs of a training loop share one budget: what others hold, and what the loop itself takes, is left to them."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from torch._dynamo.utils import counters
from torch.multiprocessing.reductions import StorageWeakRef

import checkmate
from checkmate.torch.backend.budgets import Budgets
from checkmate.torch.backend.owners import held_by_owners
from checkmate.torch.backend.runner import Demand, Kept, PlannedGraph, gradients_to_add_to, leaves
from checkmate.torch.options import Options
from checkmate.torch.runtime import OutsideCount

_SMALLER = 0.8  # times what graphs may keep, when that is too much
_MOST_TRIES = 12
_WORTH_A_PLAN = 1024  # bytes; arenas count nothing smaller either
T = TypeVar("T")


@dataclass(frozen=True)
class _Part:
    """One pass in a step."""

    graph: PlannedGraph
    forward: bool


class Loop:
    """Follows the passes of a training loop.

    A step is a sequence of forward passes and their backward passes. When all of its graphs are planned, one step is watched:
    what is allocated between the passes is reserved from the next step on. Where a step has several graphs, as when Dynamo broke
    a model apart, each may keep the same share of what it would keep without recomputation: the largest for which all have plans.
    """

    def __init__(self, options: Options) -> None:
        self._budgets = Budgets(options)
        self._open: list[weakref.ref[Kept]] = []
        self._parts: list[_Part] = []
        self._count: OutsideCount | None = None
        self._gaps: list[tuple[int, int]] = []  # before each part, outside of parts: the most bytes held, and those at its end
        self._results = _Results()
        self._leaves: dict[int, int] = {}  # that graphs read in the step that is watched: addresses, and bytes there
        self._to_share: list[_Outside] = []

    def forward(self, graph: PlannedGraph, inputs: list[torch.Tensor]) -> tuple[list[torch.Tensor | None], Kept]:
        """Runs the forward pass of a graph, which is planned first where it is not."""
        waiting = self._waiting()
        if not waiting:
            self._end_step()
        existing = sum(gradient.nbytes for gradient in gradients_to_add_to(inputs))
        self._plan(graph, inputs, waiting, existing)
        if not self._parts and not graph.measured:
            self._count, self._results, self._leaves = OutsideCount(), _Results(), {}
        shown, kept = self._watched(_Part(graph, forward=True), lambda: graph.forward(inputs))
        self._open.append(weakref.ref(kept))
        if self._count is not None:
            self._results.add(shown, kept)
            # A graph that runs for several layers reads the parameters of each.
            self._leaves |= held_by_owners(inputs) | leaves(inputs)
        return shown, kept

    def backward(self, kept: Kept, tangents: list[torch.Tensor], *, keep: bool) -> list[torch.Tensor | None]:
        """Runs a backward pass."""
        part = _Part(kept.graph, forward=False)
        gradients = self._watched(part, lambda: kept.graph.backward(kept, tangents, keep=keep))
        if self._count is not None:
            self._results.add(gradients, None)
        if not kept.graph.ends:
            kept.graph.ends = True
            self._parts[0].graph.measured = False  # steps that were watched may have gone without this pass
        kept.done = not keep
        if not self._waiting():
            self._end_step()
        return gradients

    def _waiting(self) -> list[Kept]:
        """Forward passes whose backward pass may still come."""
        found = [kept for kept in (reference() for reference in self._open) if kept is not None and not kept.done]
        self._open = [weakref.ref(kept) for kept in found]
        return found

    def _watched(self, part: _Part, run: Callable[[], T]) -> T:
        self._parts.append(part)
        if self._count is not None:
            most, now = self._count.since_last()
            before, results = self._results.since_last()
            self._gaps.append((most + before, now + results))
        return run()

    def _plan(self, graph: PlannedGraph, inputs: list[torch.Tensor], waiting: Sequence[Kept], existing: int) -> None:
        """Gradients that exist already stay, and new ones come on top."""
        if self._to_share:
            self._share()
        if not graph.is_planned:
            graph.look_at(inputs)
            graph.weights = self._budgets.weights_of(inputs)
        options = self._budgets.options_for({graph.weights, *(kept.graph.weights for kept in waiting)}, existing)
        if graph.is_planned:
            if graph.measured:
                graph.plan_again(options, existing)
            return
        self._stop_watching()  # what measuring allocates is not the loop's
        if self._parts:
            self._parts[0].graph.measured = False
        demand = Demand(reserve=graph.unread_bytes + existing + sum(kept.passes.kept_bytes() for kept in waiting))
        asked: int | None = None
        while True:
            try:
                graph.plan(inputs, options, demand)
                graph.asked = asked or graph.passes.planned.plan.budget
                return
            except (checkmate.InfeasibleError, checkmate.NoPlanError) as error:
                asked = asked or error.budget
                others = waiting or not self._budgets.is_fixed({graph.weights})
                if not others or error.sufficient is None or error.sufficient == options.budget:
                    raise
                # Those before it keep more than they may when all are known, and a share may turn out to be one of more graphs:
                # then it will fit, or not.
                options = replace(options, budget=error.sufficient)

    def _stop_watching(self) -> list[tuple[int, int]]:
        gaps, self._gaps = self._gaps, []
        if self._count is not None:
            self._count.stop()
            self._count = None
        return gaps

    def _end_step(self) -> None:
        parts, self._parts = self._parts, []
        gaps = self._stop_watching()
        # A step without any backward pass is no step; parts of a model whose results are not differentiated go without theirs.
        if all(part.forward for part in parts) or len(gaps) != len(parts):
            return
        outside = [_Outside.of(number, parts, gaps) for number, part in enumerate(parts) if part.forward]
        self._fix_budget(outside)
        for each in outside:
            each.graph.measured = True
        if len(outside) > 1:
            self._to_share = outside
            _tell_parts(len(outside))
        elif outside[0].held + outside[0].between >= _WORTH_A_PLAN:
            outside[0].graph.demand |= Demand(outside[0].graph.unread_bytes + outside[0].held, outside[0].between)

    def _fix_budget(self, outside: Sequence[_Outside]) -> None:
        """A share becomes bytes once, when the graphs of a step are known."""
        weights = {each.graph.weights for each in outside}
        if self._budgets.is_fixed(weights):
            return
        asked, first = self._budgets.asked, outside[0].graph.passes.planned
        assert asked.budget is not None, "the backend has one"
        share = (first.graph.parse_budget(asked.budget) - first.graph.fixed_bytes) / max(1, first.graph.keep_all_peak)
        if len(outside) == 1:
            others = first.graph.reserved_bytes - asked.reserved_bytes - outside[0].graph.unread_bytes
            budget = outside[0].graph.asked - others + int(share * (outside[0].keep_all_peak() - first.graph.keep_all_peak))
        else:
            kept, peak = 0, 0
            for each in outside:
                peak = max(peak, kept + each.held + each.keep_all_peak())
                kept += each.graph.passes.most_kept_bytes()
            budget = int(sum(self._leaves.values()) + asked.reserved_bytes + share * peak)
        self._budgets.fix(weights, budget)

    def _share(self) -> None:
        """Plans all graphs of a step."""
        outside, self._to_share = self._to_share, []
        graphs = [each.graph for each in outside]
        parameters = sum(self._leaves.values())
        options = self._budgets.options_for({graph.weights for graph in graphs})
        before = {each.graph: each.graph.demand for each in outside}
        share = 1.0
        for attempt in range(_MOST_TRIES):
            try:
                self._plan_shares(outside, options, before, parameters, share)
                return
            except (checkmate.InfeasibleError, checkmate.NoPlanError):
                if attempt + 1 == _MOST_TRIES:
                    raise
                share *= _SMALLER

    @staticmethod
    def _plan_shares(
        outside: Sequence[_Outside], options: Options, before: dict[PlannedGraph, Demand], parameters: int, share: float
    ) -> None:
        """A graph that runs several times in a step has one plan for all of these: what it keeps by the last is what counts."""
        demands, planned_for = dict(before), dict[PlannedGraph, Demand]()
        while demands != planned_for:
            planned_for, kept = dict(demands), 0
            for each in outside:
                graph = each.graph
                others = parameters - graph.leaf_bytes - graph.handed_bytes
                most = max(int(share * graph.passes.most_kept_bytes()), graph.passes.least_kept_bytes())
                most_kept = None if each is outside[-1] else most
                demands[graph] |= Demand(max(0, kept + each.held + others), each.between, most_kept)
                graph.demand = demands[graph]
                graph.plan_again(options)
                kept += graph.passes.kept_bytes()


class _Results:
    """What passes handed out and somebody still holds: gradients until the step ends, or until another pass takes them."""

    def __init__(self) -> None:
        self._held: list[tuple[StorageWeakRef, int, weakref.ref[Kept] | None]] = []
        self._last = 0

    def add(self, results: Sequence[torch.Tensor | None], kept: Kept | None) -> None:
        """Those of a pass. As long as it waits for its backward pass, they count as what it keeps."""
        storages = {t.untyped_storage().data_ptr(): t.untyped_storage() for t in results if t is not None and not t.is_sparse}
        waiting = None if kept is None else weakref.ref(kept)
        self._held += [(StorageWeakRef(storage), storage.nbytes(), waiting) for storage in storages.values()]  # type: ignore[no-untyped-call]
        self._last = self._bytes()

    def since_last(self) -> tuple[int, int]:
        """The most bytes that were held since the last pass, and those that are held now."""
        before, self._last = self._last, self._bytes()
        return max(before, self._last), self._last

    def _bytes(self) -> int:
        self._held = [each for each in self._held if not each[0].expired()]  # type: ignore[no-untyped-call]
        return sum(count for _, count, waiting in self._held if waiting is None or (kept := waiting()) is None or kept.done)


@dataclass(frozen=True)
class _Outside:
    """What the loop itself takes around a graph, in bytes."""

    graph: PlannedGraph
    held: int  # when one of its passes begins
    between: int  # at most in addition, while it is the last that waits for its backward pass

    @staticmethod
    def of(number: int, parts: Sequence[_Part], gaps: Sequence[tuple[int, int]]) -> _Outside:
        """Around the forward pass that is this part, and its backward pass, if that comes. Gaps are those before each part."""
        graph = parts[number].graph
        end = _backward_of(number, parts)
        awaited = graph.passes.awaited_bytes()
        held = max(0, gaps[number][1], gaps[end][1] - awaited)
        between, waiting = 0, 0  # how many that came after it wait
        for i in range(number + 1, end + 1):
            if not waiting:
                between = max(between, gaps[i][0] - held - (awaited if i == end else 0))
            waiting += 1 if parts[i].forward else -1
        return _Outside(graph, held, between)

    def keep_all_peak(self) -> int:
        """Of the graph, and of what is between its passes, if nothing is recomputed."""
        passes = self.graph.passes
        return max(passes.planned.graph.keep_all_peak, passes.most_kept_bytes() + passes.awaited_bytes() + self.between)


def _backward_of(number: int, parts: Sequence[_Part]) -> int:
    """The part that is the backward pass of this one, which runs before those of earlier runs of the same graph; itself if there
    is none."""
    later_runs = 0
    for i in range(number + 1, len(parts)):
        if parts[i].graph is parts[number].graph:
            if not parts[i].forward and later_runs == 0:
                return i
            later_runs += 1 if parts[i].forward else -1
    return number


def _tell_parts(count: int) -> None:
    reasons = [reason.strip().partition("\n")[0][:160] for reason in counters["graph_break"]]
    why = f"; Dynamo broke the model apart: {'; '.join(dict.fromkeys(reasons))}" if reasons else ""
    warnings.warn(f"the step is {count} graphs, which share the budget{why}", stacklevel=2)
