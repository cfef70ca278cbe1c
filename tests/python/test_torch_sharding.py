"""Training with sharded parameters, on processes that talk through gloo."""

from __future__ import annotations

from pathlib import Path

import torch

import ranks_sharded
from ranks import results_of_ranks
from ranks_sharded import Run


def gradients_of_one_process(ranks: int) -> list[torch.Tensor]:
    alone = ranks_sharded.seeded_net()
    ranks_sharded.squared(alone, torch.cat([ranks_sharded.rows_of(rank) for rank in range(ranks)])).backward()
    return [p.grad for p in alone.parameters() if p.grad is not None]


def test_a_sharded_step_holds_its_budget_and_computes_what_one_process_does(tmp_path: Path) -> None:
    every, other = ([Run(*run) for run in runs] for runs in results_of_ranks(ranks_sharded.budgets, tmp_path))
    expected = gradients_of_one_process(2)
    for ours, theirs in zip(every, other, strict=True):
        assert ours.steps == theirs.steps
        for run in (ours, theirs):
            assert run.measured == run.predicted <= run.budget
            assert run.bitwise_keep_all
            assert run.bitwise_fully_shard
            torch.testing.assert_close(run.gradients, expected)
    roomy, tight = every
    assert tight.budget < roomy.budget
    assert tight.gathers > roomy.gathers
