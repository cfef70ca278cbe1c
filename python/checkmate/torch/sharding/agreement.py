"""What the ranks of a sharded step make sure of before they talk to each other: that they run the same step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh

from checkmate import Error
from checkmate.torch.costs import UnitCost
from checkmate.torch.distributed import Group, Measured, Planned, Planner
from checkmate.torch.fx_utils import value
from checkmate.torch.ir import Program
from checkmate.torch.planning_graph import fingerprint
from checkmate.torch.sharding.collectives import Collective
from checkmate.torch.sharding.interconnect import Interconnect

Decision = TypeVar("Decision")


class ShardGroup(Group):
    """All processes of a mesh. They measure together, since a rank alone cannot run a collective; the first one plans."""

    def __init__(self, mesh: DeviceMesh, network: Interconnect | None) -> None:
        super().__init__(_group_of_all(mesh), None)
        self._network = network
        self.same_sizes = True
        """Whether the batches of all ranks are alike, of the step that was planned last."""
        self._ranks = dist.get_world_size(self._group)
        self._device = mesh.device_type

    @property
    def averages(self) -> bool:
        """The step does."""
        return False

    def broadcast_buffers(self, _buffers: Sequence[torch.Tensor]) -> None:
        """Each rank has its own, as with fully_shard."""

    def numbers(self, mine: int) -> tuple[int, ...]:
        """A number of each rank."""
        told = torch.zeros(self._ranks, dtype=torch.int64, device=self._device)
        told[dist.get_rank(self._group)] = mine
        dist.all_reduce(told, group=self._group)
        return tuple(told.tolist())

    def compare(self, facts: Mapping[str, str], free: Mapping[str, str] | None = None) -> bool:
        """Every rank learns which one is different, and in what. What is `free` may differ; returns whether it does not."""
        every: list[Any] = self._all((dict(facts), dict(free or {})))
        first, free_first = every[0]
        for rank, (other, _) in enumerate(every):
            for name in first:
                if other.get(name) != first[name]:
                    raise Error(
                        f"rank {rank} has another {name} than rank 0 ({other.get(name)} and {first[name]}): every rank must run "
                        "the same step"
                    )
        return all(free_other == free_first for _, free_other in every)

    def attempt(self, prepare: Callable[[], Decision]) -> Decision:
        """Where it fails on one rank, it fails on all: the others would wait for ever."""
        try:
            prepared = prepare()
        except Exception as error:
            self._tell(f"{type(error).__name__}: {error}")
            raise
        self._tell(None)
        return prepared

    def _tell(self, failure: str | None) -> None:
        for rank, other in enumerate(self._all(failure)):
            if other is not None and failure is None:
                raise Error(f"rank {rank} cannot run the step: {other}")

    def _all(self, mine: object) -> list[Any]:
        """What each rank says."""
        every: list[Any] = [None] * self._ranks
        dist.all_gather_object(every, mine, group=self._group)
        return every

    def in_lockstep(self, decide: Callable[[], Decision], leader: int = 0) -> Decision:
        """What the leader decides."""
        told: list[Any] = [self._decide_or_fail(decide) if dist.get_rank(self._group) == leader else None]
        dist.broadcast_object_list(told, src=dist.get_global_rank(self._group, leader), group=self._group)
        if isinstance(told[0], Exception):
            raise told[0]
        return told[0]  # type: ignore[no-any-return]

    def costs_and_plan(self, program: Program, measure: Callable[[], Measured], plan: Planner) -> tuple[Measured, Planned]:
        """What all measure, and one plans: the first, or where batches differ the one that needs most memory."""
        structure = fingerprint(program, sizes=False)
        self.same_sizes = self.compare({"loss function, or code of the model": structure[:12]}, {"sizes": fingerprint(program)})
        costs, seconds = self.attempt(measure)
        measured = self._with_network(program, costs), seconds
        if self.same_sizes:
            return self.in_lockstep(lambda: (measured, plan(measured, None)))
        needs = self.numbers(sum(storage.bytes for storage in program.storages))
        _, shared, *_ = self.in_lockstep(lambda: plan(measured, None), needs.index(max(needs)))
        return measured, self.attempt(lambda: plan(measured, shared))

    def _with_network(self, program: Program, costs: Sequence[UnitCost]) -> Sequence[UnitCost]:
        """With the costs of collectives as the user says that they are."""
        if self._network is None:
            return costs
        return [
            replace(cost, cost=self._network.nanoseconds(target, value(unit.node)[0].itemsize))
            if isinstance(target := unit.node.target, Collective)
            else cost
            for unit, cost in zip(program.units, costs, strict=True)
        ]


def _group_of_all(mesh: DeviceMesh) -> Any:
    if mesh.ndim == 1:
        return mesh.get_group()
    if mesh.size() != dist.get_world_size():
        raise Error("a device mesh of two dimensions must be one of all processes")
    return dist.group.WORLD
