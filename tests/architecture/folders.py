"""Which folder may include which: the architecture in one table, checked against every #include.

folders.py            check this tree: one line per mistake
folders.py --print    print the table, as docs/architecture.md shows it
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]

# A row may include itself and the rows it names. It names only rows above it, so there is no cycle. Names without a
# top folder are folders of src/. <solve> stands for the public headers of src/solve, <all> for checkmate/checkmate.h,
# which includes every component, and * for every row above.
TABLE = {
    "<core>": "",
    "<solve>": "<core>",
    "<analysis>": "<core> <solve>",
    "<layout>": "<core>",
    "<zoo>": "<core>",
    "<io>": "<core> <solve> <layout>",
    "<costs>": "<core>",
    "<plot>": "<core> <analysis>",
    "<report>": "<core> <solve> <analysis>",
    "<runtime>": "<core>",
    "<c>": "<core>",
    "<all>": "<core> <solve> <analysis> <layout> <zoo> <io> <costs> <plot> <report>",
    "core": "<core>",
    "lp": "<core>",
    "solve/common": "<core> <solve> lp",
    "solve/baselines": "<core> solve/common",
    "solve/brute": "solve/common",
    "solve/chain": "<core> solve/common",
    "solve/knapsack": "solve/common",
    "solve/segment_heuristic": "solve/common",
    "solve/least_budget": "<core> core solve/common",
    "solve/anneal": "core solve/common solve/knapsack",
    "solve/least_peak": "<core> core solve/common solve/anneal",
    "solve/free_order": "core solve/common",
    "solve/paper": "<core> <solve> core lp solve/common solve/baselines",
    "solve/sparse_milp": "<core> core lp solve/common solve/baselines",
    "solve/api": "<core> <solve> core solve/common solve/baselines solve/brute solve/chain solve/knapsack "
    "solve/segment_heuristic solve/least_budget solve/anneal solve/least_peak solve/free_order solve/paper solve/sparse_milp",
    "analysis": "<core> <solve> <analysis> core solve/least_budget",
    "layout": "<core> <layout> core",
    "zoo": "<core> <zoo> core",
    "io": "<core> <zoo> <io> core",
    "costs": "<core> <costs> core io",
    "plot": "<core> <solve> <plot> core",
    "report": "<core> <analysis> <report> core io",
    "c": "<core> <solve> <layout> <io> <c> core",
    "runtime": "<runtime>",
    "tools/experiments": "<core> <analysis> <zoo> <io> <plot> core solve/paper io",
    "tools/checkmate": "<core> <solve> <zoo> <io> <plot> <report> <all> core io tools/experiments",
    "python/bindings": "<core> <runtime> <all>",
    "tests/support": "<all>",
    "tests": "*",
    "benchmarks": "<all> solve/anneal tools/experiments",
    "fuzz": "<all>",
    "examples": "<c> <all>",
}

# Library: how its headers are named. CONTRIBUTING.md says which file includes it, and no other does.
LIBRARIES = {
    "simdjson": r"simdjson",
    "HiGHS": r"(?i)interfaces/highs|highs",
    "CLI11": r"CLI/",
    "cairo": r"cairo",
    "nanobind": r"nanobind/",
}

# Folders of tests that mirror no folder of src.
TESTS_OF_THE_WHOLE = {"command_line", "support"}


class Include(NamedTuple):
    """One line of a source file."""

    file: Path  # relative to the root, as all paths here
    line: int
    name: str
    quoted: bool

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"


def printed(table: Mapping[str, str]) -> str:
    """The table for people."""
    width = max(map(len, table)) + 2
    lines = [f"{'folder':{width}}may include", ""]
    for row, allowed in table.items():
        names, line = allowed.split() or ["-"], f"{row:{width - 1}}"
        for name in names:
            if len(line) + 1 + len(name) > 98:
                lines.append(line)
                line = " " * (width - 1)
            line += f" {name}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def cycles(table: Mapping[str, str]) -> Iterator[str]:
    """Rows that name a row below them, with the cycle that this closes if there is one."""
    rows = list(table)
    for row, allowed in table.items():
        for name in allowed.split():
            if name == "*":
                continue
            if name not in table:
                yield f"the table: {row} names {name}, which has no row"
            elif rows.index(name) >= rows.index(row):
                back = path_between(table, name, row)
                closes = f"a cycle: {' -> '.join([row, *back])}" if back else "move the row down"
                yield f"the table: {row} names {name}, which is not above it; {closes}"


def allowed_to(row: str, table: Mapping[str, str]) -> list[str]:
    rows = list(table)
    return rows[: rows.index(row)] if table[row] == "*" else table[row].split()


def path_between(table: Mapping[str, str], start: str, goal: str) -> list[str]:
    paths, seen = [[start]], {start}
    for path in paths:
        if path[-1] == goal:
            return path
        for name in table.get(path[-1], "").split():
            if name not in seen:
                seen.add(name)
                paths.append([*path, name])
    return []


def header_rows(root: Path) -> dict[Path, str]:
    """The row of each public header: the folder of its component that has the source of the same name, or else the first."""
    rows = {Path("include/checkmate/checkmate.h"): "<all>"}
    component = re.compile(r"^component\(\w+ FOLDERS ([\w ]+?) (?:[A-Z]+ [^)]*?)?HEADERS ([^)]*)\)", flags=re.MULTILINE)
    for folder_names, header_names in component.findall((root / "src/components.cmake").read_text()):
        folders = folder_names.split()
        for header in map(Path, header_names.split()):
            sources = (folder for folder in folders if any((root / "src" / folder).rglob(f"{header.stem}.cc")))
            rows.setdefault(Path("include/checkmate") / header, f"<{next(sources, folders[0])}>")
    return rows


def row_of(file: Path, table: Mapping[str, str], headers: Mapping[Path, str]) -> str | None:
    if file in headers:
        return headers[file]
    folder = file.relative_to("src") if file.is_relative_to("src") else file
    return next((str(parent) for parent in folder.parents if str(parent) in table), None)


def includes(root: Path) -> list[Include]:
    found = []
    for top in ("include", "src", "tools", "python", "tests", "benchmarks", "fuzz", "examples"):
        for file in sorted(path for path in (root / top).rglob("*") if path.suffix in (".h", ".cc", ".c")):
            for number, line in enumerate(file.read_text().splitlines(), start=1):
                if match := re.match(r'\s*#\s*include\s*(["<])([^">]+)', line):
                    found.append(Include(file.relative_to(root), number, match[2], match[1] == '"'))
    return found


def target(root: Path, include: Include) -> Path | None:
    """The file of ours that is meant."""
    own = [include.file.parent, Path("src"), Path("tools"), Path("tests")] if include.quoted else []
    places = (folder / include.name for folder in [*own, Path("include")])
    return next((place for place in places if any((root / f"{place}{made}").exists() for made in ("", ".in"))), None)


def folder_mistakes(root: Path, table: Mapping[str, str], found: list[Include]) -> Iterator[str]:
    headers = header_rows(root)
    used: set[tuple[str, str]] = set()
    for include in found:
        row, meant = row_of(include.file, table, headers), target(root, include)
        if row is None:
            yield f"{include.place}: the folder {include.file.parent} has no row in the table"
        elif meant is None:
            if include.quoted:
                yield f'{include.place}: there is no "{include.name}"'
        elif (to := row_of(meant, table, headers)) is None:
            yield f"{include.place}: the folder or component of {meant} has no row in the table"
        elif to != row:
            used.add((row, to))
            if to not in allowed_to(row, table):
                yield f'{include.place}: {row} may not include {to} ("{include.name}")'
    for row in table:
        for name in table[row].split():
            if name != "*" and (row, name) not in used:
                yield f"the table: {row} no longer includes {name}; remove it from the row"


def library_mistakes(root: Path, found: list[Include]) -> Iterator[str]:
    page = (root / "CONTRIBUTING.md").read_text()
    for library, header in LIBRARIES.items():
        named = re.search(rf"\b{library} in\s+`([^`]+)`", page)
        if named is None:
            yield f"CONTRIBUTING.md does not say which file includes {library}"
            continue
        uses = [include for include in found if not include.quoted and re.match(header, include.name)]
        inside = [include for include in uses if include.file.is_relative_to(named[1])]
        if not inside:
            yield f"CONTRIBUTING.md: {named[1]} does not include {library}"
        for include in uses:
            if include not in inside:
                yield f"{include.place}: only {named[1]} may include {library} (<{include.name}>)"


def test_mistakes(root: Path) -> Iterator[str]:
    for file in sorted((root / "tests").rglob("*_test.cc")):
        folder = file.parent.relative_to(root / "tests")
        if str(folder) not in TESTS_OF_THE_WHOLE and not (root / "src" / folder).is_dir():
            yield f"{file.relative_to(root)}: tests mirror src, and there is no src/{folder}"


def mistakes(root: Path, table: Mapping[str, str]) -> list[str]:
    found = includes(root)
    return [
        *cycles(table),
        *folder_mistakes(root, table, found),
        *library_mistakes(root, found),
        *test_mistakes(root),
    ]


def page_mistakes(root: Path, table: Mapping[str, str]) -> list[str]:
    if printed(table) in (root / "docs/architecture.md").read_text():
        return []
    return ["docs/architecture.md does not show the table: put in what tests/architecture/folders.py --print prints"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--print", action="store_true", help="print the table")
    if parser.parse_args().print:
        print(printed(TABLE), end="")
        return 0
    wrong = mistakes(ROOT, TABLE) + page_mistakes(ROOT, TABLE)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
