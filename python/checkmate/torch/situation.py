"""What a captured step takes for granted. When any of it changes, the step is captured again."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from checkmate import Error


class Owner:
    """The model's parameters and buffers as they are now, wherever `.to()` or a new assignment put them."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.modules = list(model.modules())
        self._model = model
        self._shape = _shape(self.modules)
        self._parameters = _places(model, "parameter")
        self._buffers = _places(model, "buffer")

    def outdated(self) -> bool:
        """Whether modules, parameters or buffers were put in, taken out or replaced since."""
        modules = list(self._model.modules())
        return modules != self.modules or _shape(modules) != self._shape

    def parameters(self) -> list[torch.nn.Parameter]:
        """All, each once, in the model's order."""
        return [table[key] for table, key in self._parameters.values()]

    def buffers(self) -> list[torch.Tensor]:
        """All, each once, in the model's order."""
        return [table[key] for table, key in self._buffers.values()]

    def parameter(self, name: str) -> torch.nn.Parameter:
        """The one of that name."""
        table, key = self._parameters[name]
        return table[key]  # type: ignore[no-any-return]

    def buffer(self, name: str) -> torch.Tensor:
        """The one of that name."""
        table, key = self._buffers[name]
        return table[key]  # type: ignore[no-any-return]

    def names_with_gradient(self) -> list[str]:
        """Of the parameters to whose gradient a step would add."""
        return [n for n, (table, key) in self._parameters.items() if table[key].grad is not None]


def _shape(modules: Sequence[torch.nn.Module]) -> list[tuple[int, int]]:
    return [(len(module._parameters), len(module._buffers)) for module in modules]


def _places(model: torch.nn.Module, kind: str) -> dict[str, tuple[dict[str, Any], str]]:
    listed = model.named_parameters() if kind == "parameter" else model.named_buffers()
    places = {}
    for name, _ in listed:
        path, _, key = name.rpartition(".")
        module = model.get_submodule(path)
        places[name] = (module._parameters if kind == "parameter" else module._buffers, key)
    return places


def situation_of(owner: Owner, batch: Sequence[Any]) -> Hashable:
    """Equal for two calls that may share one captured step."""
    leaves, spec = pytree.tree_flatten(tuple(batch))
    return (
        tuple(_described(leaf) for leaf in leaves),
        str(spec),
        tuple((*_layout(p), p.requires_grad, p.grad is None) for p in owner.parameters()),
        tuple(_layout(b) for b in owner.buffers()),
        tuple(module.training for module in owner.modules),
        _autocast_state(),
    )


def _described(leaf: Any) -> Hashable:
    if isinstance(leaf, torch.Tensor):
        if leaf.requires_grad:
            raise Error(
                "a tensor of the batch requires a gradient, which a step does not compute: "
                "detach it, or make it a parameter of the model"
            )
        return _layout(leaf)
    try:
        hash(leaf)
    except TypeError:
        raise Error(
            f"the batch has a {type(leaf).__name__}, which is neither a tensor nor a plain value: "
            "pass tensors, numbers, strings, or lists, tuples and dicts of them"
        ) from None
    return (type(leaf), leaf)


def _layout(tensor: torch.Tensor) -> tuple[Hashable, ...]:
    return (tensor.shape, tensor.stride(), tensor.dtype, tensor.device)


def _autocast_state() -> Hashable:
    kinds = ("cpu", "cuda")
    return tuple((k, torch.is_autocast_enabled(k), torch.get_autocast_dtype(k)) for k in kinds)
