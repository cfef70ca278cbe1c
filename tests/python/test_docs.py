"""What README and docs show of Python is run, page by page, each block after the one before."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMES = [page.name for page in PAGES if "```python\n" in page.read_text()]


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", NAMES)
def test_shows_code_that_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = next(page for page in PAGES if page.name == name)
    namespace: dict[str, object] = {}
    for block in blocks(page):
        if "torch" in block and importlib.util.find_spec("torch") is None:
            pytest.skip("shows PyTorch, which is not installed")
        exec(compile(block, str(page), "exec"), namespace)


def test_there_is_something_to_run() -> None:
    assert {"README.md", "python.md"} <= set(NAMES)
