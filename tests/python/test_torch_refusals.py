"""What cannot be done ends in a sentence that tells what to do, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import distribute_tensor

import checkmate
import networks


def refused(match: str, loss_fn: Callable[..., Any], batch: Any = None, model: nn.Module | None = None, **options: Any) -> None:
    model = model or networks.ConvNet()
    batch = (torch.randn(4, 3, 16, 16),) if batch is None else batch
    before = [t.clone() for t in [*model.parameters(), *model.buffers()] if t.device.type != "meta"]
    attributes = [set(module.__dict__) for module in model.modules()]
    random = torch.get_rng_state()
    with pytest.raises(checkmate.Error, match=match):
        checkmate.compile(model, loss_fn, batch, costs="flops", **options)
    after = [t for t in [*model.parameters(), *model.buffers()] if t.device.type != "meta"]
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    assert attributes == [set(module.__dict__) for module in model.modules()]
    assert all(p.grad is None for p in model.parameters())
    assert torch.equal(random, torch.get_rng_state())


def test_no_loss() -> None:
    refused("returned nothing and not a loss: return a scalar tensor", lambda _model, _x: None)
    refused("returned a dict and not a loss", lambda model, x: {"output": model(x).sum()})


def test_a_loss_with_many_elements() -> None:
    refused(r"shape \[4, 10\] and not one element: reduce it", lambda model, x: model(x))


def test_a_loss_without_parameters() -> None:
    refused("does not depend on any parameter", lambda _model, x: x.sum())
    refused("does not depend on any parameter", lambda model, x: model(x).sum().detach())


def test_nothing_to_train() -> None:
    refused(
        "no parameter that requires a gradient", lambda model, x: model(x).sum(), model=networks.ConvNet().requires_grad_(False)
    )
    refused("no parameter", lambda _model, x: x.sum(), model=nn.ReLU())


def test_a_decision_by_values() -> None:
    def loss_fn(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
        out = model(x)
        return out.sum() if out.sum() > 0 else out.mean()

    refused("branches on the values of tensors.*torch.where", loss_fn)


def test_a_shape_that_depends_on_values() -> None:
    refused("shape of a tensor depends on values.*mask", lambda model, x: model(x)[x[:, 0, 0, 0] > 0].sum())


def test_an_op_without_shapes() -> None:
    @torch.library.custom_op("checkmate_test::opaque", mutates_args=())
    def opaque(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    refused("cannot be captured", lambda model, x: model(opaque(x)).sum())


def test_two_devices() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4, device="meta"))
    refused(
        "parameter 0.weight is on cpu and parameter 1.weight is on meta: one plan is for one device",
        lambda m, x: m(x).sum(),
        (torch.ones(2, 4),),
        model,
    )


def test_a_model_of_another_loss() -> None:
    critic = nn.Linear(10, 1)
    refused("not a parameter of the model: put both into one torch.nn.Module", lambda model, x: critic(model(x)).mean())


def test_parameters_that_are_placed_otherwise_than_by_rows(tmp_path: Path) -> None:
    store = dist.FileStore(str(tmp_path / "store"), 1)  # type: ignore[attr-defined]
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        model = nn.Linear(4, 4)
        mesh = init_device_mesh("cpu", (1,))
        model.weight = nn.Parameter(distribute_tensor(model.weight.detach(), mesh))
        refused("parameter weight is placed as", networks.squared, (torch.ones(2, 4),), model)
    finally:
        dist.destroy_process_group()


def test_writing_into_the_batch() -> None:
    refused("writes into tensor 0 of the batch", lambda model, x: model(x.add_(1)).sum())


def test_a_batch_that_is_no_tuple() -> None:
    refused(r"a batch must be a tuple.*example=\(x,\)", lambda model, x: model(x).sum(), torch.ones(4, 3, 16, 16))


def test_a_batch_that_requires_a_gradient() -> None:
    refused("requires a gradient", lambda model, x: model(x).sum(), (torch.ones(4, 3, 16, 16, requires_grad=True),))


def test_costs_that_do_not_exist() -> None:
    with pytest.raises(checkmate.Error, match='costs must be "measured" or "flops"'):
        checkmate.compile(networks.ConvNet(), networks.squared, (torch.ones(1, 3, 8, 8),), costs="guessed")


def test_a_budget_that_is_too_small_names_the_least_bytes_and_the_op(cache: Path) -> None:
    case = networks.conv_net()
    with pytest.raises(checkmate.InfeasibleError, match=r"at least [0-9]+ bytes") as caught:
        checkmate.compile(case.model, case.loss_fn, case.batch, "1KiB", cache=cache)
    assert caught.value.op in str(caught.value)
    least = caught.value.needed
    with pytest.raises(checkmate.Error) as caught_above:
        checkmate.compile(case.model, case.loss_fn, case.batch, least - 1, cache=cache)
    enough = caught_above.value.sufficient  # type: ignore[attr-defined]
    assert f"{enough} bytes" in str(caught_above.value)


def test_compiling_leaves_everything_as_it_was(cache: Path) -> None:
    case = networks.conv_net()
    before = [t.clone() for t in [*case.model.parameters(), *case.model.buffers()]]
    random = torch.get_rng_state()
    checkmate.compile(case.model, case.loss_fn, case.batch, "90%", cache=cache)
    assert all(torch.equal(a, b) for a, b in zip(before, [*case.model.parameters(), *case.model.buffers()], strict=True))
    assert torch.equal(random, torch.get_rng_state())
    assert all(p.grad is None for p in case.model.parameters())


def test_a_failing_model_is_told_with_its_error() -> None:
    refused("same reduction dim", lambda model, x: model(x).sum(), (torch.ones(2, 5),), nn.Linear(4, 4))


def test_a_network_without_shards() -> None:
    with pytest.raises(checkmate.Error, match="pass shard= too"):
        checkmate.compile(nn.Linear(4, 4), networks.squared, (torch.ones(2, 4),), network=checkmate.Interconnect(1e-5, 1e9))
