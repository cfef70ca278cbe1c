"""Refusals of what cannot be planned, each with its remedy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from checkmate import Error
from checkmate.torch.errors import CaptureError


def checked_batch(batch: Any) -> Sequence[Any]:
    """The batch, if it is what a step takes."""
    if not isinstance(batch, (tuple, list)):
        raise Error(
            f"a batch must be a tuple of what loss_fn takes after the model, got a {type(batch).__name__}: "
            "write example=(x, y), or example=(x,) for one input"
        )
    return batch


def loss_of(returned: Any) -> Any:
    """The loss among what a loss function returned: the first of a tuple, `loss` of a mapping such as ModelOutput."""
    if isinstance(returned, tuple) and returned:
        return returned[0]
    if isinstance(returned, Mapping):
        return returned.get("loss")
    return returned


def checked_loss(loss: Any, returned: Any) -> torch.Tensor:
    """The scalar loss; `returned` is all that the loss function returned."""
    if not isinstance(loss, torch.Tensor):
        got = "nothing" if returned is None else f"a {type(returned).__name__}"
        raise CaptureError(
            f"the loss function returned {got} and not a loss: return a scalar tensor, a tuple with the loss first, or a mapping "
            "with the key loss"
        )
    if loss.numel() != 1:
        raise CaptureError(
            f"the loss has the shape {list(loss.shape)} and not one element: reduce it, for example with .mean() or .sum()"
        )
    if not loss.requires_grad:
        raise CaptureError(
            "the loss does not depend on any parameter that requires a gradient: is it computed under no_grad, or detached?"
        )
    return loss.reshape(()) if loss.dim() else loss


def check_trainable(parameters: Iterable[torch.Tensor]) -> None:
    """At least one parameter must require a gradient."""
    if not any(p.requires_grad for p in parameters):
        raise CaptureError(
            "the model has no parameter that requires a gradient: there is nothing to train; "
            "call requires_grad_(True) on those to be trained"
        )


def only_device(named: Sequence[tuple[str, torch.Tensor]]) -> torch.device:
    """The one device of all inputs; `named` are their descriptions and values."""
    if not named:
        raise CaptureError("the model has no parameters: there is nothing to train")
    first_name, first = named[0]
    for name, tensor in named:
        if type(tensor).__name__ == "DTensor":
            raise CaptureError(
                f"{name} is a DTensor: sharded parameters, as fully_shard makes them, are not supported yet; "
                "use DistributedDataParallel, or process_group="
            )
        if tensor.device != first.device and not (tensor.dim() == 0 and tensor.device.type == "cpu"):
            raise CaptureError(
                f"{first_name} is on {first.device} and {name} is on {tensor.device}: one plan is for one device; "
                "move all of them to the same one"
            )
        if tensor.device.type == "meta":
            raise CaptureError(
                f"{name} is on the meta device and has no values: give the model real tensors, or ask checkmate.estimate"
            )
    return torch.device(first.device)


def check_foreign_parameters(loss: torch.Tensor, own: Iterable[torch.Tensor]) -> None:
    """What the loss depends on and the model does not own must not be trained. Under no_grad it may be used."""
    known = {id(tensor) for tensor in own}
    remaining, seen = [loss.grad_fn], set()
    while remaining:
        node = remaining.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        # What is fake was made by the step itself, such as the point at which a gradient penalty is taken.
        if variable is not None and id(variable) not in known and not isinstance(variable, FakeTensor):
            raise CaptureError(
                f"the loss function uses a tensor of shape {list(variable.shape)} that requires a gradient and is "
                "not a parameter of the model: put both into one torch.nn.Module and compile that"
            )
        remaining += [before for before, _ in node.next_functions]
