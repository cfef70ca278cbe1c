"""Training with sharded parameters, on processes that talk through gloo."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import ranks_sharded
from ranks import results_of_ranks
from ranks_sharded import ROWS, Run

Results = list[dict[str, Any]]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """What each of two ranks tells. Starting them takes longer than what they do."""
    return results_of_ranks(ranks_sharded.all_of_two, tmp_path_factory.mktemp("two"))


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return results_of_ranks(ranks_sharded.all_of_four, tmp_path_factory.mktemp("four"), ranks=4)


def gradients_of_one_process(*rows: int) -> list[torch.Tensor]:
    """The average over ranks with so many rows each."""
    alone = ranks_sharded.seeded_net()
    for rank, count in enumerate(rows):
        (ranks_sharded.squared(alone, ranks_sharded.rows_of(rank)[:count]) / len(rows)).backward()  # type: ignore[no-untyped-call]
    return [p.grad for p in alone.parameters() if p.grad is not None]


def test_a_sharded_step_holds_its_budget_and_computes_what_one_process_does(two: Results) -> None:
    expected = gradients_of_one_process(ROWS, ROWS)
    for run in (Run(*run) for run in two[0]["budgets"]):
        assert run.measured == run.predicted <= run.budget
        assert run.bitwise_keep_all
        assert run.bitwise_fully_shard
        torch.testing.assert_close(run.gradients, expected)


def test_less_memory_takes_more_gathers(two: Results) -> None:
    roomy, tight = (Run(*run) for run in two[0]["budgets"])
    assert tight.budget < roomy.budget
    assert tight.gathers > roomy.gathers


def test_gradients_add_up_and_are_clipped_by_their_global_norm(two: Results) -> None:
    found = two[0]["batches"]
    twice = [2 * gradient for gradient in gradients_of_one_process(ROWS, ROWS)]
    torch.testing.assert_close(found["twice"], twice)
    norm = torch.stack([gradient.norm() for gradient in twice]).norm()
    torch.testing.assert_close(found["norm"], norm)
    torch.testing.assert_close(found["clipped"], [gradient * (0.1 / (norm + 1e-6)) for gradient in twice])


def test_batches_may_be_shorter_on_some_ranks_and_the_plan_is_the_same(two: Results) -> None:
    ours, theirs = (found["batches"] for found in two)
    torch.testing.assert_close(ours["uneven"], gradients_of_one_process(ROWS, ROWS // 2))
    torch.testing.assert_close(ours["even again"], gradients_of_one_process(ROWS, ROWS))
    assert ours["steps"] == theirs["steps"]


def test_small_parameters_share_a_message(two: Results) -> None:
    assert two[0]["batches"]["messages"] == ["gather", "reduce"]


def test_an_optimizer_in_the_step_leaves_the_weights_of_one_after_it(two: Results) -> None:
    for inside, outside in two[0]["optimizers"]:
        assert all(torch.equal(a, b) for a, b in zip(inside, outside, strict=True))


def test_a_model_that_fully_shard_prepared_is_taken_over(two: Results) -> None:
    made, loss, eager = two[0]["taken over"]
    torch.testing.assert_close(made, gradients_of_one_process(ROWS, ROWS))
    assert loss == eager


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("model", "rank 1 has another model than rank 0"),
        ("budget", "rank 1 has another budget than rank 0 (91% and 90%)"),
        ("batch", "rank 1 has another batch than rank 0"),
        ("version", "rank 1 has another version of Checkmate than rank 0"),
        ("code", "no loss here"),
    ],
)
def test_ranks_that_differ_all_say_so(two: Results, what: str, sentence: str) -> None:
    assert all(sentence in found["refusals"][what] for found in two)


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("scalar", "parameter scale is a scalar"),
        ("mixed", "mixed precision policy for"),
        ("ignored", "parameter 4.weight is not sharded"),
    ],
)
def test_what_cannot_be_sharded_is_refused_by_name(two: Results, what: str, sentence: str) -> None:
    assert sentence in two[0]["refusals"][what]


def test_a_lost_rank_ends_the_others(two: Results) -> None:
    assert two[0]["lost"] != "nothing happened"


def test_shards_are_replicated_over_a_mesh_of_two_dimensions(four: Results) -> None:
    for found in four:
        made, holds = found["hybrid"]
        torch.testing.assert_close(made, gradients_of_one_process(ROWS, ROWS, ROWS, ROWS))
        assert holds


@pytest.mark.parametrize("ranks", [2, 1])
def test_fewer_ranks_go_on_from_a_checkpoint(four: Results, ranks: int) -> None:
    found = four[0]["checkpoints"]
    torch.testing.assert_close(found[ranks], found[4], rtol=1e-4, atol=1e-5)
