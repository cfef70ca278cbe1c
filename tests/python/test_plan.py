from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import checkmate
from checkmate import Error, Graph, Plan

MIB = 2**20
# layer 1 runs again right before `back 1`, its one late reader.
WITH_LAYER_1_AGAIN = [0, 1, 2, 3, 0, 4]


def test_keep_all_runs_every_op_once(two_layers: Graph) -> None:
    plan = Plan.keep_all(two_layers)
    assert plan.steps == [0, 1, 2, 3, 4]
    assert (plan.cost, plan.overhead, plan.gap, plan.status) == (231, 1.0, 0.0, "optimal")
    assert plan.peak == plan.budget == two_layers.fixed_bytes + two_layers.keep_all_peak
    assert plan.recomputed == []
    assert "recomputes nothing" in str(plan)


def test_replays_steps_made_elsewhere(two_layers: Graph) -> None:
    plan = Plan.from_steps(two_layers, WITH_LAYER_1_AGAIN, "20MiB")
    assert plan.cost == 261  # 231 + 30
    assert plan.overhead == 261 / 231
    assert plan.keep_all_cost == 231
    assert plan.budget == 20 * MIB
    # With the weight's MiB: a | a b | b loss | b loss grad_b | loss grad_b a | loss grad_b a grad
    assert plan.memory == [9 * MIB, 17 * MIB, 9 * MIB + 4, 17 * MIB + 4, 17 * MIB + 4, 18 * MIB + 4]
    assert plan.peak == 18 * MIB + 4
    assert plan.at_peak == (5, [1, 4, 5, 3])  # a, grad b, grad, loss
    assert plan.frees == [[], [1], [], [2], [], [1, 4]]
    assert plan.recomputed == [(0, 1, 30)]
    assert (plan.lower_bound, plan.status) == (231, "feasible")
    assert plan.gap == 30 / 261
    assert len(plan) == 6


def test_without_a_budget_it_is_the_peak(two_layers: Graph) -> None:
    assert Plan.from_steps(two_layers, np.array(WITH_LAYER_1_AGAIN)).budget == 18 * MIB + 4


def test_believes_a_bound_up_to_the_cost(two_layers: Graph) -> None:
    assert Plan.from_steps(two_layers, WITH_LAYER_1_AGAIN, lower_bound=261).status == "optimal"
    assert Plan.from_steps(two_layers, WITH_LAYER_1_AGAIN, lower_bound=0).lower_bound == 231
    with pytest.raises(Error, match="lower bound 262 is above the plan's cost 261"):
        Plan.from_steps(two_layers, WITH_LAYER_1_AGAIN, lower_bound=262)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([], "never runs|no step"),
        ([0, 1, 2, 3], "back 1"),
        ([1, 0, 2, 3, 4], "layer 2"),
        ([0, 1, 2, 3, 99], "99"),
        ([0, 1, 2, 4, 3], "grad b"),
    ],
)
def test_refuses_steps_that_cannot_run(two_layers: Graph, steps: list[int], message: str) -> None:
    with pytest.raises(Error, match=message) as caught:
        Plan.from_steps(two_layers, steps)
    assert caught.value.code == "invalid_plan"


def test_refuses_what_breaks_the_budget_the_order_or_the_types(two_layers: Graph, full_featured: Graph) -> None:
    with pytest.raises(Error, match="budget"):
        Plan.from_steps(two_layers, [0, 1, 2, 3, 4], "20MiB")
    with pytest.raises(Error, match="dropout"):
        Plan.from_steps(full_featured, [0, 1, 1, 2, 3])  # runs once
    with pytest.raises(Error, match="order must be fixed or free"):
        Plan.from_steps(two_layers, [0, 1, 2, 3, 4], order="any")
    with pytest.raises(Error, match="0 or more"):
        Plan.from_steps(two_layers, [0, -1])
    with pytest.raises(TypeError, match="steps must be a sequence"):
        Plan.from_steps(two_layers, 5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="each of steps must be a whole number"):
        Plan.from_steps(two_layers, [0.0])  # type: ignore[list-item]


def test_refuses_what_is_no_graph(tmp_path: Path) -> None:
    wrong: Any = "graph"
    for use in (Plan.keep_all, lambda graph: Plan.from_steps(graph, [0]), lambda graph: checkmate.load_plan(tmp_path, graph)):
        with pytest.raises(TypeError, match=r"expected a checkmate\.Graph, got 'graph'"):
            use(wrong)


def test_first_runs_move_in_free_order_only() -> None:
    graph = Graph(
        "two roots",
        [checkmate.Tensor("x", 1), checkmate.Tensor("y", 1)],
        [checkmate.Op("f", 1, [], [0]), checkmate.Op("g", 1, [], [1])],
    )
    assert Plan.from_steps(graph, [1, 0], order="free").order == "free"
    with pytest.raises(Error, match="first run"):
        Plan.from_steps(graph, [1, 0])


def test_does_not_change(two_layers: Graph) -> None:
    plan = Plan.from_steps(two_layers, WITH_LAYER_1_AGAIN)
    with pytest.raises(AttributeError):
        plan.cost = 1  # type: ignore[misc]
    plan.steps.append(7)
    plan.frees[0].append(7)
    assert plan.steps == WITH_LAYER_1_AGAIN
    assert plan.frees[0] == []


