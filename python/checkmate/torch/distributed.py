"""The same plan on every rank, and gradients averaged over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import torch
import torch.distributed as dist
from torch.autograd import Variable
from torch.nn.parallel import DistributedDataParallel

from checkmate import Error, Graph, Plan
from checkmate.torch.addresses import Addresses
from checkmate.torch.costs import UnitCost
from checkmate.torch.ir import Program
from checkmate.torch.planning_graph import fingerprint

Decision = TypeVar("Decision")
Measured = tuple[Sequence[UnitCost], float]  # and the seconds that it took
Planned = tuple[Graph, Plan, Addresses | None, float]


class Planner(Protocol):
    """Plans with these costs."""

    def __call__(self, measured: Measured, given: Plan | None) -> Planned:
        """By the steps of a plan that was given, if there is one."""


class Group:
    """The processes that train together; one that trains alone is a group of itself.

    The first rank measures and solves, the others take its graph and plan, after they made sure that theirs is the
    same step. A plan cut short by time differs from run to run; this way it cannot differ between ranks.
    """

    def __init__(self, group: Any, wrapper: DistributedDataParallel | None) -> None:
        self._group = group
        self._wrapper = wrapper
        self._averaged_pass: int | None = None  # a backward pass that averages at its end
        self._sums: list[dist.Work] = []

    @staticmethod
    def of(model: torch.nn.Module, process_group: Any) -> Group:
        """The group of a wrapped model, or the one that was asked for."""
        if isinstance(model, DistributedDataParallel):
            return Group(process_group or model.process_group, model)
        return Group(process_group, None)

    @staticmethod
    def module(model: torch.nn.Module) -> torch.nn.Module:
        """The model without its wrappers: DistributedDataParallel, whose hooks no captured step calls, and torch.compile."""
        while True:
            if isinstance(model, DistributedDataParallel):
                model = model.module
            elif isinstance(compiled := model.__dict__.get("_modules", {}).get("_orig_mod"), torch.nn.Module):
                model = compiled
            else:
                return model

    @property
    def alone(self) -> bool:
        """Whether there is no one to agree with."""
        return self._group is None or dist.get_world_size(self._group) == 1

    def agree(self, fingerprint: str, decide: Callable[[], Decision]) -> Decision:
        """What the first rank decides. `fingerprint` is of the step: where it differs, every rank says so."""
        if self.alone:
            return decide()
        fingerprints: list[Any] = [None] * dist.get_world_size(self._group)
        dist.all_gather_object(fingerprints, fingerprint, group=self._group)
        differing = [rank for rank, other in enumerate(fingerprints) if other != fingerprints[0]]
        if differing:
            raise Error(
                f"rank {differing[0]} runs a different step from rank 0: give every rank the same model, loss function and "
                "batch shape, and the same existing gradients"
            )
        told: list[Any] = [self._decide_or_fail(decide) if dist.get_rank(self._group) == 0 else None]
        dist.broadcast_object_list(told, src=dist.get_global_rank(self._group, 0), group=self._group)
        if isinstance(told[0], Exception):
            raise told[0]
        return told[0]  # type: ignore[no-any-return]

    def in_lockstep(self, decide: Callable[[], Decision]) -> Decision:
        """What a measurement decides on its way. Here, only the first rank measures."""
        return decide()

    def costs_and_plan(self, program: Program, measure: Callable[[], Measured], plan: Planner) -> tuple[Measured, Planned]:
        """What the first rank measures and plans."""

        def decide() -> tuple[Measured, Planned]:
            measured = measure()
            return measured, plan(measured, None)

        return self.agree(fingerprint(program), decide)

    @staticmethod
    def _decide_or_fail(decide: Callable[[], Decision]) -> Decision | Exception:
        try:
            return decide()
        except Exception as error:  # the other ranks wait for an answer
            return error

    @property
    def averages(self) -> bool:
        """Whether gradients are to be averaged after a step that is made now."""
        return not self.alone and (self._wrapper is None or self._wrapper.require_backward_grad_sync)

    def average_after_backward(self, gradients: Callable[[], Sequence[torch.Tensor]]) -> None:
        """Called in a backward pass: at its end, when all its losses have delivered, averages what is in `.grad`, once.

        Local sums of earlier passes are in it, as with DistributedDataParallel; what is an average already stays one.
        """
        current = torch._C._current_graph_task_id()
        if current != self._averaged_pass:
            self._averaged_pass = current
            Variable._execution_engine.queue_callback(lambda: self.average(gradients()))

    def average(self, gradients: Sequence[torch.Tensor]) -> None:
        """In place, without buckets: a copy of the gradients is memory that the plan does not know of.

        The sums are kept until the next ones: they refer to Python objects of the backward pass, and a thread of the
        group that were the last to let go of one would need the interpreter, which aborts a process that is ending.
        """
        self._sums = [dist.all_reduce(g, group=self._group, async_op=True) for g in gradients]
        for total in self._sums:
            total.wait()
        torch._foreach_div_(list(gradients), float(dist.get_world_size(self._group)))

    def broadcast_buffers(self, buffers: Sequence[torch.Tensor]) -> None:
        """The first rank's buffers for all, before a step, where the wrapper was asked for it."""
        if self.alone or self._wrapper is None or not self._wrapper.broadcast_buffers:
            return
        for buffer in buffers:
            dist.broadcast(buffer, src=dist.get_global_rank(self._group, 0), group=self._group)
