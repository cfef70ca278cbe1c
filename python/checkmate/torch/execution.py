"""A planned step on a model: runs it, and hands out what it made."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

import torch
from torch import fx
from torch.utils import _pytree as pytree

from checkmate import Plan, blocks_of, lay_out
from checkmate._core import bytes_text
from checkmate.torch.addresses import Addresses, Log, recorded_addresses
from checkmate.torch.codegen import below_autograd, generate
from checkmate.torch.fx_utils import value
from checkmate.torch.guards import ModelState
from checkmate.torch.ir import Program
from checkmate.torch.runtime import NativeStep, outside_of_arenas
from checkmate.torch.schedule import Schedule, schedule
from checkmate.torch.trace import Trace

Gradient = torch.Tensor | Sequence[torch.Tensor]  # indices and values of a sparse one
Gradients = dict[str, torch.Tensor]  # by the names of the parameters


class Execution(Protocol):
    """Runs a plan."""

    def __call__(
        self, state: ModelState, inputs: list[torch.Tensor], held: Gradients | None = None
    ) -> tuple[torch.Tensor, list[Any]]:
        """Leaves buffers in the model, and gradients too, or in `held` if there is one. Returns the loss, and the leaves of what
        was returned in addition to it."""


def planned_schedule(program: Program, plan: Plan) -> Schedule:
    """The plan's calls. Its results are those of the step: loss, extras, gradients, updates."""
    trace = cast(Trace, program.trace)
    results = [trace.loss, trace.extras, list(trace.gradients.values()), list(trace.updates.values())]
    return schedule(program, plan.steps, plan.frees, results)


class GeneratedExecution:
    """By a generated Python function. On a GPU its tensors come from a pool of their own, which is as large as the plan's layout
    from the start, so that nothing fragments it; not tested on a machine with one."""

    def __init__(self, planned: Schedule, plan: Plan) -> None:
        self._trace = cast(Trace, planned.program.trace)
        self._run = generate(planned)
        self._pool = _pool(plan, self._trace.device) if self._trace.device.type == "cuda" else None

    def __call__(
        self, state: ModelState, inputs: list[torch.Tensor], held: Gradients | None = None
    ) -> tuple[torch.Tensor, list[Any]]:
        """One step."""
        pool = torch.cuda.use_mem_pool(self._pool, self._trace.device) if self._pool is not None else contextlib.nullcontext()
        with below_autograd(), pool:
            loss, extras, gradients, updates = self._run(inputs)
        _hand_out(
            state,
            dict(zip(self._trace.gradients, gradients, strict=True)),
            dict(zip(self._trace.updates, updates, strict=True)),
            held,
        )
        return loss, extras


def _pool(plan: Plan, device: torch.device) -> torch.cuda.MemPool:
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool, device):
        torch.empty(lay_out(blocks_of(plan)).size, dtype=torch.uint8, device=device)  # freed at once: the pool keeps its memory
    return pool


