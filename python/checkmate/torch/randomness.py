"""The state of the generator that random ops draw from, so that an op can draw the same numbers again."""

from __future__ import annotations

import torch


def random_state(device: torch.device) -> bytes:
    """As it is now. Some kilobytes, which are not the allocator's."""
    state = torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()
    return state.numpy().tobytes()


def set_random_state(state: bytes, device: torch.device) -> None:
    """Puts back what random_state() returned."""
    tensor = torch.frombuffer(bytearray(state), dtype=torch.uint8)
    if device.type == "cuda":  # not tested on a machine with a GPU
        torch.cuda.set_rng_state(tensor, device)
    else:
        torch.set_rng_state(tensor)
