"""What a page of the docs shows, block by block, and how a reader would run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PROGRAM = ROOT / "build/bin/checkmate"


@dataclass(frozen=True)
class Block:
    """What is between two fences; `kind` is what stands behind the first."""

    page: Path
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(page: Path) -> list[Block]:
    found = re.finditer(r"^```(.*)\n((?s:.*?))^```$", page.read_text(), flags=re.MULTILINE)
    return [Block(page, page.read_text()[: block.start()].count("\n") + 1, block[1], block[2]) for block in found]


class Reader:
    """Follows a page in an empty folder, with `checkmate` and `python` at hand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.printed = ""
        self._names: dict[str, object] = {}
        self._environment = {
            **os.environ,
            "PATH": f"{PROGRAM.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "build/python"),
            "XDG_CACHE_HOME": str(folder / "cache"),
        }

    def follow(self, block: Block) -> None:
        """Does what the block is there for."""
        if block.kind in ("sh", "sh fails"):
            self._run_shell(block)
        elif block.kind == "python" and (name := re.match(r"# (\S+\.py)\n", block.text)):
            (self.folder / name[1]).write_text(block.text)
        elif block.kind == "python":
            exec(compile(block.text, str(block), "exec"), self._names)
        elif block.kind == "text":
            self._compare(block)

    def _run_shell(self, block: Block) -> None:
        run = subprocess.run(
            ["bash", "-ec", block.text],
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
            check=False,
        )
        self.printed = run.stdout
        assert (run.returncode != 0) == (block.kind == "sh fails"), f"{block}\n{block.text}{run.stdout}"

    def _compare(self, block: Block) -> None:
        """What the commands before have printed; figures, and what stands for `...`, may differ."""
        printed = [_without_figures(line) for line in self.printed.splitlines()]
        for line in block.text.splitlines():
            pattern = ".*".join(re.escape(_without_figures(part)) for part in line.split("..."))
            assert any(re.fullmatch(pattern, seen) for seen in printed), f"{block}: not printed: {line}\n{self.printed}"


def _without_figures(line: str) -> str:
    return re.sub(r"[ 0-9.,]+", " ", line).strip()
