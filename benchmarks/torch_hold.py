"""Must hold: planned steps of current models against the same step without recomputation, and against eager PyTorch.

For each model and budget: three steps of an optimizer give the same bits, the measured peak stays within the budget and near
the predicted one; what it costs in time. Then ten budgets: the measured peak falls with them.

    python benchmarks/torch_hold.py [--models GPT-2,BERT] [--budgets 90,70,50] [--time-limit 10]
"""

from __future__ import annotations

import argparse
import copy
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

import checkmate
from models.large_models import MODELS, Case

MIB = 2**20


def trained(case: Case, step: Callable[..., Any], steps: int = 3) -> list[torch.Tensor]:
    """Losses, gradients, parameters and buffers after some steps of an optimizer."""
    torch.manual_seed(1)
    optimizer = torch.optim.SGD(case.model.parameters(), lr=1e-2, momentum=0.9)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        losses.append(step(*case.batch))
        optimizer.step()
    gradients = [p.grad for p in case.model.parameters() if p.grad is not None]
    return [t.detach().clone() for t in [*losses, *gradients, *case.model.parameters(), *case.model.buffers()]]


def eager_step(case: Case) -> Callable[..., torch.Tensor]:
    def step(*batch: Any) -> torch.Tensor:
        loss: torch.Tensor = case.loss_fn(case.model, *batch)
        loss.backward()
        return loss.detach()

    return step


def worst(ours: list[torch.Tensor], theirs: list[torch.Tensor]) -> float:
    """The largest difference, relative to the largest value of each tensor; 0: bitwise equal."""
    return max(
        0.0 if torch.equal(a, b) else float((a - b).abs().max() / b.abs().max().clamp(min=1e-12))
        for a, b in zip(ours, theirs, strict=True)
    )


def copied(case: Case) -> Case:
    return case._replace(model=copy.deepcopy(case.model))


def in_turn(steps: list[Callable[[], Any]], rounds: int) -> list[float]:
    """The best processor time of each, taken in turns: what else the machine does only ever adds."""
    times: list[list[float]] = [[] for _ in steps]
    for _ in range(rounds):
        for step, seen in zip(steps, times, strict=True):
            begin = time.process_time()
            step()
            seen.append(time.process_time() - begin)
    return [min(seen) for seen in times]


def check(name: str, case: Case, budgets: list[str], options: argparse.Namespace) -> bool:
    plain = copied(case)
    eager = trained(plain, eager_step(plain))
    kept_case = copied(case)
    kept = checkmate.compile(kept_case.model, case.loss_fn, case.batch)
    without = trained(kept_case, kept)
    good = True
    for budget in budgets:
        twin = copied(case)
        try:
            step = checkmate.compile(twin.model, case.loss_fn, case.batch, budget, time_limit=options.time_limit)
        except checkmate.Error as error:
            print(f"{name:10} {budget:>4}  {error}")
            good = False
            continue
        ours = trained(twin, step)
        for each in (twin, kept_case, plain):
            each.model.zero_grad()
        seen = checkmate.verify(step, case.batch, eager=False, repeats=1)

        def clean(run: Callable[..., Any], of: Case) -> Callable[[], Any]:
            return lambda: (of.model.zero_grad(), run(*of.batch))

        mine, keep_all, eagerly = in_turn(
            [clean(step, twin), clean(kept, kept_case), clean(eager_step(plain), plain)], options.rounds
        )
        same, held = worst(ours, without) == 0, seen.measured_peak <= seen.budget
        off = abs(seen.measured_peak / seen.predicted_peak - 1)
        good &= same and held and off <= 0.02
        print(
            f"{name:10} {budget:>4}  budget {seen.budget / MIB:8.1f} MiB  peak {seen.measured_peak / MIB:8.1f} "
            f"({'held' if held else 'BROKEN'}, {off:.2%} off)  {'same bits' if same else 'DIFFERS'}, "
            f"eager {worst(ours, eager):.0e}  time / keep-all {mine / keep_all:.3f} (predicted {step.plan.overhead:.3f}, "
            f"gap {step.plan.gap:.2%})  / eager {mine / eagerly:.3f}  solved in {step.timings.solve:.1f} s",
            flush=True,
        )
    return good


def slow_down(name: str, case: Case, budgets: list[str], options: argparse.Namespace) -> list[float]:
    """How many points the predicted slow-down is off, at each budget that is feasible."""
    kept = checkmate.compile(case.model, case.loss_fn, case.batch)
    off = []
    for budget in budgets:
        case.model.zero_grad()
        try:
            step = checkmate.compile(case.model, case.loss_fn, case.batch, budget, time_limit=options.time_limit)
        except checkmate.Error as error:
            print(f"{name:10} {budget:>4}  {str(error).partition(';')[0][:100]}", flush=True)
            continue
        prepared = [(run, run.prepare(case.batch)) for run in (step, kept)]
        mine, without = in_turn(
            [lambda r=run, p=each: (case.model.zero_grad(), r.execute(p, case.batch)) for run, each in prepared], options.rounds
        )
        measured, predicted = mine / without, step.plan.overhead
        off.append(100 * (measured - predicted))
        print(f"{name:10} {budget:>4}  measured {measured:.3f}, predicted {predicted:.3f}, {off[-1]:+.1f} points", flush=True)
    return off


def monotone(name: str, case: Case, options: argparse.Namespace) -> bool:
    peaks = []
    for share in range(100, 50, -5):
        case.model.zero_grad()
        try:
            step = checkmate.compile(case.model, case.loss_fn, case.batch, f"{share}%", time_limit=options.time_limit)
        except checkmate.Error:
            break
        peaks.append(checkmate.verify(step, case.batch, eager=False, repeats=1).measured_peak)
    falls = peaks == sorted(peaks, reverse=True)
    told = " ".join(f"{peak / MIB:.0f}" for peak in peaks)
    print(f"{name:10} 100% to 55%: peaks {told} MiB, {'never rising' if falls else 'RISING'}", flush=True)
    return falls


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--budgets", default="90,70,50")
    parser.add_argument("--time-limit", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--times", action="store_true", help="only the slow-down, predicted and measured")
    parser.add_argument("--no-sweep", dest="sweep", action="store_false", help="leave out the ten budgets")
    options = parser.parse_args()
    torch.set_num_threads(1)  # processor time is then the step's time on a quiet machine
    good = True
    off: list[float] = []
    for name in options.models.split(","):
        torch.manual_seed(0)
        case = MODELS[name]()
        if options.times:
            off += slow_down(name, case, [f"{b}%" for b in options.budgets.split(",")], options)
            continue
        good &= check(name, case, [f"{b}%" for b in options.budgets.split(",")], options)
        if options.sweep:
            good &= monotone(name, case, options)
    if off:
        apart = sorted(map(abs, off))
        print(f"{len(off)} points: median {statistics.median(apart):.1f}, worst {apart[-1]:.1f} points apart")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
