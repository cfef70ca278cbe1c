"""torch.compile(backend="checkmate"): eager's numbers within the budget, whatever the loop around the model does."""

from __future__ import annotations

import copy
import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import checkmate
from checkmate.torch import peak_bytes
from checkmate.torch.backend import entry
from checkmate.torch.planning_graph import fingerprint
from checkmate.torch.runtime import _extension, release_memory

in_cpp = pytest.mark.skipif(_extension() is None, reason="needs the runtime in C++")
CPU = torch.device("cpu")


class Net(nn.Module):
    """What changes in a forward pass: dropout, batch norm."""

    def __init__(self, layers: int = 6) -> None:
        super().__init__()
        self.first = nn.Linear(32, 64)
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.GELU()) for _ in range(layers))
        self.dropout = nn.Dropout(0.2)
        self.last = nn.Linear(64, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        for layer in self.layers:
            x = self.dropout(layer(x))
        return self.last(x)


class Broken(Net):
    """What Dynamo takes as four graphs."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.layers[1](self.layers[0](self.first(x)))
        torch._dynamo.graph_break()
        x = self.dropout(self.layers[3](self.layers[2](x)))
        torch._dynamo.graph_break()
        x = self.layers[5](self.layers[4](x))
        torch._dynamo.graph_break()
        return self.last(self.dropout(x))


Wrapped = Callable[..., Any]


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    forget()
    yield
    forget()


def forget() -> None:
    torch._dynamo.reset()
    entry.reset()


def batch(size: int = 256) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(size, 32), torch.randint(8, (size,))


def entropy(scores: torch.Tensor, classes: torch.Tensor) -> Any:
    return nn.functional.cross_entropy(scores, classes)


def compiled(model: nn.Module, budget: str | int, folder: Path, **options: Any) -> Wrapped:
    wrapped: Wrapped = checkmate.wrap(model, budget, time_limit=2, cache=folder, **options)
    return wrapped


def pair(folder: Path, budget: str | int = "75%", model: nn.Module | None = None, **options: Any) -> tuple[Any, Any, Wrapped]:
    """Twins, and one of them within a budget."""
    torch.manual_seed(0)
    model = model or Net()
    twin = copy.deepcopy(model)
    return model, twin, compiled(twin, budget, folder, **options)


def trained(model: nn.Module, call: Wrapped, loss_of: Callable[[Wrapped, int], Any], steps: int = 5) -> list[torch.Tensor]:
    torch.manual_seed(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(steps):
        optimizer.zero_grad()
        loss_of(call, step).backward()
        optimizer.step()
    return [t.detach().clone() for t in (*model.parameters(), *model.buffers())]


def assert_same(first: list[torch.Tensor], second: list[torch.Tensor]) -> None:
    assert len(first) == len(second)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def outer_loss(data: list[tuple[torch.Tensor, torch.Tensor]]) -> Callable[[Wrapped, int], Any]:
    def loss(call: Wrapped, step: int) -> Any:
        x, y = data[step % len(data)]
        return entropy(call(x), y)

    return loss


def test_a_loop_trains_as_in_eager_mode(tmp_path: Path) -> None:
    model, twin, call = pair(tmp_path)
    loss = outer_loss([batch() for _ in range(5)])
    assert_same(trained(model, model, loss), trained(twin, call, loss))
    (graph,) = entry.planned_graphs()
    assert graph.passes.planned.plan.recomputed
    assert graph.demand.outside > 0  # the loss was measured, and there is room for it


def step_of(call: Wrapped, x: torch.Tensor, y: torch.Tensor) -> Callable[[], None]:
    return lambda: entropy(call(x), y).backward()


@in_cpp
def test_the_peak_is_within_the_budget_with_what_the_loop_takes(tmp_path: Path) -> None:
    model, twin, call = pair(tmp_path)
    x, y = batch()
    for _ in range(2):
        step_of(call, x, y)()
        twin.zero_grad()
    (graph,) = entry.planned_graphs()
    plan, fixed = graph.passes.planned.plan, graph.passes.planned.graph
    measured = peak_bytes(step_of(call, x, y), CPU)
    assert plan.peak - fixed.fixed_bytes <= measured + graph.demand.outside
    assert measured <= plan.budget - fixed.fixed_bytes + graph.demand.reserve
    twin.zero_grad()
    assert measured < 0.9 * peak_bytes(step_of(model, x, y), CPU)


def test_fused_kernels_draw_the_same_numbers(tmp_path: Path) -> None:
    model, twin, call = pair(tmp_path, "90%", kernels="fused")
    x, y = batch()
    for each, run in ((model, model), (twin, call)):
        torch.manual_seed(1)
        step_of(run, x, y)()
        assert each.first.weight.grad is not None
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-3, atol=1e-5)
    (graph,) = entry.planned_graphs()
    assert any("fused(" in op.kind for op in graph.passes.planned.graph.ops)


def test_gradients_are_added_to_those_that_are_there(tmp_path: Path) -> None:
    model, twin, call = pair(tmp_path)
    data = [batch() for _ in range(4)]
    for each, run in ((model, model), (twin, call)):
        torch.manual_seed(1)
        for x, y in data:
            (entropy(run(x), y) / 3).backward()
        assert each.last.weight.grad is not None
    assert_same(
        [p.grad for p in model.parameters() if p.grad is not None], [p.grad for p in twin.parameters() if p.grad is not None]
    )


def test_a_scaled_loss_scales_gradients_as_in_eager_mode(tmp_path: Path) -> None:
    model, twin, call = pair(tmp_path)
    x, y = batch()
    for each, run in ((model, model), (twin, call)):
        torch.manual_seed(1)
        scaler = torch.amp.GradScaler("cpu", init_scale=1000.0)
        optimizer = torch.optim.SGD(each.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            scaler.scale(entropy(run(x), y)).backward()
            scaler.step(optimizer)
            scaler.update()
    assert_same(list(model.parameters()), list(twin.parameters()))


def test_autocast_around_the_model(tmp_path: Path) -> None:
    model, twin, call = pair(tmp_path, "90%")
    data = outer_loss([batch() for _ in range(3)])

    def loss(run: Wrapped, step: int) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            return data(run, step)

    assert_same(trained(model, model, loss), trained(twin, call, loss))


class Pictures(nn.Module):
    """Ops that AOTAutograd takes apart by default. Rows of 32 numbers fill the registers of every processor (docs/limits.md)."""

    def __init__(self) -> None:
        super().__init__()
        self.larger = nn.Upsample(scale_factor=2, mode="bicubic")
        self.rows = nn.GRU(32, 32, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        larger = self.larger(x.view(-1, 1, 4, 16))
        return nn.functional.dropout(self.rows(larger.flatten(1, 2))[0], 0.3).matmul(larger.flatten(1, 2).mT).mean((1, 2))


def test_ops_are_eagers_own(tmp_path: Path) -> None:
    model, twin, call = pair(tmp_path, "64MiB", Pictures())
    x = torch.randn(32, 64)
    assert_same(
        trained(model, model, lambda call, _: call(x).square().mean()),
        trained(twin, call, lambda call, _: call(x).square().mean()),
    )


@in_cpp
def test_what_no_graph_reads_is_in_the_budget(tmp_path: Path) -> None:
    model = Net()
    model.register_buffer("unread", torch.zeros(1 << 14))
    call = compiled(model, "70%", tmp_path)
    x, y = batch()
    for _ in range(3):
        model.zero_grad()
        measured = peak_bytes(step_of(call, x, y), CPU)
    (graph,) = entry.planned_graphs()
    fixed = sum(t.nbytes for t in (*model.parameters(), *model.buffers(), x))
    assert graph.passes.planned.plan.recomputed
    assert fixed + measured <= graph.passes.planned.plan.budget


def test_recurrent_layers_are_planned(tmp_path: Path) -> None:
    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.LSTM(32, 32, batch_first=True) for _ in range(3))
            self.last = nn.Linear(32, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                x = layer(x)[0].tanh()
            return self.last(x[:, -1])

    model, twin, call = pair(tmp_path, "90%", Recurrent())
    loss = outer_loss([(torch.randn(16, 12, 32), torch.randint(8, (16,)))])
    assert_same(trained(model, model, loss), trained(twin, call, loss))
    assert len(entry.planned_graphs()) == 1


def test_other_shapes_have_plans_of_their_own(tmp_path: Path) -> None:
    model, twin, call = pair(tmp_path)
    loss = outer_loss([batch(size) for size in (256, 192, 128, 256, 64)])
    assert_same(trained(model, model, loss, 12), trained(twin, call, loss, 12))
    # Dynamo compiles the first size alone, and then all of them: costs and plans of the first are found again.
    assert len({fingerprint(graph.passes.planned.program) for graph in entry.planned_graphs()}) == 4


def test_another_model_has_a_share_of_its_own(tmp_path: Path) -> None:
    x, y = batch()
    models = [Net(layers=2), Net(layers=12)]
    calls = [compiled(model, "80%", tmp_path) for model in models]
    for number, size in ((0, 256), (1, 256), (0, 256), (1, 256), (0, 64), (0, 64)):
        step_of(calls[number], x[:size], y[:size])()
        models[number].zero_grad()
    first, second = sorted({graph.passes.planned.plan.budget for graph in entry.planned_graphs()})
    assert len(entry.planned_graphs()) == 3  # the smaller batch has as many bytes as the first
    assert second > 2 * first  # 14 layers and 4: with a share of the first, the second would not fit


def test_dropout_of_what_is_not_contiguous(tmp_path: Path) -> None:
    class Transposed(Net):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(nn.functional.dropout(x.t(), 0.3).t())

    model, twin, call = pair(tmp_path, model=Transposed())
    loss = outer_loss([batch()])
    assert_same(trained(model, model, loss), trained(twin, call, loss))


class Scaled(Net):
    """What takes a number of Python's."""

    def forward(self, x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        return super().forward(x * scale)


def test_a_number_may_have_some_values(tmp_path: Path) -> None:
    model, twin, call = pair(tmp_path, model=Scaled())
    x, y = batch()
    scales = (0.5, 0.25, 0.75, 0.25)
    assert_same(
        trained(model, model, lambda call, step: entropy(call(x, scales[step % 4]), y), 8),
        trained(twin, call, lambda call, step: entropy(call(x, scales[step % 4]), y), 8),
    )


def test_a_number_that_always_changes_is_to_be_a_tensor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry, "MAX_NUMBERS", 3)
    _, _, call = pair(tmp_path, model=Scaled(layers=1))
    x, y = batch()
    for step in range(4):  # Dynamo compiles the first value alone
        entropy(call(x, 1 / (step + 2)), y).backward()
    with pytest.raises(checkmate.Error, match=r"4 values of a Python float.*pass it as a tensor"):
        call(x, 1 / 7)


def test_experts_of_transformers(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="its experts are what is tested")
    sizes = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_local_experts": 4}
    config = transformers.MixtralConfig(**sizes, num_attention_heads=2, num_key_value_heads=2, use_cache=False)
    model, twin, call = pair(tmp_path, model=transformers.MixtralForCausalLM(config))
    ids = torch.randint(64, (2, 32))
    assert_same(
        trained(model, model, lambda call, _: call(ids, labels=ids).loss),
        trained(twin, call, lambda call, _: call(ids, labels=ids).loss),
    )


def test_graphs_of_a_broken_model_share_the_budget(tmp_path: Path) -> None:
    model, twin, call = pair(tmp_path, "85%", Broken())
    x, y = batch()
    loss = outer_loss([(x, y)])
    with pytest.warns(UserWarning, match="the step is 4 graphs, which share the budget; Dynamo broke the model apart"):
        ours = trained(twin, call, loss)
    assert_same(trained(model, model, loss), ours)
    graphs = entry.planned_graphs()
    assert len(graphs) == 4
    model.zero_grad()
    twin.zero_grad()
    measured = peak_bytes(step_of(call, x, y), CPU)
    held = sum(t.nbytes for t in (*twin.parameters(), *twin.buffers(), x, y))
    (budget,) = {graph.passes.planned.plan.budget for graph in graphs}
    assert measured + held <= budget
    assert measured < peak_bytes(step_of(model, x, y), CPU)


@in_cpp
def test_what_a_loop_takes_between_two_graphs_is_left_to_it(tmp_path: Path) -> None:
    @torch._dynamo.disable  # type: ignore[untyped-decorator]
    def scratch() -> None:
        torch.zeros(300, 1024)  # 1.2 MB, which are gone before the second graph begins

    class Scratching(Net):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.first(x)
            for layer in self.layers:
                x = self.dropout(layer(x))
            scratch()
            return self.last(x.tanh())

    _, twin, call = pair(tmp_path, "80%", Scratching(12))
    x, y = batch()
    with pytest.warns(UserWarning, match="2 graphs"):
        trained(twin, call, outer_loss([(x, y)]))
    twin.zero_grad()
    measured = peak_bytes(step_of(call, x, y), CPU)
    held = sum(t.nbytes for t in (*twin.parameters(), *twin.buffers(), x, y))
    (budget,) = {graph.passes.planned.plan.budget for graph in entry.planned_graphs()}
    assert measured + held <= budget


def test_graphs_that_keep_little_but_what_they_hand_over(tmp_path: Path) -> None:
    class Cut(nn.Sequential):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self[0](x)
            torch._dynamo.graph_break()
            x = self[1](x)
            torch._dynamo.graph_break()
            return self[2](x)

    model, twin, call = pair(tmp_path, "4MiB", Cut(*(nn.Sequential(nn.Linear(64, 64), nn.Tanh()) for _ in range(3))))
    x = torch.randn(512, 64)
    with pytest.warns(UserWarning, match="3 graphs"):
        given = trained(twin, call, lambda call, _: call(x).square().mean())
    assert_same(trained(model, model, lambda call, _: call(x).square().mean()), given)


@in_cpp
def test_a_part_whose_results_are_not_differentiated_counts(tmp_path: Path) -> None:
    class Routed(Broken):
        """As in attention that first looks for the blocks which matter: the way there has no gradient."""

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            chosen = self.layers[0](self.first(x)).sum(1)
            torch._dynamo.graph_break()
            return super().forward(x * (chosen > 0).to(x.dtype).unsqueeze(1))

    model, twin, call = pair(tmp_path, "80%", Routed())
    x, y = batch()
    loss = outer_loss([(x, y)])
    with pytest.warns(UserWarning, match="the step is 5 graphs"):
        ours = trained(twin, call, loss)
    assert_same(trained(model, model, loss), ours)
    (budget,) = {graph.passes.planned.plan.budget for graph in entry.planned_graphs()}  # of the whole step
    twin.zero_grad()
    measured = peak_bytes(step_of(call, x, y), CPU)
    held = sum(t.nbytes for t in (*twin.parameters(), *twin.buffers(), x, y))
    assert measured + held <= budget


@in_cpp
def test_a_graph_may_run_for_several_layers(tmp_path: Path) -> None:
    """Dynamo gives up on a loop with a break inside, and takes each layer by itself: one graph, with other parameters each time.
    Gradients of the layers behind are there while a layer runs backward."""

    class Layer(nn.Sequential):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for each in self:
                x = each(x)
            return x

    class Layered(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(Layer(nn.Linear(32, 128), nn.GELU(), nn.Linear(128, 32), nn.Tanh()) for _ in range(5))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                x = layer(x)
                torch._dynamo.graph_break()
            return x

    model, twin, call = pair(tmp_path, "85%", Layered())
    x = torch.randn(64, 32)

    def loss(call: Wrapped, _: int) -> Any:
        return call(x).square().mean()

    with pytest.warns(UserWarning, match="the step is 5 graphs"):
        ours = trained(twin, call, loss)
    assert_same(trained(model, model, loss), ours)
    graphs = entry.planned_graphs()
    assert len(graphs) == 2  # the first layer needs no gradient of its input
    (budget,) = {graph.passes.planned.plan.budget for graph in graphs}
    twin.zero_grad()
    measured = peak_bytes(lambda: loss(call, 0).backward(), CPU)
    held = sum(t.nbytes for t in (*twin.parameters(), x))
    assert measured + held <= budget


def test_a_share_is_one_of_the_whole_step(tmp_path: Path) -> None:
    """At which a graph alone would be infeasible."""

    class Small(nn.Sequential):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self[0](x)
            torch._dynamo.graph_break()
            for layer in list(self)[1:]:
                x = layer(x)
            return x

    layers = nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.Tanh()) for _ in range(8)))
    model, twin, call = pair(tmp_path, "75%", Small(nn.Linear(64, 64), *layers))
    x = torch.randn(512, 64)
    with pytest.raises(checkmate.InfeasibleError):
        checkmate.compile(nn.Linear(64, 64), lambda m, x: m(x).sum(), (x,), "75%")
    with pytest.warns(UserWarning, match="2 graphs"):
        ours = trained(twin, call, lambda call, _: call(x).square().mean())
    assert_same(trained(model, model, lambda call, _: call(x).square().mean()), ours)


