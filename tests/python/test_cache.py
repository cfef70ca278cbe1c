"""Records in a folder: read back, found to be damaged, replaced, and never a reason to fail."""

from __future__ import annotations

import json
import os
import pwd
import re
import resource
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from checkmate._cache import Cache


def path_of(cache: Cache, key: str) -> Path:
    path = cache.path("costs", key)
    assert path is not None
    return path


def numbers(text: str) -> list[int]:
    """As a parser of a record does: what is wrong with it is a ValueError or a TypeError."""
    return [int(number) for number in json.loads(text)]


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def make_large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)  # takes no room on the disk


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": Path.touch,
    "cut short": lambda path: path.write_text("[1, 2"),
    "of another kind": lambda path: path.write_text("7"),
    "deeply nested": lambda path: path.write_text("[" * 100_000),
    "not UTF-8": lambda path: path.write_bytes(b"[1, \xff]"),
    "of zeros": lambda path: path.write_bytes(bytes(4096)),
    "huge": make_large,
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a socket": make_socket,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path.name),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_record_is_told_with_its_file_and_replaced(
    damage: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    cache = Cache(Path())
    path = path_of(cache, "a")
    path.parent.mkdir()
    damage(path)
    with pytest.warns(UserWarning, match=re.escape(f"{path} is damaged")):
        assert cache.read("costs", "a", numbers) is None
    cache.write("costs", "a", "[1, 2]")
    assert cache.read("costs", "a", numbers) == [1, 2]
    assert list(path.parent.iterdir()) == [path]  # nothing half-written is left


def test_a_record_is_read_back_and_a_missing_one_is_unknown(tmp_path: Path) -> None:
    Cache(tmp_path).write("costs", "a", "[5]")
    assert Cache(tmp_path).read("costs", "a", numbers) == [5]
    assert Cache(tmp_path).read("costs", "b", numbers) is None
    assert Cache(tmp_path).read("plans", "a", numbers) is None


def test_the_oldest_records_of_a_kind_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checkmate._cache._MOST_FILES", 2)
    cache = Cache(tmp_path)
    for age, key in ((30, "a"), (20, "b")):
        cache.write("costs", key, f"[{age}]")
        os.utime(path_of(cache, key), (1e9 - age, 1e9 - age))
    cache.write("plans", "a", "[]")
    cache.write("costs", "c", "[10]")
    assert [cache.read("costs", key, numbers) for key in "abc"] == [None, [20], [10]]
    assert cache.read("plans", "a", numbers) == []


def test_a_full_disk_leaves_the_old_record_and_nothing_else(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.write("costs", "a", "[1]")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))  # what a full disk does, without filling one
    try:
        cache.write("costs", "a", f"[{'1, ' * 10_000}1]")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list((tmp_path / "costs").iterdir()) == [path_of(cache, "a")]
    assert cache.read("costs", "a", numbers) == [1]


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    inside = path_of(cache, "a") / "precious"
    inside.mkdir(parents=True)
    cache.write("costs", "a", "[1]")
    assert list((tmp_path / "costs").rglob("*")) == [inside.parent, inside]


def test_a_folder_that_cannot_be_is_told_and_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = Cache(tmp_path / "file")
    with pytest.warns(UserWarning, match="Not a directory"):
        assert cache.read("costs", "a", numbers) is None
    cache.write("costs", "a", "[1]")


def test_who_has_no_home_directory_remembers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(user: int) -> None:
        raise KeyError(user)

    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)  # as of a user that only a container's number stands for
    Cache().write("costs", "a", "[1]")
    assert Cache().read("costs", "a", numbers) is None
