"""A training step that stays within its budget, whatever batch comes."""

from __future__ import annotations

import os
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from weakref import WeakSet

import torch

from checkmate import Error, Graph, Plan, SweepPoint
from checkmate._core import write_file
from checkmate.frontend.timings import Timings
from checkmate.torch.checks import checked_batch
from checkmate.torch.delivery import HeldGradients, with_history
from checkmate.torch.distributed import Group
from checkmate.torch.execution import Gradients
from checkmate.torch.guards import Guard, ModelState
from checkmate.torch.options import Options
from checkmate.torch.pipeline import CompiledStep, build
from checkmate.torch.runtime import outside_of_arenas, release_memory
from checkmate.torch.trace import LossFn


class Step:
    """`loss = step(*batch)`: loss, gradients in `.grad` and updated buffers, as after `loss.backward()`; with
    ``deliver="backward"``, gradients come when that is called.

    Made by :func:`checkmate.compile`. A batch of another shape, a change between training and evaluation, frozen or unfrozen
    parameters, and gradients to add to each need a step of their own. It is captured and planned when it first comes, and
    remembered; the one that was used least recently makes room when there are more than ``MOST_REMEMBERED``. A warning says
    why, when steps are prepared again and again.

    What was returned in addition to the loss carries no history; the loss does with ``deliver="backward"`` only.
    """

    MOST_REMEMBERED = 16
    WARN_AFTER = 5  # preparations; and again whenever there are twice as many

    def __init__(self, model: torch.nn.Module, loss_fn: LossFn, example: Sequence[Any], options: Options) -> None:
        self.group = self._group_of(model, options)
        self.model = self.group.module(model)
        self.loss_fn = loss_fn
        self.options = options
        self._state = ModelState(self.model)
        self._compiled: OrderedDict[tuple[Guard, tuple[int, ...]], CompiledStep] = OrderedDict()
        self._budgets: dict[bool, int] = {}  # in bytes, with and without gradients to add to
        self._held: WeakSet[HeldGradients] = WeakSet()  # that their losses still hold
        self._preparations = 0
        self._next_warning = self.WARN_AFTER
        self._latest = self.prepare(example)

    def _group_of(self, model: torch.nn.Module, options: Options) -> Group:
        """The processes that train together."""
        group = Group.of(model, options.process_group)
        if options.optimizer is not None and not group.alone:
            raise Error(
                "an optimizer cannot be a part of a step of several processes with whole parameters: call optimizer.step() after "
                "the step, or shard the parameters with shard="
            )
        return group

    @property
    def plan(self) -> Plan:
        """Of the latest batch, or of the example."""
        return self._latest.plan

    @property
    def graph(self) -> Graph:
        """What was solved: the step's ops and storages, with their costs."""
        return self._latest.graph

    @property
    def timings(self) -> Timings:
        """How long compiling took, for that batch."""
        return self._latest.timings

    @property
    def source(self) -> str:
        """The function that runs the plan, as text."""
        return self._latest.source

    def __repr__(self) -> str:
        return f"<checkmate.torch.Step of {type(self.model).__name__}: {self.plan!r}>"

    def report(self, path: str | os.PathLike[str], points: Iterable[SweepPoint] = (), *, resident: int | None = None) -> None:
        """Writes the page of docs/report.md: the plan next to the step without recomputation, its arena, and ``resident``, if
        :func:`checkmate.verify` has measured it."""
        addresses = self._latest.addresses
        arena = None if addresses is None else addresses.total + self.graph.fixed_bytes
        write_file(os.fspath(path), self.plan.to_html(points, arena=arena, resident=resident))

    def _repr_html_(self) -> str | None:
        return self.plan._repr_html_()

    def __call__(self, *batch: Any) -> Any:
        """One step on a batch; its result is that of loss_fn."""
        if self.options.deliver == "backward" and not torch.is_grad_enabled():
            return self.loss_fn(self.model, *checked_batch(batch))  # no backward pass will come, so there is nothing to plan
        self._latest = self.prepare(batch)
        return self.execute(self._latest, batch)

    def prepare(self, batch: Sequence[Any]) -> CompiledStep:
        """The planned step for such a batch: the one that is known, or a new one."""
        batch = checked_batch(batch)
        if self._state.outdated():
            self._state = ModelState(self.model)
            self._compiled.clear()
        guard = Guard.of(self._state, batch)
        key = guard, self._elsewhere(guard)
        if key in self._compiled:
            self._compiled.move_to_end(key)
            return self._compiled[key]
        similar = next(reversed(self._compiled.values()), None)
        # A share becomes bytes once, from the first batch: a smaller one has as much. Gradients to add to come on top.
        accumulating = bool(self._state.names_with_gradient())
        options = replace(self.options, budget=self._budgets.get(accumulating, self.options.budget))
        compiled = self._build(batch, options, similar)
        if options.budget is not None:
            self._budgets[accumulating] = compiled.plan.budget
        self._warn_if_often(guard)
        self._compiled[key] = compiled
        if len(self._compiled) > self.MOST_REMEMBERED:
            self._compiled.popitem(last=False)
        return compiled

    def _elsewhere(self, _guard: Guard) -> tuple[int, ...]:
        """What the prepared step depends on in addition: nothing."""
        return ()

    def _build(self, batch: Sequence[Any], options: Options, similar: CompiledStep | None) -> CompiledStep:
        return build(self._state, self.loss_fn, batch, options, self.group, similar)

    def written_parameters(self) -> list[torch.nn.Parameter]:
        """Those that the latest step writes into."""
        if self.options.optimizer is not None:
            return self._state.parameters()
        written = self._latest.trace.updates
        return [self._state.parameter(name) for name in self._state.parameter_names if name in written]

    def execute(self, compiled: CompiledStep, batch: Sequence[Any]) -> Any:
        """Runs a prepared step, whichever plan it has, on a batch like the one that it was prepared for."""
        self.group.broadcast_buffers(self._state.buffers())
        if self.options.deliver == "backward":
            return self._execute_and_hold(compiled, batch)
        return self._run(compiled, batch)

    def _run(self, compiled: CompiledStep, batch: Sequence[Any]) -> Any:
        returned = compiled(self._state, batch)
        if self.group.averages:
            self.group.average(self._gradients())
        return returned

    def _execute_and_hold(self, compiled: CompiledStep, batch: Sequence[Any]) -> Any:
        """The step's gradients stay with its loss."""
        self._leave_arenas()
        made: Gradients = {}
        returned = compiled(self._state, batch, made)
        averages = self.group.averages  # now, as the forward pass of DistributedDataParallel asks for it
        held = HeldGradients(made.values(), partial(self._delivered, averages))
        self._held.add(held)
        return with_history(returned, [self._state.parameter(name) for name in made], held)

    def _delivered(self, averages: bool) -> None:
        if averages:
            self.group.average_after_backward(self._gradients)

    def _leave_arenas(self) -> None:
        """Gradients of earlier steps, delivered or not, make room for those of the next."""
        for held in self._held:
            held.leave_arenas()
        for parameter in self._state.parameters():
            if parameter.grad is not None:
                parameter.grad = outside_of_arenas(parameter.grad)

    def _gradients(self) -> list[torch.Tensor]:
        return [p.grad for p in self._state.parameters() if p.requires_grad and p.grad is not None]

    def release(self) -> None:
        """Returns the memory in which steps run to the system, until the next one; gradients and other tensors that somebody
        holds stay. Steps of all models share it."""
        release_memory()

    def _warn_if_often(self, guard: Guard) -> None:
        self._preparations += 1
        if self._preparations < self._next_warning or not self._compiled:
            return
        self._next_warning = 2 * self._preparations
        changes = min((guard.changes_since(known, self._state) for known, _ in self._compiled), key=len)
        warnings.warn(
            f"the step has been captured and planned {self._preparations} times, the last time because of a change in "
            f"{'; '.join(changes)}. Each time costs a capture and a search: pass numbers that change as tensors, and pad "
            "batches to a few shapes",
            stacklevel=4,
        )
