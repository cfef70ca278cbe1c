"""What the ranks of a sharded step make sure of before they talk to each other: that they run the same step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh

from checkmate import Error
from checkmate.torch.distributed import Group

Decision = TypeVar("Decision")
Costs = TypeVar("Costs")
_FAILED = "an error"


class ShardGroup(Group):
    """All processes of a mesh. They measure together, since a rank alone cannot run a collective; the first one plans."""

    def __init__(self, mesh: DeviceMesh) -> None:
        super().__init__(_group_of_all(mesh), None)
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

    def compare(self, facts: Mapping[str, str]) -> None:
        """Every rank learns which one is different, and in what."""
        every: list[Any] = [None] * self._ranks
        dist.all_gather_object(every, dict(facts), group=self._group)
        for rank, other in enumerate(every):
            if _FAILED in other:
                raise Error(f"rank {rank} cannot run the step: {other[_FAILED]}")
        for rank, other in enumerate(every):
            differing = [name for name in every[0] if other.get(name) != every[0][name]]
            if differing:
                name = differing[0]
                raise Error(
                    f"rank {rank} has another {name} than rank 0 ({other.get(name)} and {every[0][name]}): "
                    "every rank must run the same step"
                )

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
        every: list[Any] = [None] * self._ranks
        dist.all_gather_object(every, failure, group=self._group)
        me = dist.get_rank(self._group)
        for rank, other in enumerate(every):
            if other is not None and rank != me and failure is None:
                raise Error(f"rank {rank} cannot run the step: {other}")

    def in_lockstep(self, decide: Callable[[], Decision]) -> Decision:
        """What the first rank decides."""
        told: list[Any] = [self._decide_or_fail(decide) if dist.get_rank(self._group) == 0 else None]
        dist.broadcast_object_list(told, src=dist.get_global_rank(self._group, 0), group=self._group)
        if isinstance(told[0], Exception):
            raise told[0]
        return told[0]  # type: ignore[no-any-return]

    def costs_and_plan(
        self, fingerprint: str, measure: Callable[[], Costs], plan: Callable[[Costs], Decision]
    ) -> tuple[Costs, Decision]:
        """What all measure and the first rank plans."""
        self.compare({"loss function or code of the model": fingerprint[:12]})
        costs = self.attempt(measure)

        def decide() -> tuple[Costs, Decision]:
            return costs, plan(costs)

        return self.in_lockstep(decide)


def _group_of_all(mesh: DeviceMesh) -> Any:
    if mesh.ndim == 1:
        return mesh.get_group()
    if mesh.size() != dist.get_world_size():
        raise Error("a device mesh of two dimensions must be one of all processes")
    return dist.group.WORLD