def test_is_equal_to_its_copies(two_layers: Graph) -> None:
    plan = checkmate.solve(two_layers, "20MiB")
    for other in (pickle.loads(pickle.dumps(plan)), copy.deepcopy(plan)):
        assert other == plan
        assert hash(other) == hash(plan)
        assert (other.steps, other.frees, other.memory) == (plan.steps, plan.frees, plan.memory)
        assert other.seconds == plan.seconds
    assert plan != Plan.keep_all(two_layers)


def test_goes_through_a_file(two_layers: Graph, tmp_path: Path) -> None:
    plan = checkmate.solve(two_layers, "20MiB", seed=7)
    plan.save(tmp_path / "plan.json")
    again = checkmate.load_plan(tmp_path / "plan.json", two_layers)
    assert again == plan
    assert Plan.from_json(plan.to_json(), two_layers) == plan
    assert json.loads(plan.to_json())["graph_sha256"] == two_layers.sha256


@pytest.mark.parametrize(
    ("member", "value", "message"),
    [
        ("cost", 1, "the file claims cost 1, but it is 261"),
        ("peak_bytes", 1, "the file claims peak_bytes 1"),
        ("budget_bytes", 5, "budget"),
        ("lower_bound", 1000, "above the plan's cost"),
        ("steps", [0, 1], "."),
        ("steps", [0, 1, 2, 3, 77], "77"),
        ("graph_sha256", "0" * 64, "another graph"),
        ("order", "sideways", "order"),
    ],
)
def test_refuses_files_that_are_not_what_they_say(
    two_layers: Graph, tmp_path: Path, member: str, value: object, message: str
) -> None:
    text = json.loads(checkmate.solve(two_layers, "20MiB").to_json())
    text[member] = value
    (tmp_path / "plan.json").write_text(json.dumps(text))
    with pytest.raises(Error, match=message):
        checkmate.load_plan(tmp_path / "plan.json", two_layers)


def test_refuses_a_missing_file(two_layers: Graph, tmp_path: Path) -> None:
    with pytest.raises(Error, match="missing") as caught:
        checkmate.load_plan(tmp_path / "missing.json", two_layers)
    assert caught.value.code == "io"


def test_is_shown_in_a_few_lines(two_layers: Graph) -> None:
    plan = checkmate.solve(two_layers, "20MiB", threads=1)
    assert "two layers: peak 18.0 MiB of 20.0 MiB, overhead 1.1299x, optimal (fixed order" in str(plan)
    assert "recomputes 1 op in 1 run:\n  layer 1  1 x  100.0% of the extra cost" in str(plan)
    assert repr(plan) == ("<checkmate.Plan for 'two layers': 6 steps, peak 18.0 MiB of 20.0 MiB, overhead 1.1299, optimal>")


def test_shows_the_five_dearest() -> None:
    plan = checkmate.solve(checkmate.load("zoo:linear?n=32"), "40%", time_limit=10)
    assert len(str(plan).splitlines()) == 8  # two of summary, five ops, and how many more
    assert "more ops" in str(plan)


def test_writes_a_page_to_look_at(two_layers: Graph, tmp_path: Path) -> None:
    plan = checkmate.solve(two_layers, "20MiB")
    points = checkmate.sweep(two_layers, ["9MiB", "20MiB", "30MiB"], ["keep-all", "auto"], progress=False)
    plan.report(tmp_path / "report.html", points)
    page = (tmp_path / "report.html").read_text()
    assert page == plan.to_html(points)
    assert page.startswith("<!doctype html>")
    data = json.loads(page.split('type="application/json">')[1].split("</script>")[0])
    assert data["plan"]["memory"] == plan.memory
    assert data["plan"]["steps"] == plan.steps
    assert data["answer"]["overhead"] == plan.overhead
    assert [point["overhead"] for point in data["tradeoff"]["points"] if point["method"] == "auto"] == [None, plan.overhead, 1.0]
    assert plan.to_html().count('"tradeoff":null') == 1


def test_refuses_points_of_another_graph(two_layers: Graph, full_featured: Graph) -> None:
    points = checkmate.sweep(full_featured, "100%", ["keep-all"], progress=False)
    with pytest.raises(Error, match="another graph"):
        Plan.keep_all(two_layers).to_html(points)


def test_writes_no_page_where_it_may_not(two_layers: Graph, tmp_path: Path) -> None:
    with pytest.raises(Error, match="missing") as caught:
        Plan.keep_all(two_layers).report(tmp_path / "missing" / "report.html")
    assert caught.value.code == "io"


def test_is_a_frame_in_a_notebook_unless_it_is_huge(two_layers: Graph) -> None:
    frame = Plan.keep_all(two_layers)._repr_html_()
    assert frame is not None
    assert frame.startswith("<iframe")
    assert "sandbox" in frame
    huge = Graph("huge", [checkmate.Tensor("n" * 5_000_000, 1)], [checkmate.Op("op", 1, [], [0])])
    assert Plan.keep_all(huge)._repr_html_() is None
