"""A sample of the models of benchmarks/torch_models.py, of twelve different kinds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

import checkmate

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from models import own_steps, transformers_models

CATALOGUE = {
    **{f"own/{name}": entry for name, entry in own_steps.MODELS.items()},
    **{f"transformers/{name}": entry for name, entry in transformers_models.MODELS.items()},
}
SAMPLE = [
    "own/lstm, bidirectional with dropout",
    "own/cnn in bfloat16 autocast",
    "own/ddpm",
    "own/policy gradient",
    "own/wgan-gp",
    "own/moco",
    "own/gpt, checkpointed, reentrant",
    "own/graph attention by scatter",
    "own/recommender with embedding bags",
    "transformers/bart",
    "transformers/llama",
    "transformers/mixtral",
]


@pytest.mark.parametrize("name", SAMPLE)
def test_it_holds(name: str, cache: Path) -> None:
    torch.manual_seed(0)
    model, loss_fn, make_batch = CATALOGUE[name].build()
    batch = make_batch()
    step = checkmate.compile(model, loss_fn, batch, "90%", cache=cache, time_limit=2)
    seen = checkmate.verify(step, make_batch(), repeats=1)
    assert seen.holds, str(seen)
    assert seen.from_eager is not None
    assert seen.from_eager.none, str(seen)
    assert seen.measured_peak == seen.predicted_peak
