"""Sharded training on processes of this machine: does it hold, how does it compare with FSDP2, and what does choosing give?

python benchmarks/torch_sharded.py hold [--ranks 2] [--models gpt2,llama]    weights, peaks and resident memory at four budgets
python benchmarks/torch_sharded.py beside [--ranks 2]                            beside FSDP2, in turns, at each of its peaks
python benchmarks/torch_sharded.py networks                                      against plans that gather once, or always twice
python benchmarks/torch_sharded.py llama70b [--ranks 64,256,1024]                the model of a machine that is not there
"""

from __future__ import annotations

import argparse
import gc
import resource
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import transformers
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import apply_activation_checkpointing, checkpoint_wrapper
from torch.distributed.fsdp import fully_shard
from torch.multiprocessing.spawn import spawn

import checkmate
from checkmate.torch.capture import traced
from checkmate.torch.costs import UnitCost
from checkmate.torch.ir import Program, Storage
from checkmate.torch.lowering import lower
from checkmate.torch.memory import peak_bytes
from checkmate.torch.planning_graph import planning_graph
from checkmate.torch.sharding.collectives import Gather
from checkmate.torch.sharding.estimate import cost_of
from checkmate.torch.sharding.gathers import with_collectives
from checkmate.torch.sharding.placement import Layout
from models.large_models import Case, gpt2
from models.llama70b import batch_of, language_loss, llama_70b

MIB = 2**20
STEPS = 10
BUDGETS = ("100%", "70%", "50%", "least")


def small_gpt2() -> Case:
    return gpt2(layers=4, width=192, words=1024, batch=4, length=64, dropout=0.0)


def small_vit() -> Case:
    config = transformers.ViTConfig(
        hidden_size=192, num_attention_heads=3, intermediate_size=768, num_hidden_layers=4, image_size=64
    )
    model = transformers.ViTForImageClassification(config).train()
    images = (torch.randn(8, 3, 64, 64), torch.randint(2, (8,)))
    return Case(model, lambda m, x, y: m(x, labels=y).loss, images, list(model.vit.layers))


def small_llama() -> Case:
    config = transformers.LlamaConfig(
        hidden_size=192, intermediate_size=512, num_hidden_layers=4, num_attention_heads=3, vocab_size=1024
    )
    model = transformers.LlamaForCausalLM(config).train()
    ids = torch.randint(1024, (4, 64))
    return Case(model, lambda m, x: m(x, labels=x, use_cache=False).loss, (ids,), list(model.model.layers))


MODELS: dict[str, Callable[[], Case]] = {"gpt2": small_gpt2, "llama": small_llama, "vit": small_vit}


def case_of(name: str, rank: int) -> Case:
    """The same model on all ranks, and a batch of each."""
    torch.manual_seed(0)
    case = MODELS[name]()
    torch.manual_seed(1 + rank)
    return case._replace(batch=MODELS[name]().batch)


def started(work: Callable[..., None], ranks: int, *arguments: Any) -> None:
    with socket.socket() as free, tempfile.TemporaryDirectory() as folder:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        spawn(_run, args=(port, ranks, work, folder, arguments), nprocs=ranks)


def _run(rank: int, port: int, ranks: int, work: Callable[..., None], folder: str, arguments: tuple[Any, ...]) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=ranks)
    try:
        work(rank, ranks, folder, *arguments)
    finally:
        dist.destroy_process_group()


def say(rank: int, text: str) -> None:
    if rank == 0:
        print(text, flush=True)


def least(case: Case, folder: str) -> int:
    """The smallest budget for which a search finds a plan with a layout."""
    try:
        checkmate.compile(case.model, case.loss_fn, case.batch, "1%", shard=dist.group.WORLD, cache=folder, time_limit=5)
    except checkmate.InfeasibleError as error:
        return int(1.02 * (error.sufficient or error.needed))
    raise AssertionError("one percent was enough")


