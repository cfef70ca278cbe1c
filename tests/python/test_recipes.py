"""Whole loops within a budget: after ten steps, the weights are bit by bit those of the same loop without us."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import nn

import checkmate
import loops
import loops_of_libraries
from checkmate.torch.backend import entry
from loops import Compiled, MeasuredWay, Way, Wrapped
from ranks import results_of_ranks

LOOPS: dict[str, Callable[[Way], nn.Module]] = {
    loop.__name__: loop
    for loop in (
        loops.plain_pytorch,
        loops.gradient_accumulation,
        loops.autocast_and_scaler,
        loops.two_optimizers,
        loops_of_libraries.trainer,
        loops_of_libraries.trainer_that_accumulates,
        loops_of_libraries.trainer_with_lora,
        loops_of_libraries.automatic_optimisation,
        loops_of_libraries.accelerated,
        loops_of_libraries.accelerated_in_bfloat16,
    )
}


WAYS: dict[str, Callable[[Path], MeasuredWay]] = {"compile": Compiled, "wrap": Wrapped}


def weights(loop: Callable[[Way], nn.Module], way: Way) -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    return loops.weights_of(loop(way))


@pytest.mark.filterwarnings("ignore:the step is")  # several graphs, which is told
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_trains_to_the_same_bits_within_the_budget(name: str, way: str, cache: Path) -> None:
    assert_same_within_the_budget(LOOPS[name], WAYS[way](cache))


@pytest.mark.filterwarnings("ignore:the step is")
def test_trl_trains_to_the_same_bits_within_the_budget(cache: Path) -> None:
    assert_same_within_the_budget(loops_of_libraries.supervised_fine_tuning, Wrapped(cache))


def assert_same_within_the_budget(loop: Callable[[Way], nn.Module], ours: MeasuredWay) -> None:
    try:
        trained = weights(loop, ours)
    finally:
        ours.close()
    assert differing(trained, weights(loop, loops.plain)) == []
    assert ours.steps >= loops.STEPS
    assert ours.steps_that_recompute == ours.steps


@pytest.mark.filterwarnings("ignore:the step is")
def test_the_trainer_finds_the_backend_by_its_name(tmp_path: Path) -> None:
    torch._dynamo.reset()
    entry.reset()
    named = partial(loops_of_libraries.trainer, torch_compile=True, torch_compile_backend="checkmate")
    with checkmate.options(budget="85%", time_limit=2, cache=tmp_path):
        trained = weights(named, loops.plain)
    assert differing(trained, weights(loops_of_libraries.trainer, loops.plain)) == []
    assert any(graph.passes.planned.plan.recomputed for graph in entry.planned_graphs())


def differing(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> list[str]:
    assert first.keys() == second.keys()
    return [name for name, weight in first.items() if not torch.equal(weight, second[name])]


def test_ten_steps_change_every_weight() -> None:
    torch.manual_seed(0)
    before = loops.Layers().state_dict()
    assert differing(weights(loops.plain_pytorch, loops.plain), before) == list(before)


@pytest.mark.parametrize("way", WAYS)
def test_two_ranks_train_to_the_same_bits_within_the_budget(way: str, tmp_path: Path) -> None:
    ranks = results_of_ranks(partial(loops.on_a_rank, WAYS[way]), tmp_path)
    for trained, expected, steps in ranks:
        assert differing(trained, expected) == []
        assert differing(trained, ranks[0][0]) == []
        assert steps == 2 * loops.STEPS