def test_a_share_that_is_too_small_is_told_after_one_step(tmp_path: Path) -> None:
    _, twin, call = pair(tmp_path, "5%")
    step_of(call, *batch())()
    twin.zero_grad()
    with pytest.raises(checkmate.InfeasibleError, match="no plan fits"):
        step_of(call, *batch())()


def test_a_graph_may_be_kept_and_run_backward_again(tmp_path: Path) -> None:
    _, twin, call = pair(tmp_path)
    x, y = batch()
    loss = entropy(call(x), y)
    loss.backward(retain_graph=True)
    first = [p.grad.clone() for p in twin.parameters() if p.grad is not None]
    twin.zero_grad()
    loss.backward()
    assert_same(first, [p.grad for p in twin.parameters() if p.grad is not None])
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        loss.backward()


def test_writing_what_the_backward_pass_reads_is_an_error(tmp_path: Path) -> None:
    _, twin, call = pair(tmp_path)
    x, y = batch()
    loss = entropy(call(x), y)
    with torch.no_grad():
        twin.last.weight.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_evaluation_runs_without_a_plan(tmp_path: Path) -> None:
    model, twin, call = pair(tmp_path)
    x, _ = batch()
    model.eval()
    twin.eval()
    with torch.no_grad():
        assert torch.equal(model(x), call(x))
    assert not entry.planned_graphs()