def trained(rank: int, name: str, budget: Any, folder: str) -> tuple[Any, list[torch.Tensor]]:
    case = case_of(name, rank)
    given = {"shard": dist.group.WORLD, "cache": folder, "time_limit": 5, "progress": False}
    step = checkmate.compile(case.model, case.loss_fn, case.batch, budget, **given)
    optimizer = torch.optim.SGD(case.model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(STEPS):
        optimizer.zero_grad()
        step(*case.batch)
        optimizer.step()
    optimizer.zero_grad()
    return step, [p.full_tensor().detach() for p in case.model.parameters()]


def alone(name: str, ranks: int) -> list[torch.Tensor]:
    """One process, with the batches of all."""
    cases = [case_of(name, rank) for rank in range(ranks)]
    model = cases[0].model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(STEPS):
        optimizer.zero_grad()
        for case in cases:
            (case.loss_fn(model, *case.batch) / ranks).backward()
        optimizer.step()
    return [p.detach() for p in model.parameters()]


def sizes() -> dict[str, int]:
    lines = Path("/proc/self/status").read_text().splitlines()
    return {n: 1024 * int(v.split()[0]) for n, _, v in (line.partition(":") for line in lines) if v.endswith(" kB")}


def resident(step: Any, batch: Sequence[Any]) -> int:
    """Growth of this process while a step runs, which begins without an arena."""
    step(*batch)
    step.model.zero_grad()
    step.release()
    gc.collect()
    before = sizes()
    Path("/proc/self/clear_refs").write_text("5")
    step(*batch)
    after = sizes()
    step.model.zero_grad()
    return after["VmHWM"] - before["VmRSS"] + step.graph.fixed_bytes


def hold(rank: int, ranks: int, folder: str, models: Sequence[str]) -> None:
    for name in models:
        expected = alone(name, ranks)
        _, kept = trained(rank, name, None, folder)
        smallest = least(case_of(name, rank), folder)
        for budget in BUDGETS:
            try:
                step, found = trained(rank, name, smallest if budget == "least" else budget, folder)
            except (checkmate.InfeasibleError, checkmate.NoPlanError) as error:
                say(rank, f"{name} on {ranks} ranks, {budget}: {error}")
                continue
            batch = case_of(name, rank).batch
            peak = peak_bytes(partial(step, *batch), torch.device("cpu")) + step.graph.fixed_bytes
            step.model.zero_grad()
            grown = resident(step, batch)
            apart = max(float((a - b).norm() / b.norm().clamp(min=1e-12)) for a, b in zip(found, expected, strict=True))
            same = all(torch.equal(a, b) for a, b in zip(found, kept, strict=True))
            every: list[Any] = [None] * ranks
            dist.all_gather_object(every, (same, peak == step.plan.peak, peak, grown))
            say(
                rank,
                f"{name} on {ranks} ranks, {budget}: bitwise {all(e[0] for e in every)}, from one process {apart:.1e}, peak "
                f"{step.plan.peak / MIB:.1f} MiB of {step.plan.budget / MIB:.1f}, measured "
                f"{'equal' if all(e[1] for e in every) else [e[2] / MIB for e in every]}, resident "
                f"{', '.join(f'{e[3] / MIB:.1f}' for e in every)}; {sum(step.gathers.values())} gathers of "
                f"{len(step.gathers)} parameters, overhead {step.plan.overhead:.3f}",
            )


def with_fully_shard(case: Case, reshard: bool, checkpoint: bool) -> nn.Module:
    if checkpoint:
        kinds = {type(block) for block in case.blocks}
        apply_activation_checkpointing(case.model, checkpoint_wrapper_fn=checkpoint_wrapper, check_fn=lambda m: type(m) in kinds)
    for module in case.model.modules():
        if any(module is block for block in case.blocks):
            fully_shard(module, reshard_after_forward=reshard)
    fully_shard(case.model, reshard_after_forward=reshard)
    return case.model


def eager(model: nn.Module, case: Case) -> Callable[[], None]:
    def run() -> None:
        model.zero_grad()
        case.loss_fn(model, *case.batch).backward()

    return run


def planned(step: Any, case: Case) -> Callable[[], None]:
    def run() -> None:
        step.model.zero_grad()
        step(*case.batch)

    return run


def beside(rank: int, ranks: int, folder: str, models: Sequence[str]) -> None:
    for name in models:
        pairs = []
        for reshard in (True, False):
            for checkpoint in (True, False):
                case = case_of(name, rank)
                run = eager(with_fully_shard(case, reshard, checkpoint), case)
                run()
                case.model.zero_grad()
                fixed = sum(p.to_local().nbytes for p in case.model.parameters()) + sum(b.nbytes for b in case.model.buffers())
                fixed += sum(t.nbytes for t in case.batch)
                peaks: list[Any] = [None] * ranks
                dist.all_gather_object(peaks, peak_bytes(run, torch.device("cpu")) + fixed)
                ours = case_of(name, rank)
                try:
                    step = checkmate.compile(
                        ours.model, ours.loss_fn, ours.batch, min(peaks), shard=dist.group.WORLD, cache=folder, time_limit=5
                    )
                except (checkmate.InfeasibleError, checkmate.NoPlanError) as error:
                    say(rank, f"{name}: FSDP2 {reshard=} {checkpoint=} takes {min(peaks) / MIB:.1f} MiB; {error}")
                    continue
                pairs.append((f"{reshard=} {checkpoint=}", min(peaks), step.plan, run, planned(step, ours)))
        times: list[tuple[list[float], list[float]]] = [([], []) for _ in pairs]
        for _ in range(7):
            for (*_, theirs, ours_run), (their_times, our_times) in zip(pairs, times, strict=True):
                for run, seconds in ((theirs, their_times), (ours_run, our_times)):
                    dist.barrier()
                    begin = time.perf_counter()
                    run()
                    seconds.append(time.perf_counter() - begin)
        for (setting, peak, plan, *_), (their_times, our_times) in zip(pairs, times, strict=True):
            a, b = statistics.median(their_times[1:]), statistics.median(our_times[1:])
            say(
                rank,
                f"{name} on {ranks} ranks: FSDP2 {setting} {peak / MIB:.1f} MiB {1e3 * a:.0f} ms, ours {plan.peak / MIB:.1f} MiB "
                f"{1e3 * b:.0f} ms: {b / a:.2f} of its time",
            )


def networks(time_limit: float) -> None:
    """Costs of the plan, of the best one that gathers once, and of the best one that gathers anew for the backward pass."""
    device = checkmate.Accelerator(flops=4e14, bandwidth=2e12, memory="80GiB")
    with torch.device("meta"):
        model = llama_70b(layers=8)
    state, trace = traced(model, language_loss, batch_of(1), values=False)
    layout = Layout(64)
    program = lower(with_collectives(trace, layout, None, list(state.parameter_names)))
    for name, bandwidth in (("fast", 400e9), ("slow", 50e9), ("very slow", 5e9)):
        network = checkmate.Interconnect(latency=5e-6, bandwidth=bandwidth)
        once = {i for i, unit in enumerate(program.units) if isinstance(unit.node.target, Gather)}
        whole = graph_of(program, network, device, set())
        twice = gathered_twice(program)
        kinds = {
            "plan": whole,
            "gathered once": graph_of(program, network, device, once),
            "gathered twice": graph_of(
                twice, network, device, {i for i, unit in enumerate(twice.units) if isinstance(unit.node.target, Gather)}
            ),
        }
        for share in ("70%", "50%", "35%", "25%"):
            budget, shown = whole.parse_budget(share), []
            for kind, graph in kinds.items():
                try:
                    plan = checkmate.solve(graph, budget, time_limit=time_limit)
                    shown.append(f"{kind} {plan.cost / whole.keep_all_cost:.4f}")
                except checkmate.Error:
                    shown.append(f"{kind} -")
            print(f"{name}, {share}: {', '.join(shown)}", flush=True)


def graph_of(program: Program, network: Any, device: Any, once: set[int]) -> checkmate.Graph:
    costs = [UnitCost(cost_of(program, index, network, device)) for index in range(len(program.units))]
    return planning_graph(program, costs, "llama", cost_unit="ns", order="fixed", once=once)


def gathered_twice(program: Program) -> Program:
    """Each parameter that the backward pass reads is gathered anew for it, right before its first reader there."""
    storages = [replace(storage) for storage in program.storages]
    again: dict[int, int] = {}  # storage of the forward pass: that of the backward pass
    units = []
    for unit in program.units:
        reads = list(unit.reads)
        if unit.origin.phase == "backward":
            for position, storage in enumerate(reads):
                maker = storages[storage].unit
                if maker is None or not isinstance(program.units[maker].node.target, Gather):
                    continue
                if storage not in again:
                    for made in program.units[maker].makes:
                        again[made] = len(storages)
                        storages.append(Storage(f"{storages[made].name} again", storages[made].bytes, maker))
                    units.append(replace(program.units[maker], makes=[again[s] for s in program.units[maker].makes]))
                reads[position] = again[storage]
        units.append(replace(unit, reads=reads))
    for index, unit in enumerate(units):
        for storage in unit.makes:
            storages[storage].unit = index
    return replace(program, units=units, storages=storages)


def llama70b(ranks: Sequence[int]) -> None:
    with torch.device("meta"):
        model = llama_70b()
    estimate = checkmate.estimate(
        model,
        language_loss,
        batch_of(1),
        ranks=ranks,
        network=checkmate.Interconnect(latency=5e-6, bandwidth=50e9),
        accelerator=checkmate.Accelerator(flops=4e14, bandwidth=2e12, memory="70GiB"),
        state_per_parameter=12,
        time_limit=2.0,
    )
    print(estimate)
    print(f"{estimate.seconds:.0f} s, {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["hold", "beside", "networks", "llama70b"])
    parser.add_argument("--ranks", default="")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--time-limit", type=float, default=5.0)
    given = parser.parse_args()
    if given.what == "networks":
        networks(given.time_limit)
    elif given.what == "llama70b":
        llama70b([int(each) for each in (given.ranks or "64,256,1024").split(",")])
    else:
        work = {"hold": hold, "beside": beside}[given.what]
        started(work, int(given.ranks or 2), given.models.split(","))
    return 0


if __name__ == "__main__":
    sys.exit(main())
