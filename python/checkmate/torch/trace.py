"""A whole training step (forward, loss, backward) as one functional graph of aten ops with static shapes.

Two passes over fake tensors, so that nothing is computed and nothing of the model changes:

1. `make_fx` over a step that calls `loss_fn` and then `torch.autograd.grad`: forward and backward in one graph,
   with the in-place ops that the model and autograd use.
2. The same graph traced again through `functionalize`: no op writes into an input any more. What a step changes
   (the statistics of batch norm) comes out as a value to be copied into its buffer at the end.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.fx.traceback
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import get_proxy_mode, make_fx
from torch.nn.utils.stateless import _reparametrize_module
from torch.utils import _pytree as pytree

from checkmate.torch.checks import check_constants, check_trainable, checked_loss, only_device
from checkmate.torch.errors import CaptureError, explain_capture_failure
from checkmate.torch.fx_utils import Origin, set_origin, storage_address, tensors_of
from checkmate.torch.guards import ModelState
from checkmate.torch.signature import Signature

LossFn = Callable[..., Any]
aten = torch.ops.aten


@dataclass(frozen=True)
class Trace:
    """The functional graph of a step, and what its inputs and outputs stand for."""

    graph: fx.Graph
    signature: Signature
    inputs: list[fx.Node]  # in the order of the signature
    loss: fx.Node
    extras: list[Any]  # the leaves of what was returned in addition to the loss: nodes or plain values
    extras_spec: pytree.TreeSpec | None  # None: the loss was returned alone
    gradients: dict[str, fx.Node]  # of the parameters that have one, and none to add to
    buffer_updates: dict[str, fx.Node]
    device: torch.device

    @property
    def outputs(self) -> list[fx.Node]:
        """What the step hands out."""
        extras = (extra for extra in self.extras if isinstance(extra, fx.Node))
        return [self.loss, *extras, *self.gradients.values(), *self.buffer_updates.values()]


def trace_step(state: ModelState, loss_fn: LossFn, batch: Sequence[Any]) -> Trace:
    """The step that `loss_fn(model, *batch)` and the backward pass after it take.

    Gradients that the parameters have already are inputs, and are added to as soon as the new ones are made: a plan counts
    them as resident, and need not hold the new ones to the end.

    Leaves parameters, buffers, attributes of modules and the state of random generators as they were.
    """
    signature = Signature.of(state, batch)
    originals = signature.values(state, batch)
    device = only_device([(signature.describe(i), t) for i, t in enumerate(originals)])
    check_trainable(state.parameters())

    mode = FakeTensorMode(allow_non_fake_inputs=True)
    recorder = _Recorder(state, loss_fn, signature)
    with _left_alone(state.model, device), explain_capture_failure(), torch.backends.cudnn.flags(enabled=False):
        with mode, torch.enable_grad():
            traced = make_fx(_as_function(recorder.step))([_fake(mode, t) for t in originals])
        recorder.label(traced.graph)
        with mode, torch.no_grad(), torch.fx.traceback.preserve_node_meta():
            fakes = [_fake(mode, t).detach() for t in originals]
            functional = make_fx(torch.func.functionalize(_Functional(traced).run_flat))(*fakes)
        return _Assembly(functional, recorder, mode).trace(state, device)


def _as_function(step: Callable[[list[torch.Tensor]], Any]) -> Callable[[list[torch.Tensor]], Any]:
    return lambda flat: step(flat)  # noqa: PLW0108  (make_fx counts the arguments of methods wrongly)


def _fake(mode: FakeTensorMode, tensor: torch.Tensor) -> torch.Tensor:
    return mode.from_tensor(tensor.detach()).requires_grad_(tensor.requires_grad)


@dataclass
class _Recorder:
    """The step as `make_fx` sees it, and what it notices on the way."""

    state: ModelState
    loss_fn: LossFn
    signature: Signature
    graded: list[str] = field(default_factory=list)
    extras: list[Any] = field(default_factory=list)
    extras_spec: pytree.TreeSpec | None = None
    forward_nodes: int = 0
    modules: list[tuple[int, str]] = field(default_factory=list)  # from this node on, this module runs

    def step(self, flat: list[torch.Tensor]) -> list[Any]:
        model = self.state.model
        named = dict(zip(self.signature.model_inputs, flat, strict=False))
        batch = self.signature.batch_from(flat[len(named) :])
        with _reparametrize_module(model, named, tie_weights=True), self._watch_modules():
            returned = self.loss_fn(model, *batch)
        loss = self._loss_of(returned)
        self.forward_nodes = _node_count()

        trained = {name: named[name] for name in self.signature.parameters if named[name].requires_grad}
        gradients = torch.autograd.grad(loss, list(trained.values()), allow_unused=True)
        taken = {storage_address(t) for t in [*flat, loss, *tensors_of(self.extras)]}
        outputs: list[Any] = [loss, *self.extras]
        for (name, parameter), gradient in zip(trained.items(), gradients, strict=True):
            if gradient is None:
                continue
            self.graded.append(name)
            outputs.append(_own_gradient(parameter, gradient, taken))
        return outputs

    def _loss_of(self, returned: Any) -> torch.Tensor:
        loss = returned
        if isinstance(returned, tuple) and returned:
            loss = returned[0]
            self.extras, self.extras_spec = pytree.tree_flatten(tuple(returned[1:]))
            self.extras = [x.detach() if isinstance(x, torch.Tensor) else x for x in self.extras]
        return checked_loss(loss, returned)

    @contextlib.contextmanager
    def _watch_modules(self) -> Iterator[None]:
        """Notes which module the nodes come from, for their names."""
        names = self.state.module_names
        stack = [""]

        def enter(module: torch.nn.Module, _: Any) -> None:
            stack.append(names.get(module, stack[-1]))
            self.modules.append((_node_count(), stack[-1]))

        def leave(*_: Any) -> None:
            if len(stack) > 1:
                stack.pop()
            self.modules.append((_node_count(), stack[-1]))

        hooks = torch.nn.modules.module
        handles = [
            hooks.register_module_forward_pre_hook(enter),
            hooks.register_module_forward_hook(leave),
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def label(self, graph: fx.Graph) -> None:
        """Writes phase and module where the second trace copies them from."""
        marks = iter([*self.modules, (len(graph.nodes), "")])
        module, (until, following) = "", next(marks)
        for position, node in enumerate(graph.nodes):
            while position >= until:
                module = following
                until, following = next(marks)
            set_origin(node, Origin("forward", module) if position < self.forward_nodes else Origin("backward"))


class _Functional(fx.Interpreter):
    """Runs the first trace for the second."""

    def run_flat(self, *tensors: torch.Tensor) -> Any:
        return self.run(*tensors, enable_io_processing=False)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        # The op updates the statistics without saying so in its schema; its newer form says it.
        if target is aten.native_batch_norm.default and args[3] is not None and args[5]:
            target = aten._native_batch_norm_legit.default
        # The op fills in the order of memory, its functional form in that of the indices: other numbers where those differ.
        if target is aten.bernoulli_.float:
            super().call_function(target, (_in_memory_order(args[0]), *args[1:]), kwargs)
            return args[0]
        return super().call_function(target, args, kwargs)


def _in_memory_order(tensor: torch.Tensor) -> torch.Tensor:
    """A view of a dense tensor that is contiguous."""
    return tensor.permute(sorted(range(tensor.dim()), key=tensor.stride, reverse=True))


def _own_gradient(parameter: torch.Tensor, gradient: torch.Tensor, taken: set[int]) -> torch.Tensor:
    """A gradient as autograd would leave it in `.grad`: dense, in the parameter's layout, shared with nothing."""
    if gradient.stride() != parameter.stride() or storage_address(gradient) in taken:
        copy = torch.empty_strided(parameter.shape, parameter.stride(), dtype=gradient.dtype, device=gradient.device)
        gradient = copy.copy_(gradient)
    taken.add(storage_address(gradient))
    return gradient


