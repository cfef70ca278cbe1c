"""What was found out once and is worth remembering: records in a folder of the user."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

_LARGEST_FILE = 64 << 20
_MOST_FILES = 512  # of one kind; the oldest make room


class Cache:
    """Records by kind and key. Without a folder, which is so by default for who has no home, nothing is remembered; a record that
    cannot be written is no reason to fail."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or _default_folder()

    def read(self, kind: str, key: str, parse: Callable[[str], T]) -> T | None:
        """What `parse` makes of the record's text; None if there is none.

        A record that cannot be read, or that `parse` refuses with a ValueError or a TypeError, is damaged: a warning names its
        file, and the next `write` replaces it.
        """
        path = self.path(kind, key)
        if path is None:
            return None
        try:
            record = parse(_text_of(path))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, RecursionError) as error:
            why = f"{type(error).__name__}: {error}"
            warnings.warn(f"{path} is damaged and no longer counts; a new record takes its place ({why:.200})", stacklevel=2)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return record

    def write(self, kind: str, key: str, text: str) -> None:
        """Writes the whole record, or leaves everything as it was."""
        path = self.path(kind, key)
        if path is None:
            return
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                path.rmdir()  # fails where it is not empty: what is in it is not ours
            _replace(path, text)
            _make_room(path.parent)

    def path(self, kind: str, key: str) -> Path | None:
        """Where the record is, if there is one; None where nothing is remembered."""
        return self.folder and self.folder / kind / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def _text_of(path: Path) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe without a writer would never open otherwise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ValueError("it is not a file")
    with open(descriptor, "rb") as file:
        content = file.read(_LARGEST_FILE + 1)
    if len(content) > _LARGEST_FILE:
        raise ValueError(f"it is larger than {_LARGEST_FILE} bytes")
    return content.decode()


def _replace(path: Path, text: str) -> None:
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
        whole = False
        try:
            file.write(text)
            file.close()  # where the disk is full, it is told here
            os.replace(file.name, path)
            whole = True
        finally:
            if not whole:
                os.unlink(file.name)


def _make_room(folder: Path) -> None:
    files = sorted(folder.iterdir(), key=lambda path: path.lstat().st_mtime)
    for path in files[: max(0, len(files) - _MOST_FILES)]:
        with contextlib.suppress(OSError):
            path.unlink()


def _default_folder() -> Path | None:
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "checkmate"
    except RuntimeError:  # whoever runs this has no home directory
        return None