@in_cpp
def test_a_loss_that_is_dropped_frees_what_was_kept(tmp_path: Path) -> None:
    gc.collect()
    release_memory()  # of other tests
    _, twin, call = pair(tmp_path)
    x, y = batch()
    step_of(call, x, y)()
    twin.zero_grad()
    for _ in range(3):
        entropy(call(x), y)
    gc.collect()
    (loop,) = entry._loops.values()
    assert not loop._waiting()
    extension = _extension()
    assert extension is not None
    assert extension.arena_memory() <= entry.planned_graphs()[0].passes.planned.plan.peak  # they ran in one arena


def test_two_models_in_one_step(tmp_path: Path) -> None:
    def train(generator: nn.Module, critic: nn.Module, generate: Wrapped, judge: Wrapped) -> list[torch.Tensor]:
        torch.manual_seed(1)
        optimizers = [torch.optim.SGD(each.parameters(), lr=0.05) for each in (generator, critic)]
        for _ in range(4):
            noise, real = torch.randn(64, 16), torch.randn(64, 16)
            optimizers[1].zero_grad()
            (judge(generate(noise).detach()).mean() - judge(real).mean()).backward()
            optimizers[1].step()
            optimizers[0].zero_grad()
            (-judge(generate(noise)).mean()).backward()
            optimizers[0].step()
        return [*generator.parameters(), *critic.parameters()]

    def networks() -> list[nn.Module]:
        torch.manual_seed(0)
        layers = [[nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 16)] for _ in range(2)]
        return [nn.Sequential(*each) for each in layers]

    eager, ours = networks(), networks()
    with pytest.warns(UserWarning, match="graphs, which share the budget"):
        found = train(*ours, *(compiled(each, "2MiB", tmp_path) for each in ours))
    assert_same(train(*eager, *eager), found)


