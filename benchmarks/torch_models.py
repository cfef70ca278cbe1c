"""Trains many models as a new user would: captured, planned at two budgets, verified on two batches, measured.

    python benchmarks/torch_models.py [--only SUBSTRING] [--jobs 2] [--json OUT [--resume]] [--markdown docs/models.md]

Each model runs in a process of its own, with a limit on time and memory. `benchmarks/setup_models.sh` installs what it needs.
"""

from __future__ import annotations

import argparse
import copy
import json
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from torch.nn.utils.weight_norm import WeightNorm

import checkmate
import models
from checkmate.torch.backend import entry
from checkmate.torch.library_shims import eager_composites
from checkmate.torch.processor import use_working_isa
from models.page import markdown

OUTCOMES = {
    "holds": "same bits as eager and as without recomputation, within the budget, measured peak = predicted peak",
    "peak": "the right numbers, but another peak",
    "numbers": "other numbers, and nothing said so",
    "refused": "a checkmate.Error, which says why",
    "raised": "any other exception",
    "crashed": "killed by a signal",
    "time": "not done within the limit",
}
BUDGETS = ("70%", "45%")
ATTEMPTS = 6  # at a budget that suffices for all graphs of a step
PEAK_TOLERANCE = 0.001
SAME_ERROR, LEAST_ERROR = 10, 1e-4  # fused kernels may be this much farther from double precision than eager; or this far
MIB = 2**20

Record = dict[str, Any]
Tell = Callable[[str], None]


def hold(training: models.Training, tell: Tell, options: argparse.Namespace) -> Record:
    """Compiles, plans and verifies; the keys of the record are filled in as far as it gets."""
    model, loss_fn, batch = training
    batches = [batch(), batch()]

    def compiled(budget: str | int | None) -> checkmate.torch.Step:
        return checkmate.compile(
            model, loss_fn, batches[0], budget, kernels=options.kernels, time_limit=options.time_limit, cache=options.cache
        )

    tell("compile")
    record: Record = {"ops": len(compiled(None).graph), "runs": [], "notes": []}
    for budget in BUDGETS:
        tell(f"plan at {budget}")
        try:
            step = compiled(budget)
        except (checkmate.InfeasibleError, checkmate.NoPlanError) as error:
            least = max(int(getattr(error, "needed", 0) * 1.1), error.sufficient or 0)
            record["notes"].append(f"{budget} is infeasible: planned at {least / MIB:.1f} MiB")
            step = compiled(least)
        tell(f"verify at {budget}")
        fused = options.kernels == "fused"
        try:
            seen = [checkmate.verify(step, each, repeats=1, resident=False, reference=fused) for each in batches]
        except checkmate.Error as error:
            if "double precision" not in str(error):
                raise
            record["notes"].append("does not run in double precision")
            seen = [checkmate.verify(step, each, eager=False, repeats=1, resident=False) for each in batches]
        record["runs"] += [run(budget, each) for each in seen]
        if refused := step._latest.refused:
            record["notes"].append(f"{len(refused)} groups are not fused: {next(iter(refused.values()))}")
        record["unplanned"] = record.get("unplanned", 0) + getattr(step._latest.execution, "unplanned", 0)
    wrong = [r for r in record["runs"] if r["numbers"]]
    off = [r for r in record["runs"] if r["peak_off"]]
    record["outcome"] = "numbers" if wrong else "peak" if off else "holds"
    if record["unplanned"]:
        record["notes"].append(f"{record['unplanned']} allocations without their planned address")
    if wrong or off:
        record["reason"] = wrong[0]["numbers"] if wrong else off[0]["peak_off"]
    return record


