"""What TensorFlow's profiler tells of one run: when each op began, and every allocation of memory, to the byte.

The allocator tells of each block only if TensorFlow was started with the variable below; `use_exact_allocator` sets it.
"""

from __future__ import annotations

import gc
import os
import re
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.tsl.profiler.protobuf import xplane_pb2

from checkmate import Error

VARIABLE = "TF_CPU_ALLOCATOR_USE_BFC"
_VERBOSE = 3
_PLANNED = re.compile(r"checkmate\.(\d+)\.\d+/.*:(.*)")
_CHANGES = {"MemoryAllocation": 1, "MemoryDeallocation": -1}


@dataclass(frozen=True)
class Allocation:
    """A block that was handed out, or taken back where `bytes` is negative."""

    time: int
    bytes: int
    address: int


@dataclass(frozen=True)
class Begin:
    """Of an op that a plan has emitted."""

    time: int  # picoseconds
    duration: int
    step: int
    kind: str  # of the op that TensorFlow ran for it


@dataclass(frozen=True)
class Profile:
    """Of one run, in the order of time."""

    allocations: list[Allocation]
    begins: list[Begin]

    @property
    def peak(self) -> int:
        """The most bytes held at once, above what was held before."""
        held = highest = 0
        for event in self.allocations:
            held += event.bytes
            highest = max(highest, held)
        return highest


def use_exact_allocator() -> None:
    """Before TensorFlow's first op."""
    if VARIABLE not in os.environ and context.context()._context_handle is None:
        os.environ[VARIABLE] = "1"


def check_allocator() -> None:
    """Refuses to measure where small blocks would not be told."""
    if os.environ.get(VARIABLE, "").lower() not in ("1", "true"):
        raise Error(
            "TensorFlow has run an op before checkmate.tensorflow was imported, and its allocator does not tell of small blocks: "
            f"import checkmate.tensorflow first, or start Python with {VARIABLE}=1"
        )


def profile(run: Callable[[], Any]) -> Profile:
    """Runs it under the profiler. What it returns is dropped at once."""
    check_allocator()
    gc.collect()
    options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=_VERBOSE, python_tracer_level=0, device_tracer_level=0)
    with tempfile.TemporaryDirectory(prefix="checkmate-profile-") as folder:
        try:
            tf.profiler.experimental.start(folder, options=options)
        except tf.errors.AlreadyExistsError:
            raise Error("TensorFlow's profiler is running already: stop it before the step is planned or verified") from None
        try:
            run()
        finally:
            tf.profiler.experimental.stop()
        (file,) = Path(folder).rglob("*.xplane.pb")
        space = xplane_pb2.XSpace.FromString(file.read_bytes())
    return _read(space)


def _read(space: Any) -> Profile:
    allocations, begins = [], []
    for plane in space.planes:
        names = {key: value.name for key, value in plane.event_metadata.items()}
        stats = {value.name: key for key, value in plane.stat_metadata.items()}
        for line in plane.lines:
            for event in line.events:
                name = names[event.metadata_id]
                time = line.timestamp_ns * 1000 + event.offset_ps
                if name in _CHANGES:
                    found = _numbers(event.stats, (stats["requested_bytes"], stats["addr"]))
                    allocations.append(Allocation(time, _CHANGES[name] * found[0], found[1]))
                elif planned := _PLANNED.match(name):
                    begins.append(Begin(time, event.duration_ps, int(planned[1]), planned[2]))
    return Profile(sorted(allocations, key=lambda e: e.time), sorted(begins, key=lambda e: e.time))


def _numbers(stats: Iterable[Any], wanted: tuple[int, ...]) -> list[int]:
    found = {stat.metadata_id: int(getattr(stat, stat.WhichOneof("value"))) for stat in stats if stat.metadata_id in wanted}
    return [found[key] for key in wanted]
