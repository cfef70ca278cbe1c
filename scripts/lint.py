"""clang-tidy over the C++ files that have changed since it last passed.

lint.py [--record]

scripts/clang_tidy_passed, which is tracked, says what passed: one line per file, with a hash of the file, of our headers that
it includes and of the checks. A fresh clone therefore checks only what differs. `--record` (`make lint`) writes that file;
without it (CI), what passes is remembered in build/lint only. Git merges the file by taking the lines of both sides: a source
that both sides changed has a new hash and is checked again.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "scripts" / "clang_tidy_passed"
REMEMBERED = ROOT / "build" / "lint" / "passed"
SOURCES = ("src", "tools", "python", "tests", "benchmarks")  # examples and fuzz targets are not in the compile commands
HEADERS = ("include", "src", "tests", "tools")  # where an #include is looked for, besides the file's own folder
INCLUDE = re.compile(r'^#include [<"]([^>"]+)[>"]', re.MULTILINE)
COMMENT = re.compile(r"^\s*//(?!.*NOLINT).*$", re.MULTILINE)


def code(path: Path) -> str:
    """The file without what clang-tidy does not look at: indentation, empty lines and lines of comment."""
    lines = (line.strip() for line in COMMENT.sub("", path.read_text()).splitlines())
    return "\n".join(line for line in lines if line)


def own_headers(path: Path) -> list[Path]:
    """Those that the file itself includes. Those behind them are left out: one change would mean checking everything."""
    folders = [path.parent, *(ROOT / folder for folder in HEADERS)]
    found = ([folder / name for folder in folders if (folder / name).is_file()][:1] for name in INCLUDE.findall(path.read_text()))
    return sorted(header for headers in found for header in headers)


def entry(path: Path, checks: str) -> str:
    text = "\0".join([checks, code(path), *(code(header) for header in own_headers(path))])
    return f"{path.relative_to(ROOT)} {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def read(path: Path) -> set[str]:
    return set(path.read_text().splitlines()) if path.exists() else set()


def passes(path: Path) -> bool:
    command = ["clang-tidy", "--quiet", "-p", "build/lint", str(path)]
    run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    if run.returncode != 0:
        print(run.stdout or f"clang-tidy failed on {path}: run {' '.join(command)}", flush=True)
    return run.returncode == 0


def main() -> int:
    checks = (ROOT / ".clang-tidy").read_text()
    files = sorted(file for folder in SOURCES for file in (ROOT / folder).rglob("*.cc"))
    entries = {file: entry(file, checks) for file in files}
    passed = (read(RECORD) | read(REMEMBERED)) & set(entries.values())
    changed = [file for file in files if entries[file] not in passed]
    if changed:
        print(f"clang-tidy: {len(changed)} of {len(files)} files to check", flush=True)
        subprocess.run(["cmake", "--preset", "lint"], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    clean = True
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, (file, good) in enumerate(zip(changed, pool.map(passes, changed), strict=True), start=1):
            clean &= good
            passed |= {entries[file]} if good else set()
            if number % 10 == 0:
                print(f"clang-tidy: {number} of {len(changed)}", flush=True)
            REMEMBERED.write_text("".join(f"{line}\n" for line in sorted(passed)))
    if "--record" in sys.argv:
        RECORD.write_text("".join(f"{line}\n" for line in sorted(passed)))
    print("clang-tidy: clean" if clean else "clang-tidy: see above; after the fixes, `make lint` checks these files again")
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main())
