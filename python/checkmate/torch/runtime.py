"""A plan that runs in C++: ops through torch's dispatcher, at planned addresses, without the interpreter's lock.

The extension is built for one version of torch. Where there is none for this one, or the step is not on the processor, generated
code runs the plan.
"""

from __future__ import annotations

import functools
import importlib
import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import fx

import checkmate
from checkmate.torch.fused.kernels import FusedKernel
from checkmate.torch.fx_utils import call, nodes_in
from checkmate.torch.ir import Program
from checkmate.torch.pause import Pause, Snapshot
from checkmate.torch.schedule import Invocation, Randomness, Run, Schedule

VARIABLE = "CHECKMATE_RUNTIME"  # c++ (by default, where it can) or python


def extension_for(program: Program) -> Any | None:
    """The extension module, if it can run the program."""
    return _extension() if program.trace.device.type == "cpu" else None


def release_memory() -> None:
    """Returns the memory that steps keep between their runs to the system, but for tensors that somebody holds."""
    extension = _extension()
    if extension is not None:
        extension.release_memory()


class OutsideCount:
    """Counts what is allocated outside of steps. One at a time; nothing is counted where the runtime cannot be used."""

    def __init__(self) -> None:
        self._extension = _extension()
        if self._extension is not None:
            self._extension.start_counting()

    def since_last(self) -> tuple[int, int]:
        """The most bytes that were held since the last call, and those that are held now."""
        return (0, 0) if self._extension is None else self._extension.held_outside()

    def stop(self) -> None:
        """Counts no longer."""
        if self._extension is not None:
            self._extension.stop_counting()


def outside_of_arenas(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, or a copy of it, if it lies in the memory that steps share."""
    extension = _extension()
    if extension is None or tensor.is_sparse or not extension.in_arena(tensor):
        return tensor
    return tensor.clone()


def unowned(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory, which this does not keep: for threads of others, that let go of what they got some time after its use."""
    extension = _extension()
    return tensor if extension is None or tensor.device.type != "cpu" else extension.unowned(tensor)


@functools.cache
def _extension() -> Any | None:
    wanted = os.environ.get(VARIABLE, "c++")
    if wanted not in ("c++", "python"):
        raise checkmate.Error(f"{VARIABLE} must be c++ or python, got {wanted!r}")
    if wanted == "python":
        return None
    minor = ".".join(torch.__version__.split(".")[:2])
    try:
        return importlib.import_module(f"checkmate._runtime_{minor.replace('.', '_')}")
    except ImportError as error:
        built = [each.name.split(".")[0].removeprefix("_runtime_") for each in _folder().glob("_runtime_*.so")]
        versions = " and ".join(each.replace("_", ".") for each in built)
        reason = str(error) if minor in versions else f"it is built for torch {versions}" if built else "it is not built"
        warnings.warn(
            f"the runtime in C++ cannot be used with torch {minor} ({reason}): plans run as Python functions, whose memory the "
            "system's allocator fragments",
            stacklevel=2,
        )
        return None


def _folder() -> Path:
    return Path(checkmate.__file__).parent


class NativeStep:
    """A schedule as a program of the runtime.

    `results` are the values that a run returns. `replaced` may put other functions in the place of those that are not ops. With
    `pauses`, a run waits where the program pauses.
    """

    def __init__(
        self,
        extension: Any,
        schedule: Schedule,
        results: Sequence[fx.Node],
        replaced: Callable[[Any], Any] = lambda target: target,
        *,
        pauses: bool = False,
    ) -> None:
        self._extension = extension
        self._pauses = pauses
        self._replaced = replaced
        self._program = schedule.program
        self.slots: dict[fx.Node, int] = {}  # where each value is
        self._random: dict[int, int] = {}
        self.native = extension.Step([self.slot(node) for node in schedule.program.trace.inputs])
        for run in schedule.runs:
            self._add(run)
        self.run_count = len(schedule.runs) + 1
        self._begin(schedule.views)
        self.native.end_run([], False, None, None)
        self.native.finish([self.slot(node) for node in results], len(self.slots), len(self._random))

    def slot(self, node: fx.Node) -> int:
        """Where the value is."""
        return self.slots.setdefault(node, len(self.slots))

    def _add(self, run: Run) -> None:
        self._begin(run.invocations)
        state = None
        if run.randomness is not Randomness.NONE:
            state = self._random.setdefault(run.unit, len(self._random))
        remember = state if run.randomness is Randomness.REMEMBER else None
        repeat = state if run.randomness is Randomness.REPEAT else None
        unit = self._program.units[run.unit]
        effect = unit.effect and getattr(unit.node.target, "writes", True)
        self.native.end_run([self.slot(node) for node in run.drops], effect, remember, repeat)

    def _begin(self, invocations: Sequence[Invocation]) -> None:
        self.native.begin_run()
        for invocation in invocations:
            self._invoke(invocation)

    def _invoke(self, invocation: Invocation) -> None:
        target = invocation.target
        if isinstance(target, Pause) and self._pauses:
            shown = [self.slot(node) for node in nodes_in(invocation.args)]
            self.native.pause(shown, [self.slot(node) for _, node in invocation.results])
            return
        if isinstance(target, FusedKernel) and (native := target.native) is not None:
            arguments, recipe, returned = native
            slots = [self.slot(node) for node in invocation.args]
            self.native.call_compiled(arguments, recipe.operand_count, recipe.actions, returned, slots, self._results(invocation))
            return
        if isinstance(target, Snapshot):
            target = torch.ops.aten.clone.default
        if isinstance(target, torch._ops.OpOverload):
            args, kwargs = fx.map_arg([list(invocation.args), invocation.kwargs], self._reference)
            schema = target._schema
            one_list = len(schema.returns) == 1 and isinstance(schema.returns[0].type, torch.ListType)
            results = [
                (0, position, self.slot(node)) if one_list else (position or 0, None, self.slot(node))
                for position, node in invocation.results
            ]
            try:
                self.native.call_op(schema.name, schema.overload_name, tuple(args), kwargs, results)
                return
            except TypeError:  # an argument that is neither a number nor a tensor
                pass
        nodes = list(dict.fromkeys(nodes_in([invocation.args, invocation.kwargs])))
        function = _of_tensors(self._replaced(target), invocation.args, invocation.kwargs, nodes)
        planned = getattr(target, "planned", False)
        self.native.call_python(function, planned, [self.slot(node) for node in nodes], self._results(invocation))

    def _results(self, invocation: Invocation) -> list[tuple[int, None, int]]:
        return [(position or 0, None, self.slot(node)) for position, node in invocation.results]

    def _reference(self, node: fx.Node) -> Any:
        return self._extension.Slot(self.slot(node))


def _of_tensors(target: Any, args: Sequence[Any], kwargs: dict[str, Any], nodes: list[fx.Node]) -> Callable[..., Any]:
    def function(*tensors: torch.Tensor) -> Any:
        return call(target, args, kwargs, dict(zip(nodes, tensors, strict=True)).__getitem__)

    return function
