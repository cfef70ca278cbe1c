"""A training step as a graph, without a plan."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import checkmate
import networks
from checkmate.torch import capture


def test_is_the_graph_that_compile_plans(cache: Path) -> None:
    case = networks.conv_net()
    step = checkmate.compile(case.model, case.loss_fn, case.batch, cache=cache, reserve="1kB")
    graph = capture(case.model, case.loss_fn, case.batch, cache=cache, reserve="1kB")  # costs that are remembered are the same
    assert graph == step.graph
    assert graph.cost_unit == "ns"
    assert max(op.workspace for op in graph.ops) > 0


def test_estimates_without_running_anything() -> None:
    with torch.device("meta"):
        case = networks.conv_net()
    graph = capture(case.model, case.loss_fn, case.batch, costs="flops")
    estimate = checkmate.estimate(case.model, case.loss_fn, case.batch, budgets=["100%"], time_limit=0.1)
    assert graph == estimate.graph
    assert estimate.points.graph == graph


def test_what_compile_refuses_is_refused() -> None:
    case = networks.conv_net()
    with pytest.raises(checkmate.Error, match='costs must be "measured" or "flops"'):
        capture(case.model, case.loss_fn, case.batch, costs="guessed")
    with pytest.raises(checkmate.torch.CaptureError):
        capture(case.model, lambda model, x: model(x).sum().item(), case.batch)
