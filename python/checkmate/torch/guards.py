"""What a prepared step takes for granted. When any of it changes, the step is prepared again."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch.utils import _pytree as pytree

from checkmate import Error

PLAIN = (bool, int, float, str)  # types of attributes that a step may depend on


class ModelState:
    """The model's parameters and buffers as they are now, wherever `.to()` or a new assignment put them."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.model = model
        self.module_names = {module: name for name, module in model.named_modules()}
        self._sizes = _sizes(self.module_names)
        self._parameters = _places(model, "parameter")
        self._buffers = _places(model, "buffer")
        self._attributes = [(module.__dict__, _plain_names(module)) for module in self.module_names]

    def outdated(self) -> bool:
        """Whether modules, parameters or buffers were added, removed or replaced since."""
        modules = list(self.model.modules())
        return modules != list(self.module_names) or _sizes(modules) != self._sizes

    @property
    def parameter_names(self) -> Iterable[str]:
        """Each parameter once, in the model's order."""
        return self._parameters.keys()

    @property
    def buffer_names(self) -> Iterable[str]:
        """Each buffer once, in the model's order."""
        return self._buffers.keys()

    def parameters(self) -> list[torch.nn.Parameter]:
        """In the order of their names."""
        return [table[key] for table, key in self._parameters.values()]

    def buffers(self) -> list[torch.Tensor]:
        """In the order of their names."""
        return [table[key] for table, key in self._buffers.values()]

    def parameter(self, name: str) -> torch.nn.Parameter:
        """The one of that name."""
        table, key = self._parameters[name]
        return table[key]  # type: ignore[no-any-return]

    def buffer(self, name: str) -> torch.Tensor:
        """The one of that name."""
        table, key = self._buffers[name]
        return table[key]  # type: ignore[no-any-return]

    def tensor(self, name: str) -> torch.Tensor:
        """The parameter or buffer of that name."""
        return self.parameter(name) if name in self._parameters else self.buffer(name)

    def write(self, name: str, value: torch.Tensor) -> None:
        """Copies into the parameter or buffer, or replaces a buffer by one of another shape."""
        tensor = self.tensor(name)
        if tensor.shape == value.shape and tensor.dtype == value.dtype:
            tensor.copy_(value)
        else:
            table, key = self._buffers[name]
            table[key] = value

    def set_attribute(self, module: str, name: str, value: Any) -> None:
        """Of the module of that name."""
        setattr(self.model.get_submodule(module), name, value)

    def attributes(self) -> tuple[Hashable, ...]:
        """Numbers, flags and texts that the modules hold, such as the probability of a dropout."""
        return tuple(tuple(map(table.get, names)) for table, names in self._attributes)

    def attribute_names(self) -> Iterator[str]:
        """Of attributes(), module by module."""
        for module, (_, names) in zip(self.module_names.values(), self._attributes, strict=True):
            yield f"{module or 'the model'} ({', '.join(names)})"

    def assigned_buffers(self, known: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The buffers that are other tensors than those that are known under their names."""
        now = {name: self.buffer(name) for name in self.buffer_names}
        return {name: tensor for name, tensor in now.items() if tensor is not known[name]}

    def gradient(self, name: str) -> torch.Tensor:
        """Of a parameter that has one."""
        gradient = self.parameter(name).grad
        assert gradient is not None, "the guard says which parameters have a gradient"
        return gradient

    def names_with_gradient(self) -> list[str]:
        """The parameters to whose gradient a step would add."""
        return [name for name, (table, key) in self._parameters.items() if table[key].grad is not None]


def _plain_names(module: torch.nn.Module) -> tuple[str, ...]:
    """Of a module's own attributes, without those that every module has."""
    common = torch.nn.Module().__dict__
    return tuple(n for n, v in module.__dict__.items() if isinstance(v, PLAIN) and n not in common)


def _sizes(modules: Iterable[torch.nn.Module]) -> list[tuple[int, int]]:
    return [(len(module._parameters), len(module._buffers)) for module in modules]


def _places(model: torch.nn.Module, kind: str) -> dict[str, tuple[dict[str, Any], str]]:
    listed = model.named_parameters() if kind == "parameter" else model.named_buffers()
    places = {}
    for name, _ in listed:
        path, _, key = name.rpartition(".")
        module = model.get_submodule(path)
        places[name] = (module._parameters if kind == "parameter" else module._buffers, key)
    return places


class Guard(NamedTuple):
    """Equal for two calls that may share one prepared step."""

    batch: tuple[Hashable, ...]
    batch_structure: str
    parameters: tuple[tuple[Hashable, ...], ...]
    buffers: tuple[Hashable, ...]
    training: tuple[bool, ...]  # of each module
    attributes: tuple[Hashable, ...]
    autocast: Hashable

    @staticmethod
    def of(state: ModelState, batch: Sequence[Any]) -> Guard:
        """Of a call now. An error for a batch that no step can take."""
        leaves, spec = flatten_batch(batch)
        return Guard(
            tuple(_described(leaf) for leaf in leaves),
            str(spec),
            tuple((*_layout(p), p.requires_grad, p.grad is None) for p in state.parameters()),
            tuple(_layout(b) for b in state.buffers()),
            tuple(module.training for module in state.module_names),
            state.attributes(),
            _autocast_state(),
        )

    def changes_since(self, earlier: Guard, state: ModelState) -> list[str]:
        """What differs, in words; both guards are of this state of the model."""
        return [
            *(["the structure of the batch"] if self.batch_structure != earlier.batch_structure else []),
            *(_batch_change(i, old, new) for i, old, new in _differing(earlier.batch, self.batch)),
            *_parameter_changes(earlier, self, list(state.parameter_names)),
            *(f"the layout of buffer {name}" for name in _changed(state.buffer_names, earlier.buffers, self.buffers)),
            *_training_changes(earlier, self, list(state.module_names.values())),
            *(f"an attribute of {name}" for name in _changed(state.attribute_names(), earlier.attributes, self.attributes)),
            *(["autocast"] if self.autocast != earlier.autocast else []),
        ]


def _differing(old: Sequence[Any], new: Sequence[Any]) -> Iterator[tuple[int, Any, Any]]:
    return ((i, a, b) for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)


def _changed(names: Iterable[str], old: Sequence[Any], new: Sequence[Any]) -> list[str]:
    return [name for name, a, b in zip(names, old, new, strict=True) if a != b]


def _batch_change(position: int, old: Any, new: Any) -> str:
    if isinstance(old[0], torch.Size) and isinstance(new[0], torch.Size):
        if old[0] != new[0]:
            return f"the shape of leaf {position} of the batch, from {list(old[0])} to {list(new[0])}"
        return f"the strides, type or device of leaf {position} of the batch"
    return f"leaf {position} of the batch, from {_value(old)} to {_value(new)}"


def _value(described: Any) -> str:
    return "a tensor" if isinstance(described[0], torch.Size) else f"{described[1]!r:.40}"


# Parts of a parameter's entry in a guard, and what it means when one differs.
_PARAMETER_PARTS = (
    (slice(-1, None), "whether {} has a gradient to add to"),
    (slice(-2, -1), "whether {} requires a gradient"),
    (slice(None, -2), "the layout of {}"),
)


def _parameter_changes(earlier: Guard, later: Guard, names: list[str]) -> Iterator[str]:
    for part, words in _PARAMETER_PARTS:
        changed = _changed(names, *([row[part] for row in guard.parameters] for guard in (earlier, later)))
        if changed:
            yield words.format(_first_of(changed, "parameter"))


def _training_changes(earlier: Guard, later: Guard, names: list[str]) -> list[str]:
    switched = _changed(names, earlier.training, later.training)
    return [f"training or evaluation mode of {_first_of([n or 'the model' for n in switched], 'module')}"] if switched else []


def _first_of(names: list[str], kind: str) -> str:
    """The first, and how many more."""
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{kind} {names[0]}{more}"


def flatten_batch(batch: Sequence[Any]) -> tuple[list[Any], pytree.TreeSpec]:
    """Its leaves and how they are nested. Mappings of any type are looked into, such as those of tokenizers."""
    leaves, spec = pytree.tree_flatten(tuple(batch))
    unknown = {type(leaf) for leaf in leaves if isinstance(leaf, Mapping)}
    if not unknown:
        return leaves, spec
    for kind in unknown:
        pytree.register_pytree_node(kind, _taken_apart, partial(_put_together, kind))
    return flatten_batch(batch)


def _taken_apart(mapping: Mapping[Any, Any]) -> tuple[list[Any], list[Any]]:
    return list(mapping.values()), list(mapping.keys())


def _put_together(kind: Any, values: Iterable[Any], keys: Any) -> Any:
    return kind(dict(zip(keys, values, strict=True)))


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
            "pass tensors, numbers and strings, or lists, tuples and dicts of them"
        ) from None
    return (type(leaf), leaf)


def _layout(tensor: torch.Tensor) -> tuple[Hashable, ...]:
    return (tensor.shape, tensor.stride(), tensor.dtype, tensor.device)


def _autocast_state() -> Hashable:
    kinds = ("cpu", "cuda")
    return tuple((k, torch.is_autocast_enabled(k), torch.get_autocast_dtype(k)) for k in kinds)