def run(budget: str, seen: checkmate.torch.Verification) -> Record:
    """What one verification says, and what is wrong with it."""
    numbers = [
        f"{part} against {other} at {budget}: {getattr(difference, part)}"
        for other, difference in (("keep-all", seen.from_keep_all), ("eager", seen.from_eager if seen.error is None else None))
        for part in ("loss", "gradients", "buffers")
        if difference is not None and getattr(difference, part).differing
    ]
    if seen.error is not None and seen.eager_error is not None and seen.error > max(SAME_ERROR * seen.eager_error, LEAST_ERROR):
        numbers.append(f"gradients at {budget} are off by {seen.error:.2g}, those of eager by {seen.eager_error:.2g}")
    apart = abs(seen.measured_peak - seen.predicted_peak) / seen.predicted_peak
    held = seen.measured_peak <= seen.budget and apart <= PEAK_TOLERANCE
    off = f"at {budget} the peak is {seen.measured_peak / MIB:.2f} MiB, predicted {seen.predicted_peak / MIB:.2f}"
    return {
        "share": budget,
        **{k: getattr(seen, k) for k in ("budget", "measured_peak", "predicted_peak", "keep_all_peak", "eager_peak")},
        **{k: getattr(seen, k) for k in ("predicted_overhead", "seconds", "keep_all_seconds", "eager_seconds")},
        **{k: getattr(seen, k) for k in ("error", "eager_error")},
        "numbers": "; ".join(numbers),
        "peak_off": "" if held else f"{off}, budget {seen.budget / MIB:.2f}",
    }


def backend(training: models.Training, tell: Tell, options: argparse.Namespace) -> Record:
    """Through torch.compile. Where several graphs compute other numbers than eager mode, against aot_eager's graphs."""
    record = fitting(training, "eager", tell, options)
    if record["outcome"] == "numbers" and record["graphs"] > 1:
        with eager_composites():
            again = fitting(training, "aot_eager", tell, options)
        if again["outcome"] != "numbers":
            again["notes"].append("gradients of several graphs are added in another order, as by aot_eager")
            return again
    return record


def fitting(training: models.Training, reference: str, tell: Tell, options: argparse.Namespace) -> Record:
    """At 70% or, where one of the graphs is infeasible, at what suffices for it."""
    budget: str | int = "70%"
    for _ in range(ATTEMPTS):
        try:
            record = looped(training, budget, reference, tell, options)
        except (checkmate.InfeasibleError, checkmate.NoPlanError) as error:
            budget = int(1.1 * max(getattr(error, "needed", 0), error.sufficient or 0))
        else:
            record["notes"] += [] if isinstance(budget, str) else [f"70% is infeasible: planned at {budget / MIB:.1f} MiB"]
            return record
    return looped(training, budget, reference, tell, options)


def looped(training: models.Training, budget: str | int, reference: str, tell: Tell, options: argparse.Namespace) -> Record:
    """Four steps, the last of which is measured, against another backend: some models compute otherwise where Dynamo traces
    them."""
    torch._dynamo.reset()
    entry.reset()
    model, loss_fn, batch = training
    twin = twin_of(model)
    tell("torch.compile")
    captured = torch.compile(model, backend=reference)
    wrapped = checkmate.wrap(twin, budget, kernels=options.kernels, time_limit=options.time_limit, cache=options.cache)
    held = sum(t.nbytes for t in (*model.parameters(), *model.buffers()))
    record: Record = {"runs": [], "notes": [], "outcome": "holds"}
    for number in range(4):
        tell(f"step {number}")
        given, peaks = batch(), []
        for each, call in ((model, captured), (twin, wrapped)):
            each.zero_grad()
            torch.manual_seed(number)

            def step(call: Any = call, given: Any = given) -> None:
                loss = loss_fn(call, *given)
                (loss[0] if isinstance(loss, tuple) else loss).backward()

            peaks.append(checkmate.torch.peak_bytes(step, torch.device("cpu")) if number == 3 else step())
        pairs = list(zip([*model.parameters(), *model.buffers()], [*twin.parameters(), *twin.buffers()], strict=True))
        pairs += [(a.grad, b.grad) for a, b in pairs if a.grad is not None and b.grad is not None]
        differing = sum(not same_bits(a, b) for a, b in pairs)
        if differing and options.kernels == "aten":
            told = f"{differing} of {len(pairs)} tensors differ in step {number}"
            return record | {"outcome": "numbers", "reason": told, "graphs": len(entry.planned_graphs())}
    graphs = entry.planned_graphs()
    record["notes"] += [f"{len(graphs)} graphs"] if len(graphs) != 1 else []
    allowed = max((graph.passes.planned.plan.budget for graph in graphs), default=0)
    if not graphs or held + peaks[1] > allowed:
        record |= {"outcome": "peak", "reason": f"{peaks[1] / MIB:.1f} MiB, eager {peaks[0] / MIB:.1f}, {len(graphs)} graphs"}
    record["ops"] = sum(len(graph.passes.planned.graph) for graph in graphs)
    return record


