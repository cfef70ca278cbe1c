"""How much memory the allocator hands out while something runs, from its own events."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import math
import os
import resource
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
from torch._C._autograd import _disable_profiler_legacy, _enable_profiler_legacy, _profiler_enabled
from torch._C._profiler import ProfilerConfig, ProfilerState, _ExperimentalConfig
from torch.profiler import record_function

from checkmate.frontend.machine import LIMITS, available_memory, sizes_in, trim_heap

_M_MMAP_THRESHOLD = -3  # as malloc.h has it
_BEGIN, _END = "checkmate.begin", "checkmate.end"


def allocated_bytes(nbytes: int, device: torch.device) -> int:
    """As the device's allocator rounds them."""
    return -(-nbytes // 512) * 512 if device.type == "cuda" else nbytes


def peak_bytes(run: Callable[[], Any], device: torch.device) -> int:
    """The most bytes held at once among those that were asked for while `run` ran.

    What was there before is not counted, nor is its release.
    """
    if device.type == "cuda":
        return _cuda_peak(run, device)
    return _highest(event.cpu_memory_usage() for event in _events(run))


def available_bytes(device: torch.device) -> int:
    """What a process can still get: of the machine, of its control group, and within its own limits."""
    if device.type == "cuda":  # not tested on a machine with a GPU
        return int(torch.cuda.mem_get_info(device)[0])
    return available_memory()


def resident_bytes(prepare: Callable[[], Any], run: Callable[[], Any], seconds: float) -> int | None:
    """How much the resident memory of a process grows while `run` runs twice, after `prepare`: seen in a child process, on one
    thread. None where the system does not tell, or the child takes longer than so many seconds."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # nothing of the parent may run here: no exception, no exit handler
        with contextlib.suppress(BaseException):
            os.close(reader)
            signal.alarm(max(1, math.ceil(seconds)))
            os.write(writer, str(_resident_growth(prepare, run)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return int(told) if told else None


def _resident_growth(prepare: Callable[[], Any], run: Callable[[], Any]) -> int:
    torch.set_num_threads(1)  # those of the parent's pool did not come along
    run()  # loads code, and records what one thread allocates
    prepare()
    gc.collect()
    trim_heap()
    before = sizes_in("/proc/self/status")
    Path("/proc/self/clear_refs").write_text("5")  # the highest resident memory begins anew
    run()
    run()
    after = sizes_in("/proc/self/status")
    code = after["RssFile"] - before["RssFile"]  # pages of libraries that are used for the first time
    return max(0, after["VmHWM"] - before["VmRSS"] - code)


def return_large_blocks() -> None:
    """Has malloc return blocks of a megabyte and more as soon as they are freed, if the process is limited: what it keeps for
    later, an arena could not have."""
    if any(resource.getrlimit(limit)[0] != resource.RLIM_INFINITY for limit in LIMITS):
        with contextlib.suppress(OSError, AttributeError):  # glibc's alone
            ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, 1 << 20)


class PartPeaks:
    """peak_bytes() of parts of one run, which says where each begins and ends."""

    def __init__(self, device: torch.device) -> None:
        self._cuda = device if device.type == "cuda" else None
        self._cuda_begin = 0
        self._cuda_peaks: list[int] = []

    def begin(self) -> None:
        """A part of the run begins."""
        if self._cuda is None:
            _mark(_BEGIN)
        else:
            self._cuda_begin = _restart_cuda(self._cuda)

    def end(self) -> None:
        """It ends."""
        if self._cuda is None:
            _mark(_END)
        else:
            self._cuda_peaks.append(torch.cuda.max_memory_allocated(self._cuda) - self._cuda_begin)

    def of(self, run: Callable[[], Any]) -> list[int]:
        """The peaks, in the order of the parts."""
        if self._cuda is not None:
            run()
            return self._cuda_peaks
        peaks: list[int] = []
        part: list[int] = []
        for event in _events(run):
            if _kind(event) == "memory_alloc":
                part.append(event.cpu_memory_usage())
            elif event.name() == _BEGIN:
                part = []
            elif event.name() == _END:
                peaks.append(_highest(part))
        return peaks


def _mark(name: str) -> None:
    with record_function(name):
        pass


def _events(run: Callable[[], Any]) -> Iterator[Any]:
    """What the profiler noted, in order of time. Where the caller profiles this thread, another one runs it: a thread has one
    profiler."""
    if not _profiler_enabled():
        return _events_of_thread(run)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_events_of_thread, run).result()


def _events_of_thread(run: Callable[[], Any]) -> Iterator[Any]:
    collecting = gc.isenabled()
    gc.disable()  # garbage from before is none of the run's
    begin_events()
    try:
        run()
    finally:
        found = end_events()
        if collecting:
            gc.enable()
    return iter(found)


def begin_events() -> None:
    """The profiler in its older form, which tells each allocation as it comes."""
    _enable_profiler_legacy(ProfilerConfig(ProfilerState.CPU, False, True, False, False, False, _ExperimentalConfig()))


def end_events() -> list[Any]:
    """What it noted, in order of time. Not in a backward pass, after which autograd would put the profiler back."""
    threads = _disable_profiler_legacy()
    (start,) = (e for events in threads for e in events if e.name() == "__start_profile")
    found = [e for events in threads for e in events if _kind(e) in ("push", "memory_alloc")]
    if sum(bool(events) for events in threads) > 1:
        found.sort(key=start.cpu_elapsed_us)
    return found


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
    before = _restart_cuda(device)
    run()
    torch.cuda.synchronize(device)
    return torch.cuda.max_memory_allocated(device) - before


def _restart_cuda(device: torch.device) -> int:
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    return torch.cuda.memory_allocated(device)
