"""The examples for Python and the command line run; those for C++ are built and run by tests/run_examples.cmake."""

from __future__ import annotations

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from conftest import RunPython
from snippets import PROGRAM

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.skipif(not (find_spec("torch") and find_spec("transformers")), reason="trains a model of transformers")
def test_training_holds_its_budget_with_the_same_losses(run_python: RunPython) -> None:
    run = run_python(str(EXAMPLES / "python/train.py"), "--layers", "4", "--steps", "2")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "held" in run.stdout
    assert "agree to the last bit" in run.stdout
    assert "the same but for rounding" in run.stdout


def test_command_line(tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}
    subprocess.run([EXAMPLES / "command_line/unet.sh"], cwd=tmp_path, env=environment, check=True, timeout=300)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["memory.svg", "plan.json", "report.html"]