def twin_of(model: torch.nn.Module) -> torch.nn.Module:
    """A copy. Weights that are computed anew in each forward pass cannot be copied with their history."""
    for module in model.modules():
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm):
                setattr(module, hook.name, getattr(module, hook.name).detach())
    return copy.deepcopy(model)


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    a, b = (t.detach().to_dense().contiguous().flatten() for t in (a, b))
    return bool(torch.equal(a.view(torch.uint8), b.view(torch.uint8)))


def eager(training: models.Training, tell: Tell, _: argparse.Namespace) -> Record:
    """Whether the entry itself works: two steps of plain PyTorch; and its sizes."""
    model, loss_fn, batch = training
    tell("eager")

    def step() -> None:
        loss = loss_fn(model, *batch())
        (loss[0] if isinstance(loss, tuple) else loss).backward()

    peak = checkmate.torch.peak_bytes(step, torch.device("cpu"))
    model.zero_grad()
    begin = time.perf_counter()
    step()
    return {"outcome": "holds", "peak": peak, "step_seconds": time.perf_counter() - begin}


def torch_compile(training: models.Training, tell: Tell, _: argparse.Namespace) -> Record:
    """Whether torch.compile takes the step as one graph."""
    model, loss_fn, batch = training
    twin = copy.deepcopy(model)
    tell("torch.compile")
    loss = torch.compile(lambda *b: loss_fn(twin, *b), fullgraph=True, backend="aot_eager")(*batch())
    (loss[0] if isinstance(loss, tuple) else loss).backward()
    return {"outcome": "holds"}


def child(name: str, task: Callable[..., Record], options: argparse.Namespace, results: Connection) -> None:
    """Sends the stages that it comes to, as strings, and at last its record."""
    resource.setrlimit(resource.RLIMIT_AS, (options.memory * 2**30,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (int(options.limit), int(options.limit) + 1))
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115  (until the process ends)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    stage = "build"

    def tell(new: str) -> None:
        nonlocal stage
        stage = new
        results.send(new)

    record: Record = {}
    try:
        training = models.catalogue()[name].build()
        record["parameters"] = sum(p.numel() for p in training.model.parameters())
        record |= task(training, tell, options)
    except checkmate.Error as error:
        record |= {"outcome": "refused", "reason": first_line(error), "stage": stage, "traceback": traceback.format_exc()}
    except Exception as error:
        told = f"{type(error).__name__} in {stage}: {first_line(error)}"
        record |= {"outcome": "raised", "reason": told, "stage": stage, "traceback": traceback.format_exc()}
    results.send(record)


def first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), "")[:300]


def in_child(name: str, task: Callable[..., Record], options: argparse.Namespace) -> Record:
    """The record of a task, whatever happens to the process that it runs in."""
    begin = time.perf_counter()
    results, sender = multiprocessing.Pipe(duplex=False)
    with START:
        process = multiprocessing.Process(target=child, args=(name, task, options, sender), daemon=True)
        process.start()
    sender.close()
    stage: str | Record = "build"
    late = {"outcome": "time", "reason": f"more than {options.limit:.0f} s"}
    try:
        while isinstance(stage, str) and results.poll(max(0.0, begin + WAIT * options.limit - time.perf_counter())):
            stage = results.recv()
        record = stage if isinstance(stage, dict) else late
    except EOFError:
        process.join()
        code = process.exitcode or 0
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        record = late if how == "SIGXCPU" else {"outcome": "crashed", "reason": f"{how} in {stage}"}
    process.join(5 if record is not late else 0)
    process.kill()
    process.join()
    entry = models.catalogue()[name]
    return {"model": name, "architecture": entry.architecture, **record, "total_seconds": time.perf_counter() - begin}


WAIT = 10  # times the limit of processor time: what else the machine does is not the model's fault
START = threading.Lock()  # two processes at once would inherit each other's pipes


def measured(name: str, options: argparse.Namespace) -> Record:
    if options.check_eager:
        return in_child(name, eager, options)
    record = in_child(name, backend if options.backend else hold, options)
    if options.torch_compile:
        taken = in_child(name, torch_compile, options)
        record["torch_compile"] = "takes it" if taken["outcome"] == "holds" else taken["reason"]
    return record


