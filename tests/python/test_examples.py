"""The examples for Python and the command line run; those for C++ are built and run by tests/package/installed_tree.cmake."""

from __future__ import annotations

import json
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


RUN_CELLS = """
import ast, json, sys
names = {}
for cell in json.load(open(sys.argv[1]))["cells"]:
    if cell["cell_type"] != "code":
        continue
    tree = ast.parse("".join(cell["source"]))
    shown = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    value = shown and eval(compile(shown, "<cell>", "eval"), names)
    html = getattr(value, "_repr_html_", lambda: None)()  # what a notebook shows
    print("shown:", repr(value) if html is None else f"{len(html)} characters of HTML")
"""


@pytest.mark.skipif(not all(map(find_spec, ("torch", "pandas", "matplotlib"))), reason="draws tables and figures of a model")
def test_every_cell_of_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_python: RunPython) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    notebook = EXAMPLES / "python/tradeoff.ipynb"
    run = run_python("-c", RUN_CELLS, str(notebook))
    assert run.returncode == 0, run.stdout + run.stderr
    cells = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
    assert run.stdout.count("shown:") == len(cells)
    assert "shown: ('ms/10^2', [75, 75])" in run.stdout
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells)  # an old result may be false by now


def test_command_line(tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}
    subprocess.run([EXAMPLES / "command_line/unet.sh"], cwd=tmp_path, env=environment, check=True, timeout=300)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["memory.svg", "plan.json", "report.html"]
