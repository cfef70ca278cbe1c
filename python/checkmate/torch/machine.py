"""What machine this is, for what is measured on it."""

from __future__ import annotations

import contextlib
import platform
from pathlib import Path

import torch


def machine(device: torch.device) -> str:
    """Equal on machines where an op takes equally long: device, torch version, number of threads."""
    if device.type == "cuda":  # not tested on a machine with a GPU
        name = torch.cuda.get_device_name(device)
    else:
        name = f"{_processor()} {torch.get_num_threads()} threads {torch.backends.cpu.get_cpu_capability()}"
    version = torch.__version__.partition("+")[0]  # without that of the package, which C++ does not know
    return f"{version} {device.type} {name}"


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