def line(record: Record) -> str:
    """A row of the table that is printed."""
    peaks = {r["share"]: r["measured_peak"] / MIB for r in record.get("runs", ())}
    runs = record.get("runs", ())
    numbers = [f"{(runs[0]['eager_peak'] or 0) / MIB:8.1f}" if runs else f"{record.get('peak', 0) / MIB:8.1f}"]
    numbers += [f"{peaks[b]:8.1f}" if b in peaks else f"{'':8}" for b in BUDGETS]
    overhead = f"{runs[-1]['predicted_overhead']:6.3f}" if runs else f"{'':6}"
    why = record.get("reason") or "; ".join(record.get("notes", ()))
    return (
        f"{record['model']:42} {record.get('parameters', 0) / 1e6:6.2f}M {record.get('ops', ''):>5} {record['outcome']:8}"
        f"{' '.join(numbers)} {overhead} {record['total_seconds']:6.1f} s  {why}"
    )


def summary(records: list[Record]) -> str:
    counts = Counter(r["outcome"] for r in records)
    architectures = {r["architecture"] for r in records}
    larger = sum(bool(r.get("notes")) for r in records)
    lines = [f"{len(records)} models of {len(architectures)} architectures, {larger} of them at a larger budget than asked for"]
    return "\n".join(lines + [f"  {counts[outcome]:4} {outcome:8} {OUTCOMES[outcome]}" for outcome in OUTCOMES])


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="models whose library/name contains it")
    parser.add_argument("--from", dest="names", type=Path, metavar="FILE", help="only models whose names are lines of the file")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--check-eager", action="store_true", help="only run each model in plain PyTorch")
    parser.add_argument("--torch-compile", action="store_true", help="also see whether torch.compile(fullgraph=True) takes it")
    parser.add_argument("--backend", action="store_true", help='through torch.compile(backend="checkmate"), at 70%%')
    parser.add_argument("--kernels", default="aten", choices=("aten", "fused"))
    parser.add_argument("--jobs", type=int, default=1, help="models at once (1)")
    parser.add_argument("--limit", type=float, default=120, metavar="SECONDS", help="of processor time per model (120)")
    parser.add_argument("--memory", type=int, default=8, metavar="GIB", help="address space per model (8)")
    parser.add_argument("--time-limit", type=float, default=2, metavar="SECONDS", help="of each search for a plan (2)")
    parser.add_argument("--cache", default=tempfile.gettempdir() + "/checkmate-models", help="folder for measured costs")
    parser.add_argument("--json", type=Path, metavar="OUT", help="one JSON record per line, written as models end")
    parser.add_argument("--resume", action="store_true", help="skip the models that are in the --json file already")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write the page when all models are done")
    options = parser.parse_args()
    if options.resume and not options.json:
        parser.error("--resume needs --json")
    if options.markdown and options.only:
        parser.error("--markdown needs all models: leave out --only")
    return options


def main() -> int:
    options = parsed()
    if line_about_processor := use_working_isa():
        print(line_about_processor, file=sys.stderr)
    chosen = options.names.read_text().split("\n") if options.names else models.catalogue()
    names = [name for name in models.catalogue() if options.only in name and name in chosen]
    if options.list:
        print("\n".join(names))
        return 0
    records: list[Record] = []
    if options.resume and options.json.exists():
        records = [r for r in map(json.loads, options.json.read_text().splitlines()) if r["model"] in names]
    elif options.json:
        options.json.write_text("")
    done = {r["model"] for r in records}
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # the server of Python 3.11 does not get it otherwise
    multiprocessing.set_start_method("forkserver")
    multiprocessing.set_forkserver_preload(["models.everything"])
    with ThreadPoolExecutor(options.jobs) as pool:
        for future in as_completed([pool.submit(measured, name, options) for name in names if name not in done]):
            record = future.result()
            records.append(record)
            print(line(record), flush=True)
            if options.json:
                with options.json.open("a") as out:
                    out.write(json.dumps(record) + "\n")
    print(summary(records))
    if options.markdown:
        whole = options.markdown.with_suffix(".part")
        whole.write_text(markdown(sorted(records, key=lambda r: names.index(r["model"])), OUTCOMES, BUDGETS))
        whole.replace(options.markdown)
    return 0 if all(r["outcome"] == "holds" for r in records) else 1


if __name__ == "__main__":
    raise SystemExit(main())