class NativeExecution:
    """By the runtime in C++, at planned addresses.

    Without addresses, the first run records what it allocates; so does the one after a run that allocated something else, and the
    first one with another number of threads. A warning says when the arena takes more than `room`.
    """

    MOST_RECORDINGS = 3

    def __init__(self, extension: Any, planned: Schedule, addresses: Addresses | None, room: int | None = None) -> None:
        trace = cast(Trace, planned.program.trace)
        loss, extras, gradients, updates = planned.results
        made = dict(zip(trace.gradients, gradients, strict=True))
        written = dict(zip(trace.updates, updates, strict=True))
        inputs = dict(zip(trace.signature.model_inputs, trace.inputs, strict=False))
        # In C++, at once: no signal comes between.
        self._gradients = {name: node for name, node in made.items() if isinstance(node, fx.Node)}
        self._copied = {name: node for name, node in written.items() if _same_kind(inputs[name], node)}
        sparse = {name: nodes for name, nodes in made.items() if name not in self._gradients}
        replaced = {name: node for name, node in written.items() if name not in self._copied}
        self._leaves, self._spec = pytree.tree_flatten([loss, extras, sparse, replaced])
        returned = [leaf for leaf in self._leaves if isinstance(leaf, fx.Node)]
        self._step = NativeStep(extension, planned, [*returned, *self._gradients.values(), *self._copied.values()])
        self._recordings = 0
        self._by_threads: dict[int, Addresses] = {}
        self._threads = torch.get_num_threads()
        self._accumulated = trace.signature.accumulated
        self._room = room
        self.unplanned = 0
        """Allocations of the latest run that were not at planned addresses, but should have been."""
        if addresses is not None:
            self._place(addresses)

    @property
    def addresses(self) -> Addresses | None:
        """Where allocations lie; None before the first run, if nothing was known."""
        return self._by_threads.get(self._threads)

    def __call__(
        self, state: ModelState, inputs: list[torch.Tensor], held: Gradients | None = None
    ) -> tuple[torch.Tensor, list[Any]]:
        """One step."""
        inputs = self._outside_of_arenas(state, inputs)
        parameters = [state.parameter(name) for name in self._gradients] if held is None else []
        written = [state.tensor(name) for name in self._copied]
        self._use_threads(torch.get_num_threads())
        if self.addresses is None:
            returned = self._record(inputs, parameters, written)
        else:
            returned, (_placed, _outside, unexpected, occupied) = self._step.native.run(inputs, parameters, written)
            self.unplanned = unexpected + occupied
            if unexpected and self._recordings < self.MOST_RECORDINGS:
                del self._by_threads[self._threads]
        tensors = iter(returned)
        leaves = [next(tensors) if isinstance(leaf, fx.Node) else leaf for leaf in self._leaves]
        loss, extras, made, replaced = pytree.tree_unflatten(leaves, self._spec)
        if held is not None:
            made |= dict(zip(self._gradients, tensors, strict=True))  # with no parameters to go to, they were returned too
        _hand_out(state, made, replaced, held)
        return loss, extras

    def _outside_of_arenas(self, state: ModelState, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        """The inputs, with gradients to add to taken out of the arena of the step that made them, which this one needs whole."""
        first = len(inputs) - len(self._accumulated)
        for position, name in enumerate(self._accumulated, start=first):
            inputs[position] = state.parameter(name).grad = outside_of_arenas(inputs[position])
        return inputs

    def _record(
        self, inputs: list[torch.Tensor], parameters: list[torch.nn.Parameter], written: list[torch.Tensor]
    ) -> list[torch.Tensor]:
        returned, events, runs, values = self._step.native.record(inputs, parameters, written)
        self._recordings += 1
        self._place(recorded_addresses(self._step, list(self._gradients.values()), Log(events, runs, values), self._room))
        return returned  # type: ignore[no-any-return]

    def _place(self, addresses: Addresses) -> None:
        if self._room is not None and addresses.total > self._room and self._threads not in self._by_threads:
            warnings.warn(
                f"the step's allocations take {bytes_text(addresses.total)} with {self._threads} threads, "
                f"{bytes_text(addresses.total - self._room)} more than the budget leaves for them: no plan was made for them as "
                "they are; compile with measured costs, this number of threads and no plan=, or with a smaller budget",
                stacklevel=2,
            )
        self._by_threads[self._threads] = addresses
        self._step.native.place(addresses.allocations, addresses.size)

    def _use_threads(self, threads: int) -> None:
        if threads == self._threads:
            return
        self._threads = threads
        self._recordings = 0
        if self.addresses is not None:
            self._place(self.addresses)


def _same_kind(first: fx.Node, second: fx.Node) -> bool:
    a, b = value(first), value(second)
    return bool(a.shape == b.shape and a.dtype == b.dtype)


@torch.no_grad()
def _hand_out(
    state: ModelState, gradients: Mapping[str, Gradient], updates: Mapping[str, torch.Tensor], held: Gradients | None
) -> None:
    for name, made in gradients.items():
        parameter = state.parameter(name)
        gradient = made if isinstance(made, torch.Tensor) else _sparse(parameter, *made)
        if held is not None:
            held[name] = gradient
        elif gradient.is_sparse and parameter.grad is not None:
            parameter.grad = parameter.grad + gradient
        else:
            parameter.grad = gradient
    for name, updated in updates.items():
        state.write(name, updated)


def _sparse(parameter: torch.nn.Parameter, indices: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """As autograd would make it."""
    return torch.sparse_coo_tensor(indices, values, parameter.shape, check_invariants=False)
