"""Checkpoints that a model has already: while a step is traced they are plain calls, and the plan decides instead."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch.utils.checkpoint

_log = logging.getLogger("checkmate")


@contextlib.contextmanager
def plain_checkpoints() -> Iterator[None]:
    """Within it, `torch.utils.checkpoint` only calls the function, reentrant or not. A line says so if it happened.

    Models bind `checkpoint` itself when checkpointing is enabled, so that what it calls has to be replaced.
    """
    calls = 0

    def reentrant(function: Callable[..., Any], _preserve: bool, *args: Any) -> Any:
        nonlocal calls
        calls += 1
        with _repeated_averages():
            return function(*args)

    def not_reentrant(*_: Any, **__: Any) -> Iterator[None]:
        nonlocal calls
        calls += 1
        with _repeated_averages():
            yield

    function = type("PlainCheckpoint", (), {"apply": staticmethod(reentrant)})
    with (
        mock.patch.object(torch.utils.checkpoint, "CheckpointFunction", function),
        mock.patch.object(torch.utils.checkpoint, "_checkpoint_without_reentrant_generator", not_reentrant),
    ):
        yield
    if calls:
        _log.warning("checkmate: %d calls of torch.utils.checkpoint in the model are replaced by the plan", calls)


@contextlib.contextmanager
def _repeated_averages() -> Iterator[None]:
    """Batch norms update their averages twice within it, as they do in eager mode when a checkpointed call runs again."""

    def again(module: torch.nn.Module, args: tuple[Any, ...], _output: Any) -> None:
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm) and module.training and module.track_running_stats:
            with torch.no_grad():
                module.forward(*args)

    handle = torch.nn.modules.module.register_module_forward_hook(again)
    try:
        yield
    finally:
        handle.remove()