class _Assembly:
    """Makes a Trace of the functional graph: every tensor from outside becomes an input, every write an output."""

    def __init__(self, functional: fx.GraphModule, recorder: _Recorder, mode: FakeTensorMode) -> None:
        self.functional = functional
        self.graph = functional.graph
        self.recorder = recorder
        self.signature = recorder.signature
        self.mode = mode
        self.inputs = [node for node in self.graph.nodes if node.op == "placeholder"]

    def trace(self, state: ModelState, device: torch.device) -> Trace:
        recorder = self.recorder
        updates = self._take_buffer_updates()
        (output,) = (node for node in self.graph.nodes if node.op == "output")
        loss, *rest = output.args[0]
        extra_nodes, made = rest[: len(recorder.extras)], rest[len(recorder.extras) :]
        extras = [n if isinstance(value, torch.Tensor) else value for n, value in zip(extra_nodes, recorder.extras, strict=True)]
        gradients = dict(zip(recorder.graded, made, strict=True))
        accumulated = [name for name in state.names_with_gradient() if name in gradients]
        for name in accumulated:
            self._accumulate(name, gradients.pop(name), state.gradient(name))
        constants = self._take_constants()
        return Trace(
            graph=self.graph,
            signature=dataclasses.replace(self.signature, accumulated=tuple(accumulated), constants=tuple(constants)),
            inputs=self.inputs,
            loss=loss,
            extras=extras,
            extras_spec=recorder.extras_spec,
            gradients=gradients,
            buffer_updates=updates,
            device=device,
        )

    def _take_buffer_updates(self) -> dict[str, fx.Node]:
        """The values to copy into buffers at the end, in place of the copies at the end of the graph."""
        first = len(self.signature.parameters)
        buffer_of = dict(zip(self.inputs[first:], self.signature.buffers, strict=False))
        updates: dict[str, fx.Node] = {}
        for node in reversed(self.graph.nodes):
            if node.op == "call_function" and node.target is aten.copy_.default and node.args[0].op == "placeholder":
                target, value = node.args[:2]
                if target not in buffer_of:
                    raise CaptureError(
                        f"the step writes into {self.signature.describe(self.inputs.index(target))}: "
                        "only buffers of the model may change; write into a copy"
                    )
                updates[buffer_of[target]] = value
                node.replace_all_uses_with(value)
                self.graph.erase_node(node)
        return updates

    def _accumulate(self, name: str, made: fx.Node, existing: torch.Tensor) -> None:
        """Adds the gradient that was made to the existing one, right after it was made."""
        total = self._add_input("grad_" + name.replace(".", "_"), torch.empty_like(existing, device="meta"))
        with self.graph.inserting_after(made):
            added = self.graph.call_function(aten.add_.Tensor, (total, made))
        added.meta["val"] = total.meta["val"]
        set_origin(added, Origin("update"))

    def _take_constants(self) -> list[torch.Tensor]:
        """Tensors that the graph holds, as inputs of it."""
        places: dict[torch.Tensor, fx.Node] = {}
        for node in [node for node in self.graph.nodes if node.op == "get_attr"]:
            constant = getattr(self.functional, str(node.target))
            check_constants([constant])
            if constant not in places:
                fake = constant if isinstance(constant, FakeTensor) else self.mode.from_tensor(constant)
                places[constant] = self._add_input(node.name, fake)
            node.replace_all_uses_with(places[constant])
            self.graph.erase_node(node)
        return list(places)

    def _add_input(self, name: str, fake: torch.Tensor) -> fx.Node:
        with self.graph.inserting_after(self.inputs[-1]):
            node = self.graph.placeholder(name)
        node.meta["val"] = fake
        self.inputs.append(node)
        return node


@contextlib.contextmanager
def _left_alone(model: torch.nn.Module, device: torch.device) -> Iterator[None]:
    """Puts back attributes that a forward pass sets, and the state of the random generators."""
    attributes = [(module, dict(module.__dict__)) for module in model.modules()]
    devices = [device] if device.type == "cuda" else []
    try:
        with torch.random.fork_rng(devices):
            yield
    finally:
        for module, saved in attributes:
            module.__dict__.clear()
            module.__dict__.update(saved)


def _node_count() -> int:
    mode = get_proxy_mode()
    assert mode is not None, "a step is recorded only while it is traced"
    return len(mode.tracer.graph.nodes)
