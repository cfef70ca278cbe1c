"""``python -m checkmate`` is the program."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import checkmate
from conftest import RunPython

ENDLESS = ["--method", "anneal", "--gap", "0", "--time-limit", "3600"]
PROGRAM = Path(checkmate.__file__).parent / "bin" / "checkmate"


@pytest.mark.parametrize(
    ("arguments", "exit_code"),
    [
        ([], 1),
        (["--version"], 0),
        (["--help"], 0),
        (["zoo"], 0),
        (["info", "zoo:vgg16?batch=8", "--json"], 0),
        (["solve", "zoo:linear?n=4", "--budget", "1", "--method", "brute"], 2),
        (["solve", "zoo:linear?n=8", "--budget", "60%", "--method", "keep-all"], 3),
        (["solve", "no such file", "--budget", "60%"], 1),
    ],
)
def test_is_the_program(run_python: RunPython, arguments: list[str], exit_code: int) -> None:
    ours = run_python("-m", "checkmate", *arguments)
    theirs = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)
    assert ours.returncode == theirs.returncode == exit_code
    without_times = [
        [line for line in text.splitlines() if not line.startswith("time ")]
        for text in (ours.stdout, ours.stderr, theirs.stdout, theirs.stderr)
    ]
    assert without_times[:2] == without_times[2:]


def test_has_the_packages_version(run_python: RunPython) -> None:
    assert run_python("-m", "checkmate", "--version").stdout.split()[-1] == checkmate.__version__


def test_agrees_with_the_package(run_python: RunPython, tmp_path: Path) -> None:
    plan = str(tmp_path / "plan.json")
    finished = run_python("-m", "checkmate", "solve", "zoo:linear?n=8", "--budget", "60%", "--plan", plan, "--json")
    answer = json.loads(finished.stdout)
    graph = checkmate.load("zoo:linear?n=8")
    ours = checkmate.solve(graph, "60%", threads=1)
    assert (answer["status"], answer["cost"], answer["lower_bound"]) == (ours.status, ours.cost, ours.lower_bound)
    assert answer["budget_bytes"] == ours.budget
    assert answer["overhead"] == ours.overhead
    assert answer["gap"] == ours.gap
    assert checkmate.load_plan(plan, graph).cost == answer["cost"]


def test_ctrl_c_reports_the_best_so_far() -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "checkmate", *["solve", "zoo:unet?batch=32", "--budget", "60%", "--json"], *ENDLESS],
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    )
    os.close(theirs)
    progress = b""
    while b"best" not in progress:
        progress += os.read(ours, 4096)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=300)
    os.close(ours)
    assert process.returncode == 0
    assert json.loads(out)["status"] == "feasible"
