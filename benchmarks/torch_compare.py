"""Side by side in one run: eager PyTorch, torch.utils.checkpoint around every block, torch's own memory budget, and ours.

Peaks are measured for all in the same way, from the allocator's events; times are processor time on one thread, the best of
steps taken in turns.

    python benchmarks/torch_compare.py [--models gpt2,resnet50] [--csv out.csv] [--plot out.svg]
"""

from __future__ import annotations

import argparse
import copy
import csv
import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch._functorch.config
from matplotlib import pyplot
from torch.utils.checkpoint import checkpoint

import checkmate
from checkmate.torch import peak_bytes
from models.large_models import Case, gpt2, resnet50

MIB = 2**20
MODELS: dict[str, Callable[[], Case]] = {
    "gpt2": lambda: gpt2(layers=16, length=128, dropout=0.0),
    "resnet50": lambda: resnet50(batch=8),
}


@dataclass
class Way:
    """One way to take the step, and what was seen of it."""

    name: str
    setting: str
    model: torch.nn.Module
    run: Callable[[], Any]
    predicted: float | None = None
    peak: int = 0
    seconds: float = 0.0


def held(case: Case) -> int:
    """Bytes that are there in any case: parameters, buffers, the batch."""
    tensors = [*case.model.parameters(), *case.model.buffers(), *(t for t in case.batch if isinstance(t, torch.Tensor))]
    return sum(t.nbytes for t in tensors)


def eager(case: Case, name: str = "eager", setting: str = "") -> Way:
    def run() -> None:
        case.loss_fn(case.model, *case.batch).backward()

    return Way(name, setting, case.model, run)


def checkpointed(case: Case) -> Way:
    for block in case.blocks:
        block.forward = functools.partial(checkpoint, block.forward, use_reentrant=False)
    return eager(case, "checkpoint", "every block")


def torch_budget(case: Case, share: float) -> Way:
    """The budget is read when torch compiles, and what is compiled belongs to the code: one share at a time."""
    torch._dynamo.reset()
    compiled = torch.compile(lambda *batch: case.loss_fn(case.model, *batch), backend="aot_eager")

    def run() -> None:
        with torch._functorch.config.patch(activation_memory_budget=share):
            compiled(*case.batch).backward()

    return Way("torch budget", f"{share:g}", case.model, run)


def ours(case: Case, budget: str | int) -> Way | None:
    try:
        step = checkmate.compile(case.model, case.loss_fn, case.batch, budget, progress=False)
    except checkmate.Error as error:
        print(f"ours at {budget}: {error}")
        return None
    return Way("checkmate", f"{step.plan.budget / MIB:.0f} MiB", case.model, lambda: step(*case.batch), step.plan.overhead)


def measure(ways: list[Way], fixed: int, rounds: int) -> None:
    for way in ways:
        way.model.zero_grad()
        way.run()
        way.model.zero_grad()
        way.peak = fixed + peak_bytes(way.run, torch.device("cpu"))
    times: list[list[float]] = [[] for _ in ways]
    for _ in range(rounds):
        for way, seen in zip(ways, times, strict=True):
            way.model.zero_grad()
            begin = time.process_time()
            way.run()
            seen.append(time.process_time() - begin)
    for way, seen in zip(ways, times, strict=True):
        way.seconds = min(seen)


def compare(name: str, options: argparse.Namespace) -> list[Way]:
    torch.manual_seed(0)
    case = MODELS[name]()
    fixed = held(case)

    def twin() -> Case:
        model = copy.deepcopy(case.model)
        names = {id(module): path for path, module in case.model.named_modules()}
        return case._replace(model=model, blocks=[model.get_submodule(names[id(block)]) for block in case.blocks])

    others = [eager(twin()), checkpointed(twin())]
    measure(others, fixed, 1)
    budgeted = []
    for share in (0.8, 0.5, 0.3, 0.1):
        budgeted.append(torch_budget(twin(), share))
        measure(budgeted[-1:], fixed, options.rounds)
    budgets: list[str | int] = [f"{share}%" for share in (85, 70, 55, 40)]
    budgets += sorted({way.peak for way in others + budgeted})  # what each of the others takes
    mine = [way for budget in budgets if (way := ours(twin(), budget))]
    measure(others + mine, fixed, options.rounds)
    return others + budgeted + mine


def tell(name: str, ways: list[Way]) -> None:
    base = ways[0]
    print(f"\n{name}: eager takes {base.seconds:.3f} s and {base.peak / MIB:.0f} MiB\n")
    print(f"| {'way':12} | {'setting':12} | peak MiB | time / eager | predicted |")
    print("|---|---|---|---|---|")
    for way in ways:
        predicted = f"{way.predicted:.3f}" if way.predicted else ""
        print(
            f"| {way.name:12} | {way.setting:12} | {way.peak / MIB:8.1f} | {way.seconds / base.seconds:12.3f} | {predicted:9} |"
        )
    mine = [way for way in ways if way.name == "checkmate"]
    for other in (way for way in ways if way.name != "checkmate"):
        fitting = [way for way in mine if way.peak <= other.peak]
        best = min(fitting, key=lambda way: way.seconds, default=None)
        told = f"{best.seconds / other.seconds:.3f} of its time" if best else "nothing fits"
        print(f"within the {other.peak / MIB:.0f} MiB of {other.name} {other.setting}: ours takes {told}")


def plot(results: dict[str, list[Way]], path: str) -> None:
    pyplot.switch_backend("Agg")
    figure, axes = pyplot.subplots(1, len(results), figsize=(6 * len(results), 4), squeeze=False)
    for axis, (name, ways) in zip(axes[0], results.items(), strict=True):
        base = ways[0].seconds
        for kind, marker in (("eager", "o"), ("checkpoint", "s"), ("torch budget", "^"), ("checkmate", ".")):
            points = sorted((way.peak / MIB, way.seconds / base) for way in ways if way.name == kind)
            axis.plot(*zip(*points, strict=True), marker=marker, linestyle="-" if kind == "checkmate" else ":", label=kind)
        axis.set(title=name, xlabel="measured peak (MiB)", ylabel="time / eager")
        axis.legend()
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--csv")
    parser.add_argument("--plot")
    options = parser.parse_args()
    torch.set_num_threads(1)  # processor time is then the step's time on a quiet machine
    results: dict[str, list[Way]] = {}
    for name in options.models.split(","):
        results[name] = compare(name, options)
        tell(name, results[name])
    if options.csv:
        with open(options.csv, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["model", "way", "setting", "peak_bytes", "seconds", "predicted_overhead"])
            for name, ways in results.items():
                writer.writerows([name, w.name, w.setting, w.peak, f"{w.seconds:.4f}", w.predicted] for w in ways)
    if options.plot:
        plot(results, options.plot)


if __name__ == "__main__":
    main()
