"""The optimizer as a part of the step: each gradient is used and freed as soon as it is made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch
from torch import fx

from checkmate import Error, _checks
from checkmate.torch.fx_utils import Origin, set_origin, storage_address, tensors_of, value
from checkmate.torch.guards import ModelState
from checkmate.torch.ir import Program
from checkmate.torch.trace import Trace

Saved = tuple[torch.Tensor, dict[str, Any]]  # a parameter and its state
_KNOWN = (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW)


class StepOptimizer:
    """Updates parameters one by one, with the optimizer's own code and whatever its groups say at that moment."""

    def __init__(self, optimizer: torch.optim.Optimizer, clip_value: float | None) -> None:
        if type(optimizer) not in _KNOWN:
            names = ", ".join(kind.__name__ for kind in _KNOWN)
            raise Error(
                f"the optimizer {type(optimizer).__name__} cannot be a part of the step, only {names}: leave out optimizer=, and "
                "call optimizer.step() after the step"
            )
        if optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks:
            raise Error("the optimizer has hooks on its step, which would run once per parameter: leave out optimizer=")
        self.optimizer = optimizer
        self.clip_value = None if clip_value is None else _checks.number(clip_value, "clip_value")
        if self.clip_value is not None and self.clip_value <= 0:
            raise Error(f"clip_value must be positive, got {self.clip_value:g}")

    def __contains__(self, parameter: torch.Tensor) -> bool:
        return any(parameter is each for group in self.optimizer.param_groups for each in group["params"])

    def prepare(self, parameters: Iterable[torch.nn.Parameter]) -> int:
        """Makes the state that these parameters will need, where the optimizer can, and returns its bytes."""
        total = 0
        for parameter in parameters:
            saved, parameter.grad = parameter.grad, parameter.new_zeros(()).expand_as(parameter)
            try:
                group = self._group(parameter)
                if isinstance(self.optimizer, torch.optim.Adam):
                    self.optimizer._init_group(group, [], [], [], [], [], [])  # type: ignore[no-untyped-call]
            finally:
                parameter.grad = saved
            state = self.optimizer.state.get(parameter, {})
            held = sum(t.nbytes for t in state.values() if isinstance(t, torch.Tensor) and t.dim() > 0)
            # SGD makes its buffer of the first gradient.
            total += held or (parameter.nbytes if group.get("momentum") else 0)
        return total

    def update(self, parameter: torch.nn.Parameter, gradient: torch.Tensor) -> None:
        """As `optimizer.step()` would, of this parameter alone."""
        if self.clip_value is not None:
            gradient = gradient.clamp(-self.clip_value, self.clip_value)
        groups, saved = self.optimizer.param_groups, parameter.grad
        parameter.grad = gradient
        self.optimizer.param_groups = [self._group(parameter)]
        try:
            self.optimizer.step()
        finally:
            self.optimizer.param_groups = groups
            parameter.grad = saved

    def step(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """All of them at once, as a loop without this class would."""
        if self.clip_value is not None:
            torch.nn.utils.clip_grad_value_(parameters, self.clip_value)
        self.optimizer.step()

    def tensors(self, parameters: Iterable[torch.nn.Parameter]) -> list[torch.Tensor]:
        """The state of these parameters."""
        states = (self.optimizer.state.get(parameter, {}) for parameter in parameters)
        return [t for state in states for t in state.values() if isinstance(t, torch.Tensor)]

    def backup(self, parameter: torch.nn.Parameter) -> Saved:
        """What an update changes, as it is now."""
        state = self.optimizer.state.get(parameter, {})
        copies = {key: value.clone() if isinstance(value, torch.Tensor) else value for key, value in state.items()}
        return parameter.detach().clone(), copies

    def restore(self, parameter: torch.nn.Parameter, saved: Saved) -> None:
        """Puts back what backup() returned."""
        before, copies = saved
        with torch.no_grad():
            parameter.copy_(before)
            state = self.optimizer.state[parameter]
            for key in list(state):
                if key not in copies:
                    del state[key]
                elif isinstance(state[key], torch.Tensor):
                    state[key].copy_(copies[key])
                else:
                    state[key] = copies[key]

    def _group(self, parameter: torch.nn.Parameter) -> dict[str, Any]:
        for group in self.optimizer.param_groups:
            if any(parameter is each for each in group["params"]):
                return {**group, "params": [parameter]}
        raise Error("a parameter has left the optimizer since the step was compiled: compile it again")


class Update:
    """The call of a unit that updates one parameter."""

    def __init__(self, optimizer: StepOptimizer, parameter: torch.nn.Parameter) -> None:
        self.optimizer = optimizer
        self.parameter = parameter
        self.__name__ = f"update_{type(optimizer.optimizer).__name__}"

    def __call__(self, _value: torch.Tensor, gradient: torch.Tensor) -> None:
        """The first argument tells the graph what is written."""
        self.optimizer.update(self.parameter, gradient)

    def __str__(self) -> str:
        return self.__name__


def with_updates(trace: Trace, state: ModelState, optimizer: StepOptimizer) -> Trace:
    """The step with an update of each parameter as soon as its gradient is whole and nobody reads the parameter any more."""
    position = {node: i for i, node in enumerate(trace.graph.nodes)}
    aliases: dict[int, list[fx.Node]] = {}
    for node in trace.graph.nodes:
        for tensor in tensors_of(node.meta.get("val")):
            aliases.setdefault(storage_address(tensor), []).append(node)

    inputs = dict(zip(trace.signature.model_inputs, trace.inputs, strict=False))
    gradients = dict(trace.gradients)
    updated = [n for n, made in gradients.items() if isinstance(made, fx.Node) and state.parameter(n) in optimizer]
    for name in updated:
        parameter, made = inputs[name], gradients.pop(name)
        readers = [user for alias in aliases[storage_address(value(parameter))] for user in alias.users]
        last = max((node for node in [made, *readers] if node in position and node.op != "output"), key=position.__getitem__)
        with trace.graph.inserting_after(last):
            update = trace.graph.call_function(Update(optimizer, state.parameter(name)), (parameter, made))
        update.meta["val"] = None
        set_origin(update, Origin("update"))
    held = optimizer.prepare(state.parameter(name) for name in updated)
    return replace(trace, gradients=gradients, held={**trace.held, "optimizer state": held})


def readers_after_updates(program: Program, steps: Iterable[int]) -> set[int]:
    """Units that would read a parameter after it was updated, if they ran in this order: none may."""
    updated: set[int] = set()
    late: set[int] = set()
    for unit in steps:
        target = program.units[unit].calls[0].target
        if isinstance(target, Update):
            updated.add(program.storage_of[program.units[unit].node.all_input_nodes[0]])
        elif updated.intersection(program.units[unit].reads):
            late.add(unit)
    return late
