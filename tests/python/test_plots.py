from __future__ import annotations

import pickle
from typing import Literal

import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

import checkmate  # noqa: E402
from checkmate import Error, Graph, MatplotlibMissingError, Op, Plan, Tensor  # noqa: E402
from conftest import MIB, RunPython  # noqa: E402


@pytest.fixture(autouse=True)
def _no_figure_stays() -> object:
    yield
    pyplot.close("all")


def test_timeline_shows_memory_and_budget(two_layers: Graph) -> None:
    plan = checkmate.solve(two_layers, 20 * MIB)
    axes = plan.plot()
    assert axes.get_xlabel() == "step"
    assert axes.get_ylabel() == "memory, MiB"
    assert axes.get_title() == "two layers"
    assert axes.get_xlim() == (0, 6)  # five ops, one of them twice
    labels = axes.get_legend_handles_labels()[1]
    assert labels == ["keep everything: 25.0 MiB", "plan: 18.0 MiB, 13.0% extra cost", "budget: 20.0 MiB", "1 recomputed"]


@pytest.mark.parametrize("kind", ["timeline", "map"])
def test_names_are_no_formulas(kind: Literal["timeline", "map"]) -> None:
    graph = Graph("a $\\frac{ b$ c", [Tensor("x", 8)], [Op("f", 1, [], [0])])
    axes = Plan.keep_all(graph).plot(kind)
    axes.figure.canvas.draw()
    assert axes.get_title() == graph.name


def test_map_shows_runs_and_stays(two_layers: Graph) -> None:
    plan = Plan.from_steps(two_layers, [0, 1, 2, 3, 0, 4])
    axes = plan.plot("map")
    kept, first, again = (len(collection.get_paths()) for collection in axes.collections)
    # b from its run to back 2, loss to the end, and what back 2 made for back 1; layer 1 for layer 2.
    assert (kept, first, again) == (4, 5, 1)
    assert axes.get_ylim() == (5, 0)


def test_draws_on_the_axes_that_it_is_given(two_layers: Graph) -> None:
    _, axes = pyplot.subplots()
    assert Plan.keep_all(two_layers).plot("timeline", ax=axes) is axes
    assert len(pyplot.get_fignums()) == 1


def test_draws_large_plans() -> None:
    plan = Plan.keep_all(checkmate.load("zoo:linear?n=2500"))
    for kind in ("timeline", "map"):
        plan.plot(kind).figure.canvas.draw()


def test_names_the_kinds(two_layers: Graph) -> None:
    with pytest.raises(Error, match="'timeline' or 'map', got 'pie'"):
        Plan.keep_all(two_layers).plot("pie")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="kind must be a string"):
        Plan.keep_all(two_layers).plot(3)  # type: ignore[arg-type]


def test_says_how_to_get_matplotlib(run_python: RunPython) -> None:
    script = """
import sys
sys.modules["matplotlib"] = None  # what import finds where it is not installed
import checkmate
plan = checkmate.Plan.keep_all(checkmate.load("zoo:linear?n=2"))
for kind in (checkmate.Error, ImportError, checkmate.MatplotlibMissingError):
    try:
        plan.plot()
    except kind as error:
        print(error)
"""
    finished = run_python("-c", script)
    assert finished.stdout.splitlines() == ["matplotlib is not installed: pip install matplotlib"] * 3, finished.stderr
    assert pickle.loads(pickle.dumps(MatplotlibMissingError())).code == "no_matplotlib"


def test_is_imported_without_matplotlib(run_python: RunPython) -> None:
    assert run_python("-c", "import checkmate, sys; print('matplotlib' in sys.modules)").stdout == "False\n"