def test_options_come_from_around_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = batch()
    with checkmate.options(budget="3MiB", cache=tmp_path):
        step_of(torch.compile(Net(), backend="checkmate"), x, y)()
    assert [graph.passes.planned.plan.budget for graph in entry.planned_graphs()] == [3 << 20]
    torch._dynamo.reset()
    monkeypatch.setenv("CHECKMATE_BUDGET", "4MiB")
    with checkmate.options(cache=tmp_path):
        step_of(torch.compile(Net(), backend="checkmate"), x, y)()
    assert 4 << 20 in [graph.passes.planned.plan.budget for graph in entry.planned_graphs()]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "needs a budget"),
        ({"budget": "1GiB", "bugdet": 1}, "no option 'bugdet'"),
        ({"budget": "1GiB", "kernels": "x"}, "kernels"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(Exception, match=told):
        step_of(torch.compile(Net(), backend="checkmate", options=options), *batch())()


def test_a_budget_that_is_too_small_tells_what_else_there_is(tmp_path: Path) -> None:
    _, twin, call = pair(tmp_path, "75%")
    x, y = batch()
    step_of(call, x, y)()
    (graph,) = entry.planned_graphs()
    twin.zero_grad()
    plan = graph.passes.planned.plan
    torch._dynamo.reset()
    call = compiled(twin, plan.peak, tmp_path)

    def larger_loop() -> None:
        loss = entropy(call(x), y)
        held = torch.ones(2_000_000)
        loss = loss * held.mean()
        loss.backward()

    larger_loop()
    with pytest.raises(checkmate.InfeasibleError, match="in addition to this graph, the loop takes"):
        larger_loop()


def test_the_name_needs_no_import() -> None:
    program = (
        "import sys, torch; model = torch.compile(torch.nn.Linear(4, 4), backend='checkmate', options={'budget': '1GiB'});"
        "model(torch.ones(2, 4)).sum().backward(); print('checkmate' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_plans_run_as_python_functions_too() -> None:
    program = (
        "import copy, torch, checkmate; torch.manual_seed(0);"
        "model = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU()) for _ in range(6)));"
        "twin = copy.deepcopy(model); x = torch.randn(512, 64);"
        "call = checkmate.wrap(twin, '70%', time_limit=2);"
        "[(each(x).square().mean().backward(), each(x).square().mean().backward()) for each in (model, call)];"
        "print(all(torch.equal(a.grad, b.grad) for a, b in zip(model.parameters(), twin.parameters())))"
    )
    environment = {**os.environ, "CHECKMATE_RUNTIME": "python"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.strip() == "True"
