"""Measured costs on disk: one file per device, torch version and number of threads."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

_LARGEST_FILE = 64 << 20


@dataclass(frozen=True)
class UnitCost:
    """What one run takes."""

    cost: int
    workspace: int = 0  # bytes in addition to the unit's results, while it runs


class CostCache:
    """Costs by signature. A file that is missing, damaged or of another machine counts as empty."""

    def __init__(self, device: torch.device, folder: Path | None = None) -> None:
        folder = folder or _default_folder()
        self.path = folder / f"costs-{_fingerprint(device)}.json"
        self._costs = _read(self.path)

    def __contains__(self, key: str) -> bool:
        return key in self._costs

    def __getitem__(self, key: str) -> UnitCost:
        return UnitCost(*self._costs[key])

    def add(self, costs: Mapping[str, UnitCost]) -> None:
        """Writes the whole file, or leaves it as it was: a cache that cannot be written is no reason to fail."""
        if not costs:
            return
        self._costs.update((key, (cost.cost, cost.workspace)) for key, cost in costs.items())
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            merged = {**_read(self.path), **self._costs}
            with tempfile.NamedTemporaryFile("w", dir=self.path.parent, delete=False) as file:
                json.dump(merged, file)
            os.replace(file.name, self.path)
        except OSError:
            return


def _read(path: Path) -> dict[str, tuple[int, int]]:
    try:
        if path.stat().st_size > _LARGEST_FILE:
            return {}
        content = json.loads(path.read_text())
        return {key: (_amount(cost), _amount(workspace)) for key, (cost, workspace) in content.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _amount(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 62:
        raise ValueError(value)
    return value


def _default_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "checkmate"


def _fingerprint(device: torch.device) -> str:
    if device.type == "cuda":  # not tested on a machine with a GPU
        name = torch.cuda.get_device_name(device)
    else:
        name = f"{_processor()} {torch.get_num_threads()} threads {torch.backends.cpu.get_cpu_capability()}"
    return hashlib.sha256(f"{torch.__version__} {device.type} {name}".encode()).hexdigest()[:16]


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
