"""Which instruction set oneDNN may use here.

A processor can announce AMX while the hypervisor forbids it. oneDNN, which runs PyTorch's bfloat16 matmuls and convolutions,
then ends the process with an illegal instruction. A child process finds out. ``ONEDNN_MAX_CPU_ISA`` takes effect if it is set
before oneDNN's first kernel runs; it may be set after torch is imported.

``python -P processor.py``, where the package can be imported, prints the assignment for a shell, or nothing where none is
needed, without loading torch itself.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from checkmate._cache import Cache

VARIABLE = "ONEDNN_MAX_CPU_ISA"

_DEFAULT = "default"  # works, or no limit helps
_LIMITS = ("AVX512_CORE_BF16", "AVX512_CORE", "AVX2")  # all without AMX, the fastest first
_KERNELS = """
import torch
matrix = torch.ones(64, 64, dtype=torch.bfloat16)
matrix @ matrix
images = torch.ones(1, 16, 16, 16, dtype=torch.bfloat16)
torch.nn.functional.conv2d(images, torch.ones(16, 16, 3, 3, dtype=torch.bfloat16))
"""


def working_isa(probe: Sequence[str] | None = None, folder: Path | None = None) -> str | None:
    """The value of ``ONEDNN_MAX_CPU_ISA`` under which bfloat16 kernels run; ``None``: the default works, or no value helps.

    Takes some seconds the first time on a machine, and is then read from ``folder``, by default the user's cache. ``probe`` is
    the command that must survive, by default one matmul and one convolution with torch.
    """
    cache, key = Cache(folder), _fingerprint()
    found = cache.read("isa", key, _isa_from)
    if found is None:
        found = _search(probe or [sys.executable, "-c", _KERNELS])
        cache.write("isa", key, found)
    return None if found == _DEFAULT else found


def use_working_isa() -> str | None:
    """Sets ``ONEDNN_MAX_CPU_ISA`` for this process and its children, if needed and not set, and returns a line that says so."""
    if VARIABLE in os.environ or (isa := working_isa()) is None:
        return None
    os.environ[VARIABLE] = isa
    return f"oneDNN's default bfloat16 kernels end the process on this machine: {VARIABLE}={isa} is set"


def _search(probe: Sequence[str]) -> str:
    if _status(probe, None) >= 0:  # an error that is no signal has another cause, which a limit does not cure
        return _DEFAULT
    return next((limit for limit in _LIMITS if _status(probe, limit) == 0), _DEFAULT)


def _isa_from(text: str) -> str:
    if text not in (_DEFAULT, *_LIMITS):
        raise ValueError(f"{text!r:.60} is no instruction set")
    return text


def _status(probe: Sequence[str], limit: str | None) -> int:
    """The child's exit status; negative where a signal ended it."""
    environment = {key: value for key, value in os.environ.items() if key != VARIABLE}
    if limit is not None:
        environment[VARIABLE] = limit
    return subprocess.run(probe, env=environment, capture_output=True, check=False).returncode


def _fingerprint() -> str:
    """The processor with what it announces, the kernel that allows it, and the torch that uses it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = [platform.processor()]
    announced = sorted({line for line in lines if line.startswith(("model name", "flags"))})
    try:
        torch = version("torch")
    except PackageNotFoundError:
        torch = ""
    described = "\n".join([torch, platform.machine(), platform.release(), *announced])
    return hashlib.sha256(described.encode()).hexdigest()[:16]


if __name__ == "__main__":
    if line := use_working_isa():
        print(line, file=sys.stderr)
        print(f"{VARIABLE}={os.environ[VARIABLE]}")
