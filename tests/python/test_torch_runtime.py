"""The runtime in C++: the same numbers as generated code, at planned addresses, whatever happens."""

from __future__ import annotations

import dataclasses
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import checkmate
from checkmate.torch import planning, runtime
from checkmate.torch.execution import GeneratedExecution, NativeExecution, planned_schedule
from checkmate.torch.step import Step

pytestmark = pytest.mark.skipif(
    os.environ.get(runtime.VARIABLE) == "python", reason=f"{runtime.VARIABLE}=python asks for tests without the runtime in C++"
)


class Words(nn.Module):
    """Embedding, attention, norms, dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(64, 32)
        self.layer = nn.TransformerEncoderLayer(32, 2, 64, dropout=0.1, batch_first=True)
        self.head = nn.Linear(32, 64)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.layer(self.words(ids)))  # type: ignore[no-any-return]


def images() -> tuple[nn.Module, Callable[..., Any], tuple[Any, ...]]:
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.Dropout(0.2),
        nn.Conv2d(8, 8, 3),
        nn.Flatten(),
        nn.Linear(1152, 4),
    )
    return model, lambda m, x, y: nn.functional.cross_entropy(m(x), y), (torch.randn(8, 3, 16, 16), torch.randint(4, (8,)))


def sentences() -> tuple[nn.Module, Callable[..., Any], tuple[Any, ...]]:
    return Words(), lambda m, x: nn.functional.cross_entropy(m(x).flatten(0, 1), x.flatten()), (torch.randint(64, (8, 16)),)


def sequences() -> tuple[nn.Module, Callable[..., Any], tuple[Any, ...]]:
    model = nn.LSTM(16, 16, num_layers=2)
    return model, lambda m, x: m(x)[0].square().mean(), (torch.randn(12, 4, 16),)


def arguments() -> tuple[nn.Module, Callable[..., Any], tuple[Any, ...]]:
    """Ops with a text, a flag, a type, a list of numbers, a number in the place of a tensor, and lists of tensors."""
    model = nn.Sequential(nn.Linear(16, 16), nn.GELU(approximate="tanh"), nn.Linear(16, 16))

    def loss_fn(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
        first, second = model(x).split(8, dim=1)
        joined = torch.cat([second * 2, first.double().float()], dim=1)[:, torch.arange(15, -1, -1)]
        padded = nn.functional.pad(joined, (1, 2), value=0.5).masked_fill(torch.ones(8, 19).tril(0).bool(), -1)
        return torch.logsumexp(padded, dim=[0, 1]) + joined.std(unbiased=False)

    return model, loss_fn, (torch.randn(8, 16),)


def layers(width: int = 64) -> tuple[nn.Module, Callable[..., Any], tuple[Any, ...]]:
    model = nn.Sequential(*(each for _ in range(6) for each in (nn.Linear(width, width), nn.Tanh())))
    return model, lambda m, x: m(x).square().mean(), (torch.randn(128, width),)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch.manual_seed(0)
    yield
    runtime.release_memory()


def native(step: Step) -> NativeExecution:
    execution = step._latest.execution
    assert isinstance(execution, NativeExecution)
    return execution


def state_of(model: nn.Module) -> list[torch.Tensor | None]:
    gradients = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
    return [*(t.detach().clone() for t in [*model.parameters(), *model.buffers()]), *gradients]


def same(first: list[torch.Tensor | None], second: list[torch.Tensor | None]) -> bool:
    return all(a is b or (a is not None and b is not None and torch.equal(a, b)) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(
    ("case", "budget"), [(images, "85%"), (sentences, "80%"), (sequences, None), (layers, "80%"), (arguments, None)]
)
def test_numbers_are_those_of_the_generated_function(case: Callable[[], Any], budget: str | None, tmp_path: Path) -> None:
    model, loss_fn, batch = case()
    step = checkmate.compile(model, loss_fn, batch, budget, time_limit=2, cache=tmp_path)
    compiled = step._latest
    generated = GeneratedExecution(planned_schedule(compiled.program, compiled.plan), compiled.plan)
    inputs = compiled.program.trace.signature.values(step._state, batch)
    saved = {name: value.clone() for name, value in model.state_dict().items()}
    seen = []
    for execution in (native(step), generated, native(step)):
        model.load_state_dict(saved)
        model.zero_grad()
        torch.manual_seed(3)
        loss, _ = execution(step._state, inputs)
        seen.append([loss.clone(), *state_of(model)])
    assert same(seen[0], seen[1])
    assert same(seen[0], seen[2])
    assert native(step).unplanned == 0


def test_no_op_of_a_model_runs_in_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(runtime, "_of_tensors", lambda target, *_: calls.append(target))
    for case in (images, sentences, layers, arguments):
        model, loss_fn, batch = case()
        checkmate.compile(model, loss_fn, batch, costs="flops", cache=tmp_path)
    assert not calls


@pytest.mark.parametrize("case", [images, sentences, layers])
def test_the_arena_fits_the_budget_and_is_all_that_is_used(case: Callable[[], Any], tmp_path: Path) -> None:
    model, loss_fn, batch = case()
    step = checkmate.compile(model, loss_fn, batch, "85%", time_limit=2, cache=tmp_path)
    addresses = native(step).addresses
    assert addresses is not None
    assert addresses.peak <= addresses.size
    assert addresses.total + step.graph.fixed_bytes <= step.plan.budget
    for _ in range(3):
        model.zero_grad()
        step(*batch)
        assert native(step).unplanned == 0


def test_estimated_costs_record_the_first_step(tmp_path: Path) -> None:
    model, loss_fn, batch = layers()
    step = checkmate.compile(model, loss_fn, batch, "70%", costs="flops", time_limit=2, cache=tmp_path)
    assert native(step).addresses is None
    first = step(*batch).clone()
    assert native(step).addresses is not None
    model.zero_grad()
    assert torch.equal(step(*batch), first)
    assert native(step).unplanned == 0


def test_gradients_are_added_up_as_eager_does(tmp_path: Path) -> None:
    model, loss_fn, batch = layers()
    step = checkmate.compile(model, loss_fn, batch, "80%", time_limit=2, cache=tmp_path)
    parts = [torch.randn_like(batch[0]) for _ in range(3)]
    for part in parts:
        loss_fn(model, part).backward()
    expected = [p.grad for p in model.parameters()]
    for _ in range(2):
        model.zero_grad()
        for part in parts:
            step(part)
            assert native(step).unplanned == 0
        assert same([p.grad for p in model.parameters()], expected)


def test_kept_tensors_are_never_overwritten(tmp_path: Path) -> None:
    model, _, batch = layers()
    step = checkmate.compile(model, lambda m, x: ((y := m(x)).square().mean(), y), batch, "80%", time_limit=2, cache=tmp_path)
    kept = []
    for _ in range(4):
        model.zero_grad()
        loss, output = step(*batch)
        tensors = [loss, output, *(p.grad for p in model.parameters() if p.grad is not None)]
        kept.append((tensors, [t.clone() for t in tensors], tensors[2].numpy(), tensors[2].numpy().copy()))
        step.release()
    for tensors, copies, array, copied in kept:
        assert all(torch.equal(a, b) for a, b in zip(tensors, copies, strict=True))
        assert (array == copied).all()


def test_an_op_that_raises_changes_nothing(tmp_path: Path) -> None:
    model, loss_fn, batch = sentences()
    step = checkmate.compile(model, loss_fn, batch, "80%", time_limit=2, cache=tmp_path)
    step(*batch)
    model.zero_grad()
    before = state_of(model)
    with pytest.raises(IndexError, match="index out of range"):
        step(torch.full_like(batch[0], 99))
    assert same(state_of(model), before)
    step(*batch)
    assert native(step).unplanned == 0


def test_ctrl_c_leaves_a_whole_step_or_none(tmp_path: Path) -> None:
    model, loss_fn, batch = layers(256)
    step = checkmate.compile(model, loss_fn, batch, cache=tmp_path)
    begin = time.perf_counter()
    step(*batch)
    seconds = time.perf_counter() - begin
    whole = state_of(model)
    model.zero_grad()
    none = state_of(model)
    moments = random.Random(1)
    for _ in range(10):
        model.zero_grad()
        signal.setitimer(signal.ITIMER_REAL, max(1e-6, moments.uniform(0, 40 * seconds)))
        previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
        try:
            for _ in range(200):
                model.zero_grad()
                step(*batch)
            pytest.fail("no signal came")
        except KeyboardInterrupt:
            pass
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)
        assert same(state_of(model), none) or same(state_of(model), whole) or _being_freed(model)
    model.zero_grad()
    step(*batch)
    assert same(state_of(model), whole)
    assert native(step).unplanned == 0


def _being_freed(model: nn.Module) -> bool:
    """zero_grad() of the loop was interrupted, not the step: the first ones are gone."""
    there = [p.grad is not None for p in model.parameters()]
    return there == sorted(there)


def test_two_steps_run_on_two_threads(tmp_path: Path) -> None:
    cases = [layers(), images()]
    steps, expected = [], []
    for model, loss_fn, batch in cases:
        model.eval()  # dropout of two threads draws from one generator
        steps.append(checkmate.compile(model, loss_fn, batch, "80%", time_limit=2, cache=tmp_path))
        steps[-1](*batch)
        expected.append(state_of(model))
    wrong: list[str] = []

    def train(number: int) -> None:
        model, _, batch = cases[number]
        for _ in range(20):
            model.zero_grad()
            steps[number](*batch)
            if not same(state_of(model), expected[number]) or native(steps[number]).unplanned:
                wrong.append(f"step {number}")

    threads = [threading.Thread(target=train, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_forked_child_trains_too(tmp_path: Path) -> None:
    model, loss_fn, batch = layers()
    step = checkmate.compile(model, loss_fn, batch, "80%", time_limit=2, cache=tmp_path)
    expected = step(*batch).clone()
    child = os.fork()
    if child == 0:
        torch.set_num_threads(1)
        signal.alarm(60)
        model.zero_grad()
        os._exit(0 if torch.equal(step(*batch), expected) else 1)
    model.zero_grad()
    assert torch.equal(step(*batch), expected)
    assert os.waitpid(child, 0)[1] == 0


def test_workers_of_a_data_loader_do_not_matter(tmp_path: Path) -> None:
    model, loss_fn, batch = layers()
    step = checkmate.compile(model, loss_fn, batch, "80%", time_limit=2, cache=tmp_path)
    data = torch.utils.data.TensorDataset(torch.randn(512, 64))
    loader = torch.utils.data.DataLoader(data, batch_size=128, num_workers=2)
    for (part,) in loader:
        model.zero_grad()
        ours = step(part)
        assert torch.equal(ours, loss_fn(model, part).detach())
        assert native(step).unplanned == 0


def test_shapes_and_models_share_one_arena(tmp_path: Path) -> None:
    extension = runtime._extension()
    assert extension is not None
    model, loss_fn, batch = layers()
    step = checkmate.compile(model, loss_fn, batch, time_limit=2, cache=tmp_path)
    for length in (128, 64, 96):
        model.zero_grad()
        step(torch.randn(length, 64))
    other, other_loss, other_batch = layers(32)
    model.zero_grad()
    checkmate.compile(other, other_loss, other_batch, time_limit=2, cache=tmp_path)(*other_batch)
    largest = step.prepare(batch).addresses
    assert largest is not None
    other.zero_grad()
    for length in (96, 128, 64):  # compiling returns what it took
        model.zero_grad()
        step(torch.randn(length, 64))
    assert extension.arena_memory() == largest.size
    model.zero_grad()
    step.release()
    assert extension.arena_memory() == 0
    assert step(*batch).isfinite()


def test_another_number_of_threads_records_again(tmp_path: Path) -> None:
    model, loss_fn, batch = images()
    model.eval()
    step = checkmate.compile(model, loss_fn, batch, "80%", time_limit=2, cache=tmp_path)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(threads + 1)
        for _ in range(3):
            model.zero_grad()
            step(*batch)
        assert native(step).unplanned == 0
    finally:
        torch.set_num_threads(threads)
    model.zero_grad()
    step(*batch)
    assert native(step).unplanned == 0


def test_resident_memory_is_what_is_planned(tmp_path: Path) -> None:
    model, loss_fn, _ = layers(256)
    batch = (torch.randn(4096, 256),)
    step = checkmate.compile(model, loss_fn, batch, "70%", time_limit=2, cache=tmp_path)
    seen = checkmate.verify(step, batch, repeats=1)
    assert seen.holds
    assert seen.resident is not None
    assert seen.arena is not None
    assert seen.arena <= seen.budget
    assert seen.resident <= 1.03 * seen.predicted_peak + (8 << 20)
    assert "resident memory" in str(seen)


@pytest.fixture
def unknown_extension() -> Iterator[None]:
    runtime._extension.cache_clear()
    yield
    runtime._extension.cache_clear()


@pytest.mark.usefixtures("unknown_extension")
def test_another_version_of_torch_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    minor = ".".join(torch.__version__.split(".")[:2])
    monkeypatch.setattr(torch, "__version__", "9.9.0")
    model, loss_fn, batch = layers()
    with pytest.warns(UserWarning, match=rf"torch 9\.9 \(it is built for torch {minor}\): plans run as Python"):
        step = checkmate.compile(model, loss_fn, batch, "80%", time_limit=2, cache=tmp_path)
    assert isinstance(step._latest.execution, GeneratedExecution)
    assert checkmate.verify(step, batch, repeats=1).holds


@pytest.mark.usefixtures("unknown_extension")
def test_the_environment_chooses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model, loss_fn, batch = layers()
    monkeypatch.setenv(runtime.VARIABLE, "python")
    step = checkmate.compile(model, loss_fn, batch, cache=tmp_path)
    assert isinstance(step._latest.execution, GeneratedExecution)
    assert "def run(inputs):" in step.source
    runtime._extension.cache_clear()
    monkeypatch.setenv(runtime.VARIABLE, "rust")
    with pytest.raises(checkmate.Error, match=r"CHECKMATE_RUNTIME must be c\+\+ or python, got 'rust'"):
        checkmate.compile(model, loss_fn, batch, cache=tmp_path)


def test_an_arena_that_is_larger_than_the_budget_is_told() -> None:
    model, loss_fn, batch = images()
    prepared = checkmate.compile(model, loss_fn, batch).prepare(batch)
    extension, planned, addresses = runtime._extension(), planned_schedule(prepared.program, prepared.plan), prepared.addresses
    assert addresses is not None
    NativeExecution(extension, planned, addresses, addresses.total)
    with pytest.warns(UserWarning, match=r"take .* with \d+ threads, 1.0 KiB more than the budget"):
        NativeExecution(extension, planned, addresses, addresses.total - 1024)


def test_a_second_start_goes_to_the_plan_whose_layout_fits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plan_addresses, peaks = planning.plan_addresses, list[int]()

    def tight(program: Any, plan: checkmate.Plan, costs: Any, room: int, *seconds: float) -> Any:
        """There is a layout only for plans whose peak is some percent below that of the first."""
        peaks.append(plan.peak)
        addresses = plan_addresses(program, plan, costs, room, *seconds)
        assert addresses is not None
        return addresses if plan.peak < 0.95 * peaks[0] else dataclasses.replace(addresses, size=room + room // 50)

    monkeypatch.setattr(planning, "plan_addresses", tight)
    model, loss_fn, batch = layers()
    first = checkmate.compile(model, loss_fn, batch, "90%", time_limit=2, cache=tmp_path)
    tried = len(peaks)
    assert tried > 2
    again = checkmate.compile(model, loss_fn, batch, "90%", time_limit=2, cache=tmp_path)
    assert peaks[tried:] == [peaks[0], peaks[tried - 1]]
    assert again.plan.steps == first.plan.steps
