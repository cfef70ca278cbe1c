"""`checkmate torch MODULE:NAME`, from the shell and from Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import checkmate
from checkmate.torch import command
from conftest import RunPython

PROGRAM = Path(checkmate.__file__).parent / "bin" / "checkmate"
TRAIN = """
import torch

print("imported")


def example():
    print("called")
    with torch.device("meta"):
        model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(8)))
    return model, lambda model, x: model(x).square().mean(), (torch.ones(256, 64),)


def pair():
    return 1, 2


def swapped():
    model, loss_fn, example = globals()["example"]()
    return loss_fn, model, example


def nothing():
    pass


def raises():
    return 1 // 0


def exits():
    raise SystemExit(7)


def without_loss():
    return torch.nn.Linear(2, 2), lambda model, x: None, (torch.ones(2, 2),)


number = 5
"""
SPECS = {
    "train": "'train' is not of the form MODULE:NAME; write train:example",
    "train:": "is not of the form MODULE:NAME",
    "nowhere:example": "there is no module nowhere; run this in its folder, or set PYTHONPATH",
    "no.where:example": "there is no module no; run this",
    "train:nowhere": "the module train has no function nowhere; name one that returns (model, loss_fn, example)",
    "train:number": "the module train has no function number",
    "train:pair": "train:pair() returned a tuple of 2; return (model, loss_fn, example)",
    "train:nothing": "train:nothing() returned nothing; return",
    "train:swapped": "returned a function and a Sequential for the model and the loss function; return (model, loss_fn, example)",
    "train:raises": "train:raises() raised ZeroDivisionError: integer division or modulo by zero at ",
    "train:exits": "train:exits() raised SystemExit: 7",
    "train:without_loss": "returned nothing and not a loss: return a scalar tensor",
    "broken:example": "importing broken raised SyntaxError",
    "lacking:example": "importing lacking raised ModuleNotFoundError: No module named 'nowhere' at ",
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "broken.py").write_text("def example(:\n")
    (tmp_path / "lacking.py").write_text("import nowhere\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for module in ("train", "broken", "lacking"):
        monkeypatch.delitem(sys.modules, module, raising=False)


def told(spec: str, *options: str) -> int:
    return command.main([spec, "--reserve=0", "--order=fixed", "--time-limit=0.1", "--threads=1", "--seed=1", *options])


@pytest.mark.parametrize("spec", SPECS)
def test_refuses_with_one_sentence(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(spec) == 1
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = (line for line in err.splitlines() if line not in ("imported", "called"))
    assert line.startswith("checkmate: ")
    assert SPECS[spec] in line


def test_json_is_one_object_whatever_the_function_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert told("train:example", "--json", "--budgets=60%", "--graph=graph.json") == 0
    out, err = capsys.readouterr()
    answer = json.loads(out)
    assert (answer["graph"], len(answer["points"])) == ("Sequential", 1)
    assert answer["peak_bytes"] == checkmate.Plan.keep_all(checkmate.load("graph.json")).peak
    assert err == "imported\ncalled\n"


def test_the_program_hands_over_to_the_python_that_started_it(run_python: RunPython) -> None:
    options = ["--budgets", "100%,80%", "--time-limit", "0.1", "--report", "estimate.html"]
    finished = run_python("-m", "checkmate", "torch", "train:example", *options)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.startswith("Sequential: peak")
    assert Path("estimate.html").read_text().startswith("<!doctype html>")


def test_says_which_package_is_missing(run_python: RunPython) -> None:
    environment = {**os.environ, "CHECKMATE_PYTHON": sys.executable, "PYTHONPATH": ""}
    finished = subprocess.run([PROGRAM, "torch", "train:example"], env=environment, capture_output=True, text=True, check=False)
    assert finished.returncode == 1
    assert "does not find the package checkmate: install it, set PYTHONPATH to its folder, or name another" in finished.stderr
    script = "import sys; sys.modules['torch'] = None; from checkmate.__main__ import estimate; estimate(['train:example'])"
    missing = run_python("-c", script)
    assert (missing.returncode, missing.stderr) == (1, "checkmate: PyTorch is not installed: pip install torch==2.13.0\n")
