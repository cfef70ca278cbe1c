"""How much memory the allocator hands out while something runs, from its own events."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch._C._autograd import _disable_profiler_legacy, _enable_profiler_legacy
from torch._C._profiler import ProfilerConfig, ProfilerState, _ExperimentalConfig
from torch.profiler import record_function

_RANGE = "checkmate.range"


def allocated_bytes(nbytes: int, device: torch.device) -> int:
    """As the device's allocator rounds them."""
    return -(-nbytes // 512) * 512 if device.type == "cuda" else nbytes


def peak_bytes(run: Callable[[], Any], device: torch.device) -> int:
    """The most bytes held at once among those that were asked for while `run` ran.

    What was there before is not counted, nor is its release.
    """
    if device.type == "cuda":
        return _cuda_peak(run, device)
    return _highest(event.cpu_memory_usage() for event in _events([run]))


def peaks_of_each(runs: Sequence[Callable[[], Any]], device: torch.device) -> list[int]:
    """peak_bytes() of each of many short runs, in one recording. What they return is released at once."""
    if device.type == "cuda":
        return [_cuda_peak(run, device) for run in runs]
    changes: list[list[int]] = []
    for event in _events(runs):
        if _kind(event) == "push" and event.name() == _RANGE:
            changes.append([])
        elif changes:
            changes[-1].append(event.cpu_memory_usage())
    if len(changes) != len(runs):
        raise RuntimeError("the profiler lost a range: its events have changed")
    return [_highest(each) for each in changes]


def _events(runs: Iterable[Callable[[], Any]]) -> Iterator[Any]:
    """What the profiler noted, in order of time. Its older form tells each allocation as it comes."""
    config = ProfilerConfig(ProfilerState.CPU, False, True, False, False, False, _ExperimentalConfig())
    collecting = gc.isenabled()
    gc.disable()  # garbage from before is none of the run's
    _enable_profiler_legacy(config)
    try:
        for run in runs:
            with record_function(_RANGE):
                run()
    finally:
        threads = _disable_profiler_legacy()
        if collecting:
            gc.enable()
    (start,) = (e for events in threads for e in events if e.name() == "__start_profile")
    found = [e for events in threads for e in events if _kind(e) in ("push", "memory_alloc")]
    if sum(bool(events) for events in threads) > 1:
        found.sort(key=start.cpu_elapsed_us)
    return iter(found)


def _kind(event: Any) -> str:
    return str(event.kind())


def _highest(changes: Iterable[int]) -> int:
    held = highest = 0
    for change in changes:
        held += change
        highest = max(highest, held)
    return highest


def _cuda_peak(run: Callable[[], Any], device: torch.device) -> int:
    """Not tested on a machine with a GPU."""
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    run()
    torch.cuda.synchronize(device)
    return torch.cuda.max_memory_allocated(device) - before
