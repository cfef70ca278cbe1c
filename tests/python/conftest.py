"""Tiny graphs for all tests, and a Python of its own for what must not happen in this one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

import checkmate
from checkmate import Graph, Op, Tensor

MIB = 2**20
ISA_LINE = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Before any test runs a bfloat16 kernel: see the script, which does not load torch into tests that do not need it."""
    if find_spec("torch"):
        script = Path(checkmate.__file__).parent / "torch" / "processor.py"
        run = subprocess.run([sys.executable, "-P", script], capture_output=True, text=True, check=True)
        config.stash[ISA_LINE] = run.stderr.strip()
        if run.stdout:
            name, _, value = run.stdout.strip().partition("=")
            os.environ[name] = value


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if line := config.stash.get(ISA_LINE, ""):
        terminalreporter.write_line(line)


@pytest.fixture
def two_layers() -> Graph:
    """Two layers and their way back. Costs 30 + 50 + 1 + 90 + 60 = 231."""
    tensors = [
        Tensor("weight", MIB, resident=True),
        Tensor("a", 8 * MIB),
        Tensor("b", 8 * MIB),
        Tensor("loss", 4, output=True),
        Tensor("grad b", 8 * MIB),
        Tensor("grad", MIB, output=True),
    ]
    ops = [
        Op("layer 1", 30, inputs=[0], outputs=[1], kind="matmul"),
        Op("layer 2", 50, inputs=[1, 0], outputs=[2], kind="matmul"),
        Op("loss", 1, inputs=[2], outputs=[3], phase="loss"),
        Op("back 2", 90, inputs=[2], outputs=[4], phase="backward"),
        Op("back 1", 60, inputs=[1, 4], outputs=[5], phase="backward"),
    ]
    return Graph("two layers", tensors, ops)


@pytest.fixture
def full_featured() -> Graph:
    """Every feature of the model: fixed 100 + 50; costs 7 + 3 + 5 + 11 = 26."""
    tensors = [
        Tensor("weight", 100, resident=True),
        Tensor("hidden", 10),
        Tensor("statistics", 2),
        Tensor("mask", 1),
        Tensor("loss", 4, output=True),
        Tensor("gradient", 100, output=True),
    ]
    ops = [
        Op("norm", 7, [0], [1, 2], kind="layer_norm", workspace=20),
        Op("dropout", 3, [1], [3], kind="dropout", recomputable=False),
        Op("loss", 5, [1, 3], [4], phase="loss"),
        Op("back", 11, [1, 2, 3], [5], phase="backward", workspace=30),
    ]
    return Graph("full", tensors, ops, cost_unit="mac", reserved_bytes=50)


RunPython = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run_python() -> RunPython:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=300, check=False)

    return run


@pytest.fixture(autouse=True)
def _repeatable() -> None:
    """Where a test uses PyTorch, its random numbers are the same in every run."""
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Costs that one test measured serve the next."""
    return tmp_path_factory.mktemp("costs")
