"""What a step does that no graph of ops shows, found out while it is traced: refused, unless it can be repeated."""

from __future__ import annotations

import contextlib
import copy
import random
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from unittest import mock

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing

from checkmate.torch.errors import CaptureError
from checkmate.torch.guards import PLAIN, ModelState

_CONTAINERS = (dict, OrderedDict, list, set)  # and no types of libraries, which may refuse to be changed
Attributes = dict[tuple[str, str], Any]  # of each module and name, the value


def check_hooks(state: ModelState, of_parameters: bool) -> None:
    """Hooks of the backward pass would run once, on fake tensors, and never again; those of parameters, unless autograd delivers
    their gradients."""
    for name, parameter in zip(state.parameter_names, state.parameters(), strict=True):
        if of_parameters and parameter._backward_hooks:
            raise CaptureError(
                f"parameter {name} has a hook on its gradient, which a planned step does not call: compile with "
                'deliver="backward", change the gradient after the step, or use register_post_accumulate_grad_hook'
            )
    for module, name in state.module_names.items():
        if module._backward_hooks or module._backward_pre_hooks:
            raise CaptureError(
                f"module {name or type(module).__name__} has a backward hook, which a planned step does not call: remove it"
            )


def run_gradient_hooks(parameters: Iterable[torch.nn.Parameter]) -> None:
    """Calls what register_post_accumulate_grad_hook registered."""
    for parameter in parameters:
        for hook in (getattr(parameter, "_post_accumulate_grad_hooks", None) or {}).values():
            hook(parameter)


@contextlib.contextmanager
def left_alone(state: ModelState, device: torch.device) -> Iterator[Callable[[], Attributes]]:
    """Puts back attributes that a forward pass sets, hooks that it adds, and the state of the random generators; refuses a step
    that draws from other generators than torch's, which a planned step would not do.

    Gives a function that tells which attributes were set by then.
    """
    attributes = [(module, dict(module.__dict__)) for module in state.module_names]
    containers = [held for _, saved in attributes for held in saved.values() if type(held) in _CONTAINERS]
    contents = [(held, copy.copy(held)) for held in containers]
    before = _other_generators()
    devices = [device] if device.type == "cuda" else []
    drawn: list[str] = []
    try:
        with torch.random.fork_rng(devices), _real_scale(), _seeds_refused():
            yield lambda: {
                (state.module_names[module], key): module.__dict__[key]
                for module, saved in attributes
                for key, then in saved.items()
                if isinstance(then, PLAIN) and isinstance(now := module.__dict__.get(key), PLAIN) and now != then
            }
        drawn = [name for name, generator in _other_generators().items() if not _equal(generator, before[name])]
    finally:
        for module, saved in attributes:
            module.__dict__.clear()
            module.__dict__.update(saved)
        for container, saved_contents in contents:
            _refill(container, saved_contents)
        _restore_generators(before)
    if drawn:
        raise CaptureError(
            f"the step draws random numbers from {drawn[0]}, which a planned step would not draw again: use torch's generator, "
            "or pass the number with the batch"
        )


def _refill(container: Any, contents: Any) -> None:
    container.clear()
    if isinstance(container, list):
        container.extend(contents)
    else:
        container.update(contents)


def may_count(attributes: Attributes) -> bool:
    """Whether a number is among those that were set."""
    return any(_is_number(value) for value in attributes.values())


def refuse_counters(once: Attributes, twice: Attributes) -> None:
    """Numbers that a second step sets to something else than the first one would make every step another one."""
    for (module, key), value in twice.items():
        if _is_number(value) and once.get((module, key)) != value:
            raise CaptureError(
                f"the forward pass counts up the attribute {key} of {f'module {module}' if module else 'the model'}, which would "
                "need another plan for each step: change it in the training loop, or make it a buffer"
            )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _other_generators() -> dict[str, Any]:
    states: dict[str, Any] = {"Python's random module": random.getstate()}
    if numpy := sys.modules.get("numpy"):
        states["numpy.random"] = numpy.random.get_state()
    return states


def _restore_generators(states: dict[str, Any]) -> None:
    random.setstate(states["Python's random module"])
    if "numpy.random" in states:
        sys.modules["numpy"].random.set_state(states["numpy.random"])


def _equal(a: Any, b: Any) -> bool:
    return all(bool((x == y).all()) if hasattr(x, "all") else x == y for x, y in zip(a, b, strict=True))


@contextlib.contextmanager
def _seeds_refused() -> Iterator[None]:
    """Draws are recorded, seeds are not: a planned step would go on with other numbers than eager."""

    def refuse(*_: Any, **__: Any) -> None:
        raise CaptureError(
            "the step seeds torch's generator or sets its state, which a planned step would not do: draw what must repeat before "
            "the step, and pass it with the batch"
        )

    names = ("manual_seed", "seed", "set_rng_state")
    with contextlib.ExitStack() as refusals:
        for module in (torch, torch.random):
            for name in names:
                refusals.enter_context(mock.patch.object(module, name, refuse))
        yield


@contextlib.contextmanager
def _real_scale() -> Iterator[None]:
    """A GradScaler makes its scale when it is first used: it must not be a fake one."""
    scaler = torch.amp.grad_scaler.GradScaler
    make = scaler._lazy_init_scale_growth_tracker

    def really(self: Any, device: torch.device) -> None:
        with unset_fake_temporarily(), disable_proxy_modes_tracing():
            make(self, device)

    with mock.patch.object(scaler, "_lazy_init_scale_growth_tracker", really):
        yield
