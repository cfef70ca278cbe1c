"""In one run: eager PyTorch, torch.utils.checkpoint around every block, Inductor with torch's memory budget, and ours.

Peaks are measured for all in the same way, from the allocator's events, and include parameters, buffers, batch and gradients.
Times are the best of steps taken in turns: processor time on one thread; with more threads, wall-clock time. Inductor's first
setting and our first budget start with empty caches. At three budgets our steps over fused kernels are verified: bit by bit
against the same kernels without recomputation, and how far gradients are from those in double precision.

    python benchmarks/torch_compare.py [--models gpt2,resnet50] [--threads 2] [--csv out.csv] [--plot out.svg]
"""

from __future__ import annotations

import argparse
import copy
import csv
import functools
import math
import statistics
import tempfile
import time
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import torch._functorch.config
from matplotlib import pyplot
from torch._inductor.utils import fresh_cache
from torch.utils.checkpoint import checkpoint

import checkmate
from checkmate.torch import peak_bytes
from models.large_models import (
    Case,
    diffusion_unet,
    grouped_llama,
    masked_bert,
    resnet50,
    small_convnext,
    small_gpt2,
    small_vit,
    t5,
)

MIB = 2**20
INDUCTOR_BUDGETS = "1.0,0.8,0.5,0.3,0.1"  # 1.0 is torch's default: no budget
BELOW_INDUCTOR = (0.85, 0.7, 0.6)  # of its least peak
T = TypeVar("T")


MODELS: dict[str, Callable[[], Case]] = {
    "gpt2": small_gpt2,
    "llama": grouped_llama,
    "bert": masked_bert,
    "t5": t5,
    "vit": small_vit,
    "convnext": small_convnext,
    "resnet50": lambda: resnet50(batch=8),
    "diffusion": diffusion_unet,
}


@dataclass
class Way:
    """One way to take the step, and what was seen of it."""

    name: str
    setting: str
    model: torch.nn.Module
    run: Callable[[], Any]
    budget: float = math.inf
    predicted: float | None = None
    compile_seconds: float = 0.0  # up to the end of the first step
    again_seconds: float | None = None  # the same once more; where it is known, compile_seconds began with empty caches
    peak: int = 0
    seconds: float = math.inf
    compiled: checkmate.torch.Step | None = None  # ours
    without: Callable[[], Any] | None = None  # the same kernels without recomputation
    without_seconds: float = math.inf

    @property
    def slow_down(self) -> float | None:
        """Over the same kernels without recomputation."""
        return self.seconds / self.without_seconds if self.without is not None else None

    def step(self, watch: Callable[[Callable[[], Any]], T]) -> T:
        """What is seen of one step, which begins without gradients and leaves none."""
        try:
            return watch(self.run)
        finally:
            self.model.zero_grad()


def held(case: Case) -> int:
    """Bytes that are there in any case: parameters, buffers, the batch."""
    tensors = [*case.model.parameters(), *case.model.buffers(), *(t for t in case.batch if isinstance(t, torch.Tensor))]
    return sum(t.nbytes for t in tensors)


def mib(count: float) -> str:
    return "no budget" if count == math.inf else f"{count / MIB:.1f} MiB"


