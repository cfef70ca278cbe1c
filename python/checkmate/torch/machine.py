"""What machine this is, for what is measured on it."""

from __future__ import annotations

import torch

from checkmate.frontend.machine import processor


def machine(device: torch.device) -> str:
    """Equal on machines where an op takes equally long: device, torch version, number of threads."""
    if device.type == "cuda":  # not tested on a machine with a GPU
        name = torch.cuda.get_device_name(device)
    else:
        name = f"{processor()} {torch.get_num_threads()} threads {torch.backends.cpu.get_cpu_capability()}"
    version = torch.__version__.partition("+")[0]  # without that of the package, which C++ does not know
    return f"{version} {device.type} {name}"
