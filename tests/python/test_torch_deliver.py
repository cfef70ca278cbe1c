"""A loss that delivers its gradients in backward(), bit by bit as eager's does."""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import checkmate
import networks
import ranks_deliver
from checkmate.torch import Step
from checkmate.torch.delivery import HeldGradients
from checkmate.torch.execution import NativeExecution
from networks import Case
from ranks import results_of_ranks

Loop = Callable[[Callable[..., Any], Case], None]


@pytest.fixture
def case() -> Case:
    return networks.conv_net()  # with buffers and dropout


def twin(case: Case) -> Case:
    return Case(copy.deepcopy(case.model), case.loss_fn, case.batch)


def eager(case: Case) -> Callable[..., Any]:
    return lambda *batch: case.loss_fn(case.model, *batch)


def held_step(case: Case, cache: Path, budget: str | None = "80%", **options: Any) -> Step:
    return checkmate.compile(
        case.model, case.loss_fn, case.batch, budget, deliver="backward", cache=cache, time_limit=3, **options
    )


def gradients(model: nn.Module) -> list[torch.Tensor]:
    return [p.grad.clone() for p in model.parameters() if p.grad is not None]


def same(first: list[torch.Tensor], second: list[torch.Tensor]) -> bool:
    return len(first) == len(second) and all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def after(loop: Loop, step: Callable[..., Any], case: Case) -> list[torch.Tensor]:
    """What the model is after the loop: gradients, parameters, buffers."""
    torch.manual_seed(1)
    loop(step, case)
    return [*gradients(case.model), *(t.detach().clone() for t in [*case.model.parameters(), *case.model.buffers()])]


