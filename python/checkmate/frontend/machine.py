"""What machine this is, and how much memory a process can still get on it."""

from __future__ import annotations

import contextlib
import ctypes
import platform
import resource
import sys
from pathlib import Path

LIMITS = {resource.RLIMIT_AS: "VmSize", resource.RLIMIT_DATA: "VmData"}
"""Of a process, and what counts against each."""


def processor() -> str:
    """Its name: ops take as long on another of the same."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def available_memory() -> int:
    """Bytes that a process can still get: of the machine, of its control group, and within its own limits."""
    status = sizes_in("/proc/self/status")
    limits = [sizes_in("/proc/meminfo").get("MemAvailable")]
    for kind, field in LIMITS.items():
        allowed = resource.getrlimit(kind)[0]
        if allowed != resource.RLIM_INFINITY:
            limits.append(allowed - status.get(field, 0))
    with contextlib.suppress(OSError, ValueError):  # "max" is no number: no limit
        folder = Path("/sys/fs/cgroup")
        used = int((folder / "memory.current").read_text())
        limits.append(int((folder / "memory.max").read_text()) - used)
    return max(0, min((limit for limit in limits if limit is not None), default=sys.maxsize))


def trim_heap() -> None:
    """Returns to the system what malloc keeps for later."""
    with contextlib.suppress(OSError, AttributeError):  # glibc's alone
        ctypes.CDLL(None).malloc_trim(0)


def sizes_in(path: str) -> dict[str, int]:
    """The lines `Name:   123 kB` of such a file, in bytes."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return {}
    return {
        name: 1024 * int(size.split()[0]) for name, _, size in (line.partition(":") for line in lines) if size.endswith(" kB")
    }
