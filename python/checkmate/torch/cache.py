"""What was found out once and is worth remembering: JSON records in a folder of the user."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import tempfile
from pathlib import Path
from typing import Any

import torch

_LARGEST_FILE = 64 << 20
_MOST_FILES = 512  # of one kind; the oldest make room


class Cache:
    """Records by kind and key. A record that is missing, damaged or too large counts as unknown; one that cannot be written is
    no reason to fail."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or _default_folder()

    def read(self, kind: str, key: str) -> Any:
        """The record, or None. What is in it is not to be trusted."""
        path = self.path(kind, key)
        try:
            if path.stat().st_size > _LARGEST_FILE:
                return None
            record = json.loads(path.read_text())
            os.utime(path)
        except (OSError, ValueError, RecursionError):
            return None
        return record

    def write(self, kind: str, key: str, record: Any) -> None:
        """Writes the whole record, or leaves everything as it was."""
        path = self.path(kind, key)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
                json.dump(record, file)
            os.replace(file.name, path)
            self.make_room(kind)

    def make_room(self, kind: str) -> None:
        """Removes the oldest records of that kind, if there are too many."""
        files = sorted((self.folder / kind).iterdir(), key=lambda path: path.stat().st_mtime)
        for path in files[: max(0, len(files) - _MOST_FILES)]:
            path.unlink(missing_ok=True)

    def path(self, kind: str, key: str) -> Path:
        """Where the record is, if there is one."""
        return self.folder / kind / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def machine(device: torch.device) -> str:
    """Equal on machines where an op takes equally long: device, torch version, number of threads."""
    if device.type == "cuda":  # not tested on a machine with a GPU
        name = torch.cuda.get_device_name(device)
    else:
        name = f"{_processor()} {torch.get_num_threads()} threads {torch.backends.cpu.get_cpu_capability()}"
    return f"{torch.__version__} {device.type} {name}"


def _default_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "checkmate"


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
