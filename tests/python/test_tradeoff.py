"""A sweep as a list, a table and a picture."""

from __future__ import annotations

import copy
import csv
import dataclasses
import importlib
import io
import json
import pickle
import subprocess

import numpy
import pytest

import checkmate
from checkmate import Graph, MaxBatch, Sweep
from conftest import MIB, RunPython
from snippets import PROGRAM


@pytest.fixture
def points(two_layers: Graph) -> Sweep:
    """16 MiB are too few; 20 take one run of layer 1 more, 231 + 30; 26 take none."""
    return checkmate.sweep(two_layers, [16 * MIB, 20 * MIB, 26 * MIB], ["auto", "linear-greedy"])


def program(*arguments: str) -> str:
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=True).stdout


def test_rows_have_the_columns_of_the_command_lines_csv(points: Sweep) -> None:
    table = csv.reader(io.StringIO(program("sweep", "zoo:linear?n=4", "--budgets", "100%")))
    assert list(points.rows()[0]) == next(table)


def test_rows_tell_what_was_found(points: Sweep) -> None:
    none, less, all_of_it = points.rows()[:3]
    assert (none["status"], none["cost"], none["overhead"], none["peak_bytes"]) == ("infeasible", None, None, None)
    assert (less["method"], less["budget_bytes"], less["cost"], less["overhead"]) == ("auto", 20 * MIB, 261, 261 / 231)
    assert less["budget_share"] == 19 * MIB / (24 * MIB + 4)  # without 1 MiB of fixed memory
    assert all_of_it["peak_bytes"] == 25 * MIB + 4
    assert all_of_it["seconds"] >= 0


def test_points_remain_a_list_that_can_be_copied(points: Sweep) -> None:
    for other in (copy.copy(points), pickle.loads(pickle.dumps(points))):
        assert other == list(points)
        assert other.graph == points.graph
        assert [row["cost"] for row in other.rows()] == [row["cost"] for row in points.rows()]


def test_a_frame_keeps_whole_numbers_whole(points: Sweep) -> None:
    pandas = pytest.importorskip("pandas")
    frame = points.to_frame()
    assert list(frame.columns) == list(points.rows()[0])
    assert frame[frame.method == "auto"].cost.tolist() == [pandas.NA, 261, 231]
    assert str(frame.cost.dtype) == str(frame.peak_bytes.dtype) == "Int64"
    assert frame.overhead.isna().tolist() == [point.plan is None for point in points]
    assert f"<td>{20 * MIB}</td>" in str(points._repr_html_())  # how a notebook shows it
    assert list(Sweep(points.graph).to_frame().columns) == list(frame.columns)  # also where there is no point


def test_a_picture_has_a_line_per_method_and_the_bound(points: Sweep) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    pyplot = importlib.import_module("matplotlib.pyplot")
    axes = points.plot()
    assert axes.get_xlabel() == "budget, MiB"
    assert axes.get_title() == "two layers"
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert list(lines) == ["auto", "linear-greedy", "lower bound"]
    assert numpy.asarray(lines["auto"].get_xydata()).tolist() == [[20, 261 / 231], [26, 1]]
    _, given = pyplot.subplots()
    assert Sweep(points.graph).plot(ax=given) is given  # also where there is no point
    pyplot.close("all")


@pytest.mark.parametrize(
    ("method", "package", "code"), [("to_frame", "pandas", "no_pandas"), ("plot", "matplotlib", "no_matplotlib")]
)
def test_a_package_that_is_missing_is_named_with_its_remedy(method: str, package: str, code: str, run_python: RunPython) -> None:
    program = f"""
import sys
sys.modules["{package}"] = None  # what import finds where it is not installed
import checkmate
try:
    checkmate.sweep(checkmate.load("zoo:linear?n=4"), "100%").{method}()
except checkmate.Error as error:
    print(error.code, isinstance(error, ImportError), error)
"""
    run = run_python("-c", program)
    assert run.stdout == f"{code} True {package} is not installed: pip install {package}\n", run.stderr


def test_max_batch_tells_all_that_the_command_line_does() -> None:
    told = json.loads(program("max-batch", "zoo:vgg16?size=32", "--memory", "1GB", "--time-limit", "1", "--json"))
    assert {field.name for field in dataclasses.fields(MaxBatch)} == set(told)
