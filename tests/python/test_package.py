from __future__ import annotations

import importlib.util
import pickle
import re
from pathlib import Path

import pytest

import checkmate
from checkmate import Error, TorchMissingError
from conftest import RunPython

ROOT = Path(__file__).parents[2]


def test_has_the_projects_version() -> None:
    declared = re.search(r"project\(checkmate VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert declared is not None
    assert checkmate.__version__ == declared[1]
    assert f"\nversion: {declared[1]}\n" in (ROOT / "CITATION.cff").read_text()


def test_everything_it_lists_is_there_and_explained() -> None:
    for name in checkmate.__all__:
        assert getattr(checkmate, name).__doc__, name
    assert set(checkmate.__all__) <= set(dir(checkmate))
    with pytest.raises(AttributeError, match="no attribute 'slove'"):
        checkmate.slove  # noqa: B018


def test_is_imported_without_pytorch_and_numpy(run_python: RunPython) -> None:
    script = "import checkmate, sys; from checkmate import *; print({'torch', 'numpy'} & set(sys.modules))"
    assert run_python("-c", script).stdout == "set()\n"


def test_says_how_to_get_pytorch(run_python: RunPython) -> None:
    script = """
import sys
sys.modules["torch"] = None  # what import finds where it is not installed
import checkmate
for name in ("compile", "estimate", "verify", "torch"):
    for kind in (checkmate.Error, ImportError):
        try:
            getattr(checkmate, name)
        except kind as error:
            print(error)
"""
    finished = run_python("-c", script)
    assert finished.stdout.splitlines() == ["PyTorch is not installed: pip install torch==2.13.0"] * 8, finished.stderr
    assert pickle.loads(pickle.dumps(TorchMissingError())).code == "no_torch"


def test_errors_survive_pickling() -> None:
    error = pickle.loads(pickle.dumps(Error("no such thing", "io")))
    assert (str(error), error.code) == ("no such thing", "io")
    assert isinstance(error, ValueError)


def test_lists_the_methods() -> None:
    methods = {method.name: method for method in checkmate.methods()}
    assert next(iter(methods)) == "auto"
    assert methods["brute"].exact
    assert methods["chen-sqrt"].needs_chain
    assert not methods["knapsack-bound"].plans
    assert all(method.summary for method in methods.values())


def test_lists_the_zoo() -> None:
    networks = {network.name: network for network in checkmate.zoo()}
    assert {"vgg16", "unet", "resnet50", "linear"} <= set(networks)
    assert "batch" in {parameter.name for parameter in networks["unet"].parameters}
    assert networks["unet"].description


def test_is_typed() -> None:
    spec = importlib.util.find_spec("checkmate")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    folder = Path(spec.submodule_search_locations[0])
    assert (folder / "py.typed").exists()
    assert (folder / "_core.pyi").exists()
