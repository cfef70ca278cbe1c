"""The passes of one captured graph: planned when they first run, and again when others turn out to need more room."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import torch

from checkmate import InfeasibleError, NoPlanError
from checkmate._core import bytes_text
from checkmate.torch.backend.joint import Joint
from checkmate.torch.backend.owners import held_by_owners
from checkmate.torch.backend.passes import Passes, Paused
from checkmate.torch.distributed import Group
from checkmate.torch.options import Options
from checkmate.torch.pipeline import Planned, plan_captured
from checkmate.torch.planning import planned as planned_again
from checkmate.torch.runtime import outside_of_arenas


@dataclass(frozen=True)
class Demand:
    """What a graph has to leave to others, in bytes."""

    reserve: int = 0  # that they hold while it runs
    outside: int = 0  # that the caller takes between its passes, in addition
    most_kept: int | None = None  # that it may keep between its passes

    def __or__(self, other: Demand) -> Demand:
        """What both need."""
        kept = [most for most in (self.most_kept, other.most_kept) if most is not None]
        return Demand(max(self.reserve, other.reserve), max(self.outside, other.outside), min(kept, default=None))


@dataclass(eq=False)
class Kept:
    """A forward pass that waits for its backward pass."""

    graph: PlannedGraph
    passes: Passes
    paused: Paused
    versions: list[tuple[torch.Tensor, int]]  # of what the backward pass reads and others can write
    done: bool = False


class PlannedGraph:
    """Runs a captured graph by a plan."""

    def __init__(self, joint: Joint, name: str) -> None:
        self.joint = joint
        self.name = name
        self.demand = Demand()
        self.asked = 0  # bytes of the budget for which it was planned first; a larger one may have been taken
        self.measured = False  # whether the demand is known
        self.ends = False  # whether a backward pass has come: that of a part of a model may never
        self.leaf_bytes = 0  # of what it reads and others may read too
        self.unread_bytes = 0  # that its model holds besides
        self.handed_bytes = 0  # of inputs that other graphs made
        self.weights = 0  # the number of the set of parameters that it reads
        self._passes: Passes | None = None
        self._known: dict[tuple[int | str | None, Demand], Passes] = {}

    @property
    def passes(self) -> Passes:
        """As they are planned now."""
        assert self._passes is not None, "they are planned before they run"
        return self._passes

    @property
    def is_planned(self) -> bool:
        """Whether there is a plan, whatever for."""
        return self._passes is not None

    def look_at(self, inputs: Sequence[torch.Tensor]) -> None:
        """Before it is planned: what it gets from others, and what its model holds besides."""
        read = leaves(inputs)
        self.leaf_bytes = sum(read.values())
        self.unread_bytes = sum(count for address, count in held_by_owners(inputs).items() if address not in read)
        self.demand = Demand(reserve=self.unread_bytes)
        self.handed_bytes = sum(t.untyped_storage().nbytes() for t in inputs if not t.is_leaf)

    def plan(self, inputs: Sequence[torch.Tensor], options: Options, demand: Demand) -> None:
        """For the first time, on these inputs."""
        with _told(demand):
            captured = replace(self.joint, pause_bytes=demand.outside)
            given = [*inputs, *self.joint.constants]
            leaving = replace(options, reserve=options.reserved_bytes + demand.reserve)
            self._passes = Passes(plan_captured(captured, given, self.name, leaving, Group(None, None)))
        self._known[options.budget, demand] = self._passes

    def plan_again(self, options: Options, reserve: int = 0) -> None:
        """For what is demanded now, and a reserve in addition; at once, where that was planned before."""
        demand = replace(self.demand, reserve=self.demand.reserve + reserve)
        key = options.budget, demand
        if key not in self._known:
            with _told(demand):
                leaving = replace(options, reserve=options.reserved_bytes + demand.reserve)
                self._known[key] = Passes(self._planned_again(self.passes.planned, leaving, demand))
        self._passes = self._known[key]

    def _planned_again(self, before: Planned, options: Options, demand: Demand) -> Planned:
        """With the costs that are known."""
        assert options.budget is not None, "the backend has one"
        outside = demand.outside
        if demand.most_kept is not None:
            own = before.graph.fixed_bytes - before.graph.reserved_bytes
            room = before.graph.parse_budget(options.budget) - own - options.reserved_bytes
            outside = max(outside, room - demand.most_kept - self.passes.awaited_bytes())
        program = replace(before.program, trace=replace(before.program.trace, pause_bytes=outside))
        graph, plan, addresses = planned_again(program, before.costs, self.name, options, before.plan)
        room = plan.budget - graph.fixed_bytes
        return replace(before, program=program, graph=graph, plan=plan, addresses=addresses, room=room)

    def forward(self, inputs: list[torch.Tensor]) -> tuple[list[torch.Tensor | None], Kept]:
        """Runs the forward pass."""
        paused, shown, late = self.passes.start(inputs)
        versions = [(tensor.detach(), tensor._version) for tensor in late]  # with their history, they would hold themselves
        return shown, Kept(self, self.passes, paused, versions)

    def backward(self, kept: Kept, tangents: list[torch.Tensor], *, keep: bool) -> list[torch.Tensor | None]:
        """Runs the backward pass. With `keep`, it may be run again."""
        for tensor, version in kept.versions:
            if tensor._version != version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an inplace operation: "
                    f"a {tensor.dtype} tensor of shape {list(tensor.shape)} was written after the forward pass that used it"
                )
        return kept.passes.finish(kept.paused.copy() if keep else kept.paused, tangents)


def leaves(inputs: Sequence[torch.Tensor]) -> dict[int, int]:
    """Those that no graph made: parameters, buffers, the batch. Addresses, and bytes there."""
    return {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in inputs if t.is_leaf}


def gradients_to_add_to(inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Those that are there already, moved out of the arena of the step that made them, which the next one needs whole."""
    owners = [tensor for tensor in inputs if tensor.is_leaf and tensor.grad is not None]
    for tensor in owners:
        tensor.grad = outside_of_arenas(cast(torch.Tensor, tensor.grad))
    return [cast(torch.Tensor, tensor.grad) for tensor in owners]


@contextlib.contextmanager
def _told(demand: Demand) -> Iterator[None]:
    """Errors say what else there is."""
    others = [(demand.reserve, "while it runs"), (demand.outside, "between its passes")]
    told = " and ".join(f"{bytes_text(count)} {when}" for count, when in others if count)
    more = f"; in addition to this graph, the loop takes {told}" if told else ""
    try:
        yield
    except InfeasibleError as error:
        raise InfeasibleError(f"{error}{more}", error.budget, error.needed, error.op, error.sufficient) from None
    except NoPlanError as error:
        raise NoPlanError(f"{error}{more}", error.budget, error.sufficient, error.stop_reason, error.needed) from None
