"""Other shapes of a batch, and plans that are found again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import checkmate
import networks


def batch(rows: int) -> tuple[torch.Tensor]:
    return (torch.randn(rows, 64),)


def test_a_smaller_last_batch_has_the_bytes_of_the_example(cache: Path) -> None:
    model = networks.Perceptron()
    step = checkmate.compile(model, networks.squared, batch(256), "70%", cache=cache, time_limit=2)
    budget = step.plan.budget
    step(*batch(4))  # 70% of its own memory would be too little: nearly all of it are gradients
    assert step.plan.budget == budget
    assert not step.plan.recomputed
    with pytest.raises(checkmate.InfeasibleError):
        checkmate.compile(networks.Perceptron(), networks.squared, batch(4), "70%", cache=cache)


def test_gradients_to_add_to_come_on_top_of_a_share(cache: Path) -> None:
    model = networks.Perceptron()
    step = checkmate.compile(model, networks.squared, batch(256), "80%", cache=cache, time_limit=2)
    first = step.plan.budget
    step(*batch(256))
    step(*batch(256))
    assert step.plan.budget > first
    accumulating = step.plan.budget
    step(*batch(64))
    assert step.plan.budget == accumulating


def test_a_search_starts_from_the_plan_of_another_shape(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    starts: list[Any] = []
    solve = checkmate.solve

    def watched(*args: Any, start: Any, **options: Any) -> checkmate.Plan:
        starts.append(start)
        return solve(*args, start=start, **options)

    monkeypatch.setattr(checkmate, "solve", watched)
    model = networks.Perceptron()
    step = checkmate.compile(model, networks.squared, batch(200), "80%", cache=cache, time_limit=2)
    first = step.plan
    step(*batch(201))
    assert starts == [None, first]


def test_the_same_step_is_not_searched_for_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = networks.Perceptron()
    first = checkmate.compile(model, networks.squared, batch(128), "80%", cache=cache, time_limit=2)

    def search(*_: Any, **__: Any) -> None:
        raise AssertionError("there is a plan")

    monkeypatch.setattr(checkmate, "solve", search)
    second = checkmate.compile(networks.Perceptron(), networks.squared, batch(128), "80%", cache=cache, time_limit=2)
    assert second.plan.steps == first.plan.steps
    (path,) = (p for p in (cache / "plans").iterdir() if first.graph.sha256 in p.read_text())
    path.write_text("{")  # a damaged file is no plan
    with pytest.warns(UserWarning, match="is damaged"), pytest.raises(AssertionError, match="there is a plan"):
        checkmate.compile(networks.Perceptron(), networks.squared, batch(128), "80%", cache=cache, time_limit=2)


def test_a_plan_that_is_given_is_taken(cache: Path, tmp_path: Path) -> None:
    model = networks.Perceptron()
    planned = checkmate.compile(model, networks.squared, batch(256), "80%", cache=cache, time_limit=2).plan
    planned.save(tmp_path / "plan.json")
    for plan in (planned, tmp_path / "plan.json", str(tmp_path / "plan.json")):
        step = checkmate.compile(model, networks.squared, batch(256), "80%", cache=cache, plan=plan)
        assert step.plan.steps == planned.steps
        assert step.plan.method == "given"
        assert checkmate.verify(step, batch(256), repeats=1).holds


def test_a_plan_of_something_else_is_refused(cache: Path, tmp_path: Path) -> None:
    model = networks.Perceptron()
    other = checkmate.compile(networks.Perceptron(layers=2), networks.squared, batch(256), cache=cache).plan
    for plan, match in (
        (other, "does not fit this step"),
        (tmp_path / "missing.json", "missing.json: No such file"),
        (tmp_path / "damaged.json", "not a plan file; write one with step.plan.save"),
    ):
        (tmp_path / "damaged.json").write_text('{"steps"')
        with pytest.raises(checkmate.Error, match=match):
            checkmate.compile(model, networks.squared, batch(256), cache=cache, plan=plan)
