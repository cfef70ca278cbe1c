"""What a step does with its caller: it waits for the gradient of what it returned, and sees what it will overwrite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing, get_proxy_mode, track_tensor_tree


class Apart:
    """The target of a call that is a unit of its own: no op that writes in place joins it."""

    effect = False  # to a planner
    writes = False
    planned = False  # it allocates the same each time it runs
    __name__: ClassVar[str] = "apart"


class Once(Apart):
    """The target of a call that must run exactly once, and in its place: a trace has it as one call."""

    effect = True
    __name__ = "once"

    def __call__(self, *arguments: torch.Tensor | None) -> Any:
        """Its results."""
        mode = get_proxy_mode()
        if mode is None:
            return self.results(*arguments)
        tracer: Any = mode.tracer
        proxy = tracer.create_proxy("call_function", self, tuple(map(tracer.unwrap_proxy, arguments)), {})
        with disable_proxy_modes_tracing():
            results = self.results(*arguments)
        return track_tensor_tree(results, proxy, constant=None, tracer=tracer)

    def results(self, *arguments: torch.Tensor | None) -> Any:
        """What it makes of the arguments."""
        raise NotImplementedError


class Pause(Once):
    """Shows its arguments to the caller and gets tensors of these layouts.

    Where nobody is there to hand them over, as when the step is measured, it makes up ones.
    """

    __name__ = "pause"

    def __init__(self, awaited: Sequence[torch.Tensor]) -> None:
        self._layouts = [(list(t.shape), list(t.stride()), t.dtype, t.device) for t in awaited]

    def results(self, *_shown: torch.Tensor | None) -> list[torch.Tensor]:
        """One tensor per layout."""
        return [
            torch.empty_strided(sizes, strides, dtype=kind, device=device).fill_(1)
            for sizes, strides, kind, device in self._layouts
        ]

    def __str__(self) -> str:
        return f"pause {self._layouts}"


class Snapshot(Once):
    """A copy of an input that the caller overwrites between the passes."""

    __name__ = "snapshot"

    def results(self, *arguments: torch.Tensor | None) -> torch.Tensor:
        """The copy."""
        (copied,) = arguments
        assert copied is not None, "it is called with a tensor"
        return copied.clone()

    def __str__(self) -> str:
        return "snapshot"