def seconds_of(run: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    begin = clock()
    run()
    return clock() - begin


def started(way: Way, fixed: int) -> Way:
    """After its first step, with its peak. To compile anew is to fail."""
    way.compile_seconds += way.step(seconds_of)
    with torch.compiler.set_stance("fail_on_recompile"):
        way.peak = fixed + way.step(lambda run: peak_bytes(run, torch.device("cpu")))
    return way


def attempt(label: str, make: Callable[[], T]) -> list[T]:
    """What was made, or nothing: the error is told, and the others go on."""
    try:
        return [make()]
    except Exception as error:
        print(f"{label} failed: {type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:300]}", flush=True)
        return []


def eager(case: Case, name: str = "eager", setting: str = "") -> Way:
    def run() -> None:
        case.loss_fn(case.model, *case.batch).backward()

    return Way(name, setting, case.model, run)


def checkpointed(case: Case) -> Way:
    model = copy.deepcopy(case.model)
    paths = {id(module): path for path, module in case.model.named_modules()}
    for block in (model.get_submodule(paths[id(block)]) for block in case.blocks):
        block.forward = functools.partial(checkpoint, block.forward, use_reentrant=False)
    return eager(case._replace(model=model), "checkpoint", "every block")


def inductor(case: Case, share: float, fixed: int) -> Way:
    """The budget is read when torch compiles. What it compiles belongs to the code object, of which each share has its own."""

    def loss(*batch: Any) -> torch.Tensor:
        return case.loss_fn(case.model, *batch)  # type: ignore[no-any-return]

    own = types.FunctionType(loss.__code__.replace(), loss.__globals__, closure=loss.__closure__)
    compiled = torch.compile(own, fullgraph=True)
    way = Way("inductor", f"{share:g}", case.model, lambda: compiled(*case.batch).backward())
    with torch._functorch.config.patch(activation_memory_budget=share):
        return started(way, fixed)


def ours(case: Case, kernels: str, fixed: int, first: int, others: Sequence[float], time_limit: float) -> list[Way]:
    """At the first budget with empty caches, and once more; at the least that is feasible; and at others above that."""
    with fresh_cache(), tempfile.TemporaryDirectory() as cache:

        def at(budget: float) -> Way:
            begin, given = time.perf_counter(), None if budget == math.inf else int(budget)
            step = checkmate.compile(
                case.model, case.loss_fn, case.batch, given, kernels=kernels, time_limit=time_limit, cache=cache, progress=False
            )
            way = Way(f"ours {kernels}", mib(budget), case.model, lambda: step(*case.batch), budget, step.plan.overhead)
            way.compile_seconds = time.perf_counter() - begin
            way.compiled = step
            if budget != math.inf:
                planned = step.prepare(case.batch)
                kept = planned.with_plan(checkmate.Plan.keep_all(planned.graph))
                way.without = lambda: step.execute(kept, case.batch)
            return started(way, fixed)

        def from_below(budget: int) -> Way:
            try:
                return at(budget)
            except (checkmate.InfeasibleError, checkmate.NoPlanError) as error:
                if error.sufficient is None or error.sufficient <= budget:
                    raise
                return from_below(error.sufficient)

        ways = attempt(f"ours {kernels} at {mib(first)}", lambda: at(first))
        for again in attempt(f"ours {kernels} again", lambda: at(first)) if ways else []:
            ways[0].again_seconds = again.compile_seconds
        ways += attempt(f"ours {kernels} at the least budget", lambda: from_below(fixed))
        least = min((way.budget for way in ways), default=0)
        for budget in (each for each in others if each > least):
            ways += attempt(f"ours {kernels} at {mib(budget)}", functools.partial(at, budget))
    return sorted(ways, key=lambda way: way.budget, reverse=True)


def in_turns(ways: list[Way], options: argparse.Namespace) -> list[Way]:
    """With their best times. To compile anew is to fail, and what fails is left out."""
    clock = time.process_time if options.threads == 1 else time.perf_counter

    def timed(way: Way) -> Way:
        way.seconds = min(way.seconds, way.step(lambda run: seconds_of(run, clock)))
        if way.without is not None:
            way.without_seconds = min(way.without_seconds, seconds_of(way.without, clock))
            way.model.zero_grad()
        return way

    with torch.compiler.set_stance("fail_on_recompile"):
        for _ in range(options.rounds):
            ways = [done for way in ways for done in attempt(f"{way.name} {way.setting}", functools.partial(timed, way))]
    return ways


def compare(name: str, options: argparse.Namespace) -> list[Way]:
    """All ways to take the step of one model, eager first."""
    torch.manual_seed(0)
    torch._dynamo.reset()
    case = MODELS[name]()
    fixed = held(case)
    ways = [started(eager(case), fixed)]
    if case.blocks:
        ways += attempt("checkpoint", lambda: started(checkpointed(case), fixed))
    with fresh_cache():
        for share in map(float, options.inductor.split(",")):
            ways += attempt(f"inductor {share:g}", functools.partial(inductor, case, share, fixed))
    peaks = sorted({way.peak for way in ways if way.name == "inductor"}) or [ways[0].peak]
    below = [int(share * peaks[0]) for share in BELOW_INDUCTOR]
    ways += ours(case, "fused", fixed, peaks[0], [math.inf, *peaks[1:], *below], options.time_limit)
    ways += ours(case, "aten", fixed, peaks[0], [math.inf], options.time_limit)
    ways = in_turns(ways, options)
    if options.verify:
        attempt(f"verifying {name}", lambda: tell_numbers(name, case, ways))
    return ways


def tell_numbers(name: str, case: Case, ways: Sequence[Way]) -> None:
    """Whether plans change bits or peaks, and how far all are from eager."""
    steps = [way.compiled for way in ways if way.name == "ours fused" and way.compiled is not None and way.budget != math.inf]
    for step in dict.fromkeys([*steps[:1], *steps[len(steps) // 2 :][:1], *steps[-1:]]):
        seen = checkmate.verify(step, case.batch, repeats=1, resident=False, reference=True)
        same = "same bits" if seen.from_keep_all.none else "OTHER BITS"
        peak = "as predicted" if seen.measured_peak == seen.predicted_peak else f"PREDICTED {mib(seen.predicted_peak)}"
        print(
            f"{name} at {mib(seen.budget)}: {same} without recomputation, peak {mib(seen.measured_peak)} {peak}, "
            f"gradients {seen.error:.1e} from double precision, eager {seen.eager_error:.1e}",
            flush=True,
        )
    first = {way.name: way for way in reversed(ways)}
    eagers, *others = (
        first[kind].step(functools.partial(gradients_of, first[kind].model)) for kind in ("eager", "inductor", "ours fused")
    )
    theirs, mine = (relative_distance(each, eagers) for each in others)
    draws = any(isinstance(m, torch.nn.Dropout) and m.p > 0 for m in case.model.modules())
    told = "draws other numbers" if draws else f"{theirs:.1e}"
    print(f"{name}: gradients from eager's: Inductor {told}, ours {mine:.1e}", flush=True)


def gradients_of(model: torch.nn.Module, run: Callable[[], Any]) -> list[torch.Tensor]:
    torch.manual_seed(1)
    run()
    return [p.grad.double() for p in model.parameters() if p.grad is not None]


def relative_distance(found: list[torch.Tensor], expected: list[torch.Tensor]) -> float:
    apart = sum(float((a - b).square().sum()) for a, b in zip(found, expected, strict=True))
    return math.sqrt(apart / sum(float(b.square().sum()) for b in expected))


def within(other: Way, ways: Sequence[Way]) -> float | None:
    """Our best time with fused kernels at a peak that is no higher, over its time."""
    fitting = [way.seconds for way in ways if way.name == "ours fused" and way.peak <= other.peak]
    return min(fitting) / other.seconds if fitting else None


def tell(name: str, ways: list[Way], clock: str) -> None:
    base = ways[0]
    print(f"\n{name}: eager takes {base.seconds:.3f} s ({clock}) and {mib(base.peak)}\n")
    print("| way | setting | peak MiB | time / eager | slow-down | predicted | compile s | again s | ours within / its time |")
    print("|---|---|---|---|---|---|---|---|---|")
    for way in ways:
        ours_within = (within(way, ways) or "nothing fits") if way.name == "inductor" else None
        seen = [way.peak / MIB, way.seconds / base.seconds, way.slow_down, way.predicted]
        seen += [way.compile_seconds, way.again_seconds, ours_within]
        cells = ["" if cell is None else cell if isinstance(cell, str) else f"{cell:.3f}" for cell in seen]
        print(f"| {way.name:10} | {way.setting:11} | {' | '.join(f'{cell:>7}' for cell in cells)} |")
    print(flush=True)


def summarize(results: dict[str, list[Way]]) -> None:
    ratios = [within(way, ways) for ways in results.values() for way in ways if way.name == "inductor"]
    fitting = [ratio for ratio in ratios if ratio is not None]
    if fitting:
        print(f"{len(fitting)} points: median {statistics.median(fitting):.3f}, worst {max(fitting):.3f} of Inductor's time")
    print(f"{len(ratios) - len(fitting)} points of Inductor at whose peak nothing of ours fits")
    pairs = [(w.slow_down, w.predicted) for ways in results.values() for w in ways if w.slow_down and w.name == "ours fused"]
    off = [100 * abs(measured - predicted) for measured, predicted in pairs if predicted is not None]
    if off:
        print(f"{len(off)} slow-downs: prediction {statistics.median(off):.1f} points off in the median, {max(off):.1f} at worst")
    for name, ways in results.items():
        peaks = {kind: [way.peak for way in ways if way.name == kind] for kind in ("inductor", "ours fused", "ours aten")}
        for kind in ("ours fused", "ours aten"):
            if peaks[kind] and peaks["inductor"]:
                least = f"least peak {min(peaks[kind]) / min(peaks['inductor']):.3f} of Inductor's"
                falls = peaks[kind] == sorted(peaks[kind], reverse=True)
                print(f"{name}, {kind}: {least}; as the budget falls, peaks {'never rise' if falls else 'RISE'}")


def write(results: dict[str, list[Way]], path: str) -> None:
    columns = ["name", "setting", "peak", "seconds", "slow_down", "predicted", "compile_seconds", "again_seconds"]
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["model", *columns])
        for name, ways in results.items():
            writer.writerows([name, *(getattr(way, column) for column in columns)] for way in ways)


def plot(results: dict[str, list[Way]], path: str) -> None:
    pyplot.switch_backend("Agg")
    columns = min(4, len(results))
    rows = math.ceil(len(results) / columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(5 * columns, 4 * rows), squeeze=False)
    for axis in axes.flat[len(results) :]:
        axis.set_visible(False)
    markers = {"eager": "o", "checkpoint": "s", "inductor": "^", "ours aten": "x", "ours fused": "."}
    for axis, (name, ways) in zip(axes.flat, results.items(), strict=False):
        for kind, marker in markers.items():
            points = sorted((way.peak / MIB, way.seconds / ways[0].seconds) for way in ways if way.name == kind)
            line = "-" if kind == "ours fused" else ":"
            axis.plot([x for x, _ in points], [y for _, y in points], marker=marker, linestyle=line, label=kind)
        axis.set(title=name, xlabel="measured peak (MiB)", ylabel="time / eager")
        axis.legend()
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--inductor", default=INDUCTOR_BUDGETS, help=f"its budgets ({INDUCTOR_BUDGETS})")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help="with more than one, wall-clock time is measured")
    parser.add_argument("--time-limit", type=float, default=10, help="seconds of each search of ours")
    parser.add_argument("--no-verify", dest="verify", action="store_false", help="leave out the comparison of numbers")
    parser.add_argument("--csv")
    parser.add_argument("--plot")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    clock = "processor time, one thread" if options.threads == 1 else f"wall-clock time, {options.threads} threads"
    results: dict[str, list[Way]] = {}
    for name in options.models.split(","):
        for ways in attempt(name, functools.partial(compare, name, options)):
            results[name] = ways
            tell(name, ways, clock)
        if options.csv:
            write(results, options.csv)
    summarize(results)
    if options.plot and results:
        plot(results, options.plot)


if __name__ == "__main__":
    main()