def plainly(step: Callable[..., Any], case: Case) -> None:
    optimizer = torch.optim.Adam(case.model.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        step(*case.batch).backward()
        optimizer.step()


def scaled(step: Callable[..., Any], case: Case) -> None:
    optimizer, scaler = torch.optim.Adam(case.model.parameters()), torch.amp.GradScaler("cpu", growth_interval=2)
    for _ in range(3):
        optimizer.zero_grad()
        scaler.scale(step(*case.batch)).backward()
        scaler.step(optimizer)
        scaler.update()


def accumulated(step: Callable[..., Any], case: Case) -> None:
    for _ in range(4):
        (step(*case.batch) / 4).backward()


def summed(step: Callable[..., Any], case: Case) -> None:
    (step(*case.batch) * 2 + step(*case.batch)).backward()


def several_times(step: Callable[..., Any], case: Case) -> None:
    loss = step(*case.batch)
    loss.backward(retain_graph=True)
    (loss * 2).backward(retain_graph=True)
    loss.backward()


@pytest.mark.parametrize("loop", [plainly, scaled, accumulated, summed, several_times], ids=lambda loop: loop.__name__)
def test_a_loop_gives_the_same_bits_as_eager(loop: Loop, case: Case, cache: Path) -> None:
    other = twin(case)
    assert same(after(loop, held_step(case, cache), case), after(loop, eager(other), other))


def test_gradients_are_those_that_are_delivered_at_once(cache: Path) -> None:
    case = networks.perceptron()
    step = held_step(case, cache)
    step(*case.batch).backward()
    ours = gradients(case.model)
    case.model.zero_grad()
    checkmate.compile(case.model, case.loss_fn, case.batch, "80%", cache=cache)(*case.batch)
    assert same(ours, gradients(case.model))


def test_generated_code_holds_them_too(case: Case, cache: Path) -> None:
    step, other = held_step(case, cache), twin(case)
    generated = step.prepare(case.batch).generated()
    ours = after(plainly, lambda *batch: step.execute(generated, batch), case)
    assert same(ours, after(plainly, eager(other), other))


def test_other_factors_than_powers_of_two_are_right_up_to_rounding(cache: Path) -> None:
    case = networks.gpt2()
    case.model.eval()  # no dropout
    other, factor = twin(case), 1 / 3
    step = held_step(case, cache, None)
    step(*case.batch).backward()
    whole = gradients(case.model)
    case.model.zero_grad()
    (step(*case.batch) * factor).backward()
    (eager(other)(*case.batch) * factor).backward()
    assert same(gradients(case.model), [g * factor for g in whole])  # after the backward pass
    for ours, theirs in zip(gradients(case.model), gradients(other.model), strict=True):
        torch.testing.assert_close(ours, theirs)  # before it


def test_nothing_is_in_grad_until_backward_and_buffers_are_updated_at_once(case: Case, cache: Path) -> None:
    other = twin(case)
    step = held_step(case, cache)
    loss, theirs = (run(*case.batch) for run in (step, eager(other)) if torch.manual_seed(1))
    assert torch.equal(loss, theirs)
    assert gradients(case.model) == []
    assert same(list(case.model.buffers()), list(other.model.buffers()))
    before = [b.clone() for b in case.model.buffers()]
    loss.backward()
    assert same(list(case.model.buffers()), before)
    assert loss.requires_grad
    assert not loss.is_leaf


def test_a_second_backward_is_refused_as_torch_does_and_delivers_nothing(cache: Path) -> None:
    case = networks.perceptron()
    loss = held_step(case, cache)(*case.batch)
    loss.backward()
    once = gradients(case.model)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        loss.backward()
    assert same(gradients(case.model), once)


def test_a_loss_that_is_dropped_leaves_no_gradient_and_frees_its_memory(cache: Path) -> None:
    case = networks.perceptron()
    step = held_step(case, cache)
    gc.disable()  # it goes by itself
    try:
        loss = step(*case.batch)
        assert len(step._held) == 1
        del loss
        assert len(step._held) == 0
    finally:
        gc.enable()
    assert gradients(case.model) == []
    step(*case.batch)
    assert_in_the_arena(step)


def assert_in_the_arena(step: Step) -> None:
    """The latest step found its places free."""
    execution = step._latest.execution
    assert not isinstance(execution, NativeExecution) or execution.unplanned == 0


def test_gradients_are_handed_over_without_a_copy(cache: Path) -> None:
    case = networks.perceptron()
    step = held_step(case, cache)
    for factor in (1, 3):
        case.model.zero_grad()
        loss = step(*case.batch) * factor
        (held,) = step._held
        places = {gradient.data_ptr() for gradient in held._gradients or []}
        assert checkmate.torch.peak_bytes(loss.backward, torch.device("cpu")) < 64  # a few numbers
        assert {p.grad.data_ptr() for p in case.model.parameters() if p.grad is not None} == places
        assert held._gradients is None
        del loss, held


def test_steps_find_their_arena_free_whatever_earlier_ones_left_in_it(cache: Path) -> None:
    case = networks.perceptron()
    step = held_step(case, cache)
    first = step(*case.batch)  # held
    second = step(*case.batch)
    assert_in_the_arena(step)
    second.backward()  # in .grad
    once = gradients(case.model)
    third = step(*case.batch)
    assert_in_the_arena(step)
    assert same(gradients(case.model), once)  # a step adds to nothing by itself
    first.backward()
    assert same(gradients(case.model), [2 * gradient for gradient in once])
    del third


def test_existing_gradients_count_as_resident_and_the_budget_holds(cache: Path) -> None:
    case = networks.perceptron()
    step = held_step(case, cache)
    fresh = step.graph.fixed_bytes
    assert checkmate.verify(step, case.batch, repeats=1).holds
    step(*case.batch).backward()
    step(*case.batch)
    # Six layers of 64 x 64 weights and 64 biases, 4 bytes each.
    assert step.graph.fixed_bytes == fresh + 6 * (64 * 64 + 64) * 4
    seen = checkmate.verify(step, case.batch, repeats=1)
    assert seen.holds
    assert seen.from_eager is not None
    assert seen.from_eager.none


def hooked(model: nn.Module) -> list[str]:
    """What the hooks of the parameters are called with."""
    seen: list[str] = []
    for name, parameter in model.named_parameters():

        def twice(gradient: torch.Tensor, name: str = name) -> torch.Tensor:
            seen.append(f"{name}: {gradient.sum():.6g}")
            return gradient * 2

        parameter.register_hook(twice)
        parameter.register_post_accumulate_grad_hook(lambda p, name=name: seen.append(f"{name} has {p.grad.sum():.6g}"))
    return seen


def test_hooks_of_parameters_run(cache: Path) -> None:
    case = networks.perceptron()
    other = twin(case)
    seen, expected = hooked(case.model), hooked(other.model)
    step = held_step(case, cache)
    for run in (step, eager(other)):
        (run(*case.batch) / 2).backward()
    assert sorted(seen) == sorted(expected)
    assert len(seen) == 2 * 12
    assert same(gradients(case.model), gradients(other.model))


def test_an_optimizer_in_hooks_steps_as_in_eager(cache: Path) -> None:
    def in_hooks(step: Callable[..., Any], case: Case) -> None:
        for parameter in case.model.parameters():
            optimizer = torch.optim.SGD([parameter], lr=0.1)
            for call in (optimizer.step, optimizer.zero_grad):
                parameter.register_post_accumulate_grad_hook(lambda _, call=call: call())
        for _ in range(3):
            step(*case.batch).backward()

    case = networks.perceptron()
    other = twin(case)
    assert same(after(in_hooks, held_step(case, cache), case), after(in_hooks, eager(other), other))


@pytest.mark.parametrize("deliver", ["now", "backward"])
@pytest.mark.parametrize("names", [("words", "places"), ("places", "words")], ids=lambda names: f"{names[0]} first")
def test_sparse_gradients_and_parameters_without_one(names: tuple[str, str], deliver: str, cache: Path) -> None:
    class Words(nn.Module):
        words: nn.Embedding
        places: nn.Parameter

        def __init__(self) -> None:
            super().__init__()
            for name in names:
                setattr(self, name, nn.Embedding(30, 8, sparse=True) if name == "words" else nn.Parameter(torch.ones(6, 8)))
            self.frozen, self.unused = nn.Linear(8, 8).requires_grad_(False), nn.Linear(8, 8)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.frozen(self.words(ids) + self.places)  # one gradient for both

    case = Case(Words(), networks.squared, (torch.randint(30, (6,)),))
    other = twin(case)
    step = checkmate.compile(*case[:2], case.batch, deliver=deliver, cache=cache)
    for _ in range(2):
        loss = step(*case.batch)
        if deliver == "backward":
            (loss * 4).backward()
        (eager(other)(*case.batch) * (4 if deliver == "backward" else 1)).backward()
    for ours, theirs in zip(case.model.parameters(), other.model.parameters(), strict=True):
        assert (ours.grad is None) == (theirs.grad is None)
        if ours.grad is not None and theirs.grad is not None:
            assert ours.grad.layout == theirs.grad.layout
            assert torch.equal(ours.grad.to_dense(), theirs.grad.to_dense())


def test_the_loss_has_history_wherever_it_is_and_what_is_beside_it_has_none(cache: Path) -> None:
    def mapping(model: nn.Module, x: torch.Tensor) -> dict[str, torch.Tensor]:
        out = model(x)
        return {"out": out, "loss": out.square().mean()[None]}

    case = networks.perceptron()
    x = case.batch[0]
    for loss_fn, loss_of in ((mapping, lambda r: r["loss"]), (lambda m, x: tuple(mapping(m, x).values())[::-1], lambda r: r[0])):
        case.model.zero_grad()
        step = held_step(Case(case.model, loss_fn, (x,)), cache)
        returned = step(x)
        assert type(returned) is type(loss_fn(case.model, x))
        assert loss_of(returned).shape == (1,)
        assert [t.requires_grad for t in (returned.values() if isinstance(returned, dict) else returned)].count(True) == 1
        loss_of(returned).backward()
        ours = gradients(case.model)
        case.model.zero_grad()
        loss_of(loss_fn(case.model, x)).backward()
        assert same(ours, gradients(case.model))


def test_without_gradients_the_loss_function_runs_as_it_is(case: Case, cache: Path) -> None:
    step = held_step(case, cache)
    case.model.eval()
    with torch.no_grad():
        loss = step(case.batch[0][:3], case.batch[1][:3])
    assert torch.equal(loss, case.loss_fn(case.model, case.batch[0][:3], case.batch[1][:3]))
    assert not loss.requires_grad
    assert len(step._compiled) == 1  # nothing was planned for it
    other = twin(case)
    step(*case.batch).backward()  # in evaluation mode, but for training
    eager(other)(*case.batch).backward()
    assert same(gradients(case.model), gradients(other.model))


def test_gradients_can_be_asked_for_without_being_accumulated(cache: Path) -> None:
    case = networks.perceptron()
    step, parameters = held_step(case, cache), list(case.model.parameters())
    ours = torch.autograd.grad(step(*case.batch), parameters)
    assert same(list(ours), list(torch.autograd.grad(eager(case)(*case.batch), parameters)))
    assert gradients(case.model) == []
    step(*case.batch).backward(inputs=parameters[:1])
    assert same(gradients(case.model), [ours[0]])


def test_gradients_of_gradients_are_refused(cache: Path) -> None:
    case = networks.perceptron()
    with pytest.raises(checkmate.Error, match="leave out create_graph=True"):
        held_step(case, cache)(*case.batch).backward(create_graph=True)


def test_refuses_what_it_does_not_know_and_an_optimizer_in_the_step(cache: Path) -> None:
    case = networks.perceptron()
    with pytest.raises(checkmate.Error, match='deliver must be "now" or "backward", got \'later\''):
        checkmate.compile(case.model, case.loss_fn, case.batch, deliver="later", cache=cache)
    with pytest.raises(checkmate.Error, match='deliver="backward" leaves no gradients for an optimizer in the step'):
        held_step(case, cache, optimizer=torch.optim.SGD(case.model.parameters()))


def test_losses_of_two_models_deliver_to_each(cache: Path) -> None:
    first, second = networks.perceptron(), networks.conv_net()
    others = [twin(first), twin(second)]
    for runs in ([held_step(first, cache), held_step(second, cache)], [eager(other) for other in others]):
        torch.manual_seed(1)
        (runs[0](*first.batch) + runs[1](*second.batch)).backward()
    for ours, theirs in zip((first, second), others, strict=True):
        assert same(gradients(ours.model), gradients(theirs.model))


def test_held_gradients_need_no_loss_to_be_known() -> None:
    held = HeldGradients([torch.ones(3)], lambda: None)
    assert torch.equal(held.times(torch.tensor(2.0), keep=True)[0], torch.full((3,), 2.0))
    assert torch.equal(held.times(torch.tensor(4.0), keep=False)[0], torch.full((3,), 4.0))


def test_ranks_average_once_after_the_backward_pass(tmp_path: Path) -> None:
    (ours, theirs, twice), (other, _, _) = results_of_ranks(ranks_deliver.ours_and_theirs, tmp_path)
    for mine, plain in zip(ours, theirs, strict=True):
        assert same(mine, plain)
    local, both, single = (same(mine, neighbour) for mine, neighbour in zip(ours, other, strict=True))
    assert (local, both, single) == (False, True, True)
    assert same(twice, [2 * gradient for gradient in ours[2]])
