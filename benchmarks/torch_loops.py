"""Loops through torch.compile(backend="checkmate"): what it takes itself, and what it does with other shapes and graph breaks.

1. A thousand tiny ops, per step: eager, torch.compile(backend="aot_eager"), checkmate.compile, and the backend.
2. An epoch of the HuggingFace Trainer with three lengths and a short last batch: graphs, plans and seconds in planning.
3. A model that Dynamo breaks into four graphs: the measured peak against the budget that they share.

    python benchmarks/torch_loops.py
"""

from __future__ import annotations

import copy
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
import transformers
from torch import nn

import checkmate
from checkmate.torch import peak_bytes
from checkmate.torch.backend import entry
from checkmate.torch.planning_graph import fingerprint
from models.large_models import gpt2
from torch_start import TinyOps

MIB = 2**20
ROUNDS = 50


def fresh() -> None:
    torch._dynamo.reset()
    entry.reset()


def overhead(cache: str) -> None:
    model, x = TinyOps(), torch.ones(8)
    step = checkmate.compile(model, lambda m, x: m(x), (x,), costs="flops", cache=cache)
    captured = torch.compile(copy.deepcopy(model), backend="aot_eager")
    wrapped = checkmate.wrap(copy.deepcopy(model), "1GiB", cache=cache)
    calls: dict[str, Callable[[], Any]] = {
        "eager": lambda: model(x).backward(),
        "aot_eager": lambda: captured(x).backward(),
        "checkmate.compile": lambda: step(x),
        "backend": lambda: wrapped(x).backward(),
    }
    seen: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            model.zero_grad()
            begin = time.perf_counter()
            call()
            seen[name].append(time.perf_counter() - begin)
    print(f"{len(step.graph.ops)} tiny ops, ms per step: ", end="")
    print(", ".join(f"{name} {1e3 * statistics.median(times):.2f}" for name, times in seen.items()), flush=True)


def epoch(cache: str) -> None:
    """48 sentences in batches of 4, by length, and one of 2."""
    fresh()
    case = gpt2(layers=4, width=128, words=512)
    lengths = [64] * 16 + [48] * 16 + [32] * 14
    data = [{"input_ids": ids, "labels": ids} for ids in (torch.randint(512, (length,)) for length in lengths)]
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, checkmate.options(budget="80%", cache=cache, time_limit=5):
        arguments = transformers.TrainingArguments(
            folder,
            num_train_epochs=2,
            per_device_train_batch_size=4,
            use_cpu=True,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
            torch_compile=True,
            torch_compile_backend="checkmate",
            train_sampling_strategy="sequential",
        )
        transformers.Trainer(model=case.model, args=arguments, train_dataset=data).train()
    seconds = time.perf_counter() - begin
    graphs = entry.planned_graphs()
    plans = {fingerprint(graph.passes.planned.program) for graph in graphs}
    parts = [graph.passes.planned.timings for graph in graphs]
    print(
        f"Trainer, two epochs of three lengths and a short last batch: {len(graphs)} graphs, {len(plans)} of them different; "
        f"{seconds:.1f} s in all, {sum(each.costs for each in parts):.1f} measuring, {sum(each.solve for each in parts):.1f} "
        "in searches of first plans",
        flush=True,
    )


class Broken(nn.Module):
    def __init__(self, width: int = 256) -> None:
        super().__init__()
        parts = ([m for _ in range(4) for m in (nn.Linear(width, width), nn.LayerNorm(width), nn.GELU())] for _ in range(4))
        self.parts = nn.ModuleList(nn.Sequential(*part) for part in parts)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.parts[0](x)
        torch._dynamo.graph_break()
        x = self.parts[1](x)
        torch._dynamo.graph_break()
        x = self.parts[2](x)
        torch._dynamo.graph_break()
        return self.parts[3](x)  # type: ignore[no-any-return]


def breaks(cache: str) -> None:
    x = torch.randn(2048, 256)
    plain = Broken()
    eager = peak_bytes(lambda: plain(x).square().mean().backward(), torch.device("cpu"))
    for share in ("90%", "75%", "65%"):
        fresh()
        model = Broken()
        call = checkmate.wrap(model, share, cache=cache)
        for _ in range(3):
            call(x).square().mean().backward()
            model.zero_grad()
        measured = peak_bytes(lambda call=call: call(x).square().mean().backward(), torch.device("cpu"))
        held = sum(t.nbytes for t in (*model.parameters(), x))
        budgets = {graph.passes.planned.plan.budget for graph in entry.planned_graphs()}
        told = ", ".join(f"{budget / MIB:.1f}" for budget in budgets)
        peaks = f"peak {(measured + held) / MIB:.1f} MiB, budget {told}, eager {(eager + held) / MIB:.1f}"
        print(f"three graph breaks, {share}: {peaks}", flush=True)


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message="the step is")
    with tempfile.TemporaryDirectory() as cache:
        overhead(cache)
        breaks(cache)
        epoch(cache)


if __name__ == "__main__":
    main()
