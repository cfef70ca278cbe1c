"""Processes that train together. What they run must lie in a module that is quick to import, as this one is."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.multiprocessing.spawn import spawn

Work = Callable[[int, str], Any]  # of a rank, with a folder for its files


def results_of_ranks(work: Work, folder: Path, ranks: int = 2) -> list[Any]:
    """What the function returned on each rank."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    spawn(_run, args=(port, work, str(folder), ranks), nprocs=ranks)
    return [torch.load(folder / f"{rank}.pt") for rank in range(ranks)]


def _run(rank: int, port: int, work: Work, folder: str, ranks: int) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=ranks)
    try:
        torch.save(work(rank, folder), f"{folder}/{rank}.pt")
    finally:
        dist.destroy_process_group()
