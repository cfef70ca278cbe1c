"""Compiles the kernels of a step."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from torch._inductor.async_compile import AsyncCompile

from checkmate.frontend.progress import counting
from checkmate.torch.fused.kernels import FusedKernel, distinct
from checkmate.torch.ir import Program
from checkmate.torch.options import Options


def compile_kernels(program: Program, options: Options) -> dict[str, str]:
    """Compiles what is not compiled yet. Returns the keys of groups that Inductor could not compile, and why."""
    kernels = distinct(call.target for unit in program.units for call in unit.calls if isinstance(call.target, FusedKernel))
    refused: dict[str, str] = {}

    def attempt(kernel: FusedKernel, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception as error:
            reason = str(error).strip().partition("\n")[0]
            refused[kernel.key] = f"{kernel.kind}: {type(error).__name__}: {reason}"

    with counting(options.progress, "compiling kernels") as progress:
        beside = _CompilersBeside()
        for done, kernel in enumerate(kernels):
            if progress:
                progress(done, len(kernels))
            with beside:
                attempt(kernel, kernel.compiled)
            beside.end(kernel)
        for kernel, wait in beside.waiting:
            attempt(kernel, wait)
    return refused


class _CompilersBeside:
    """Lets Inductor go on to the next kernel while compilers work on those before it."""

    def __init__(self) -> None:
        self.waiting: list[tuple[FusedKernel, Callable[[], object]]] = []
        self._begun: list[Callable[[], object]] = []
        self._wait = AsyncCompile._wait_futures

    def __enter__(self) -> None:
        def later(compiler: AsyncCompile, scope: dict[str, Any]) -> None:
            self._begun.append(partial(self._wait, compiler, scope))

        AsyncCompile._wait_futures = later  # type: ignore[method-assign, assignment]

    def __exit__(self, *_: object) -> None:
        AsyncCompile._wait_futures = self._wait  # type: ignore[method-assign]

    def end(self, kernel: FusedKernel) -> None:
        """What began since the last time belongs to this kernel."""
        self.waiting += [(kernel, wait) for wait in self._begun]
        self._begun.clear()
