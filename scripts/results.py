"""Results of tests, as the runners write them: JUnit XML files in build/results.

results.py run NAME COMMAND...   runs the command; it counts as one test, unless it leaves build/results/NAME.xml
results.py total                 prints `N passed, N failed, N skipped` of all files; fails if a test failed or none passed
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

FOLDER = Path(__file__).parents[1] / "build" / "results"


def outcome(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
        return "skipped"
    return "passed"


def count(file: Path) -> Counter[str]:
    # pytest writes a case twice where the test and its teardown both fail.
    cases = {(case.get("classname"), case.get("name")): outcome(case) for case in ElementTree.parse(file).iter("testcase")}
    return Counter(cases.values())


def spoken(counts: Counter[str]) -> str:
    return f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped"


def write_one(file: Path, name: str, failed: bool) -> None:
    suite = ElementTree.Element("testsuite", name=name)
    case = ElementTree.SubElement(suite, "testcase", classname=name, name=name)
    if failed:
        ElementTree.SubElement(case, "failure", message="the command failed")
    ElementTree.ElementTree(suite).write(file, encoding="unicode")


def run(name: str, command: list[str]) -> int:
    """A command that fails without a failed test in its file, such as a runner that dies, counts as one failed test more."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    file, died = FOLDER / f"{name}.xml", FOLDER / f"{name}-died.xml"
    file.unlink(missing_ok=True)
    died.unlink(missing_ok=True)
    print(f"{name} ...", flush=True)
    begin = time.monotonic()
    status = subprocess.run(command, check=False).returncode
    if not file.exists():
        write_one(file, name, failed=status != 0)
    counts = count(file)
    if status != 0 and counts["failed"] == 0:
        write_one(died, name, failed=True)
    print(f"{name}: {spoken(counts)} ({time.monotonic() - begin:.0f} s)", flush=True)
    return status


def total() -> int:
    counts = sum((count(file) for file in FOLDER.glob("*.xml")), Counter[str]())
    print(spoken(counts))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["run", name, *command] if command:
            sys.exit(run(name, command))
        case ["total"]:
            sys.exit(total())
        case _:
            sys.exit(__doc__)
