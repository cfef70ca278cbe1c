"""What the shared library exports: of C exactly what src/c/exports.txt lists, of C++ names of ours, and nothing else.

exports_test.py LIBRARY
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LISTED = ROOT / "src/c/exports.txt"
NOT_IN_THE_LIBRARY = {"checkmate.h", "runtime.h"}  # declares nothing; is a static library


def exported(library: str) -> list[str]:
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return [line.split()[-1].split("@")[0] for line in symbols.splitlines()]


def demangled(names: list[str]) -> list[str]:
    return subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout.splitlines()


def hidden_headers() -> list[str]:
    """Those whose names the library would not export."""
    headers = [path for path in (ROOT / "include/checkmate").iterdir() if path.name not in NOT_IN_THE_LIBRARY]
    return sorted(path.name for path in headers if "\n#pragma GCC visibility push(default)\n" not in path.read_text())


def mistakes(library: str) -> list[str]:
    names = exported(library)
    of_c = {name for name in names if not name.startswith("_Z")}
    listed = set(LISTED.read_text().split())
    declared = set(re.findall(r"\b(checkmate_\w+)\(", (ROOT / "include/checkmate/c.h").read_text()))
    strangers = [name for name in demangled([n for n in names if n.startswith("_Z")]) if " checkmate::" not in f" {name}"]
    return [
        *(f"{name} is exported and not in {LISTED.name}: add it, if it is to stay for good" for name in sorted(of_c - listed)),
        *(f"{name} is in {LISTED.name} and not exported: its callers no longer start" for name in sorted(listed - of_c)),
        *(f"{name} is in {LISTED.name} and not in c.h" for name in sorted(listed - declared)),
        *(f"{name} is exported and not ours" for name in strangers),
        *(f"{name} has no `#pragma GCC visibility push(default)`: what it declares is not exported" for name in hidden_headers()),
    ]


if __name__ == "__main__":
    wrong = mistakes(sys.argv[1])
    print(*wrong, sep="\n", end="\n" if wrong else "")
    sys.exit(1 if wrong else 0)
