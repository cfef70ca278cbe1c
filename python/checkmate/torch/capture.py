"""A whole training step (forward, loss, backward) as one functional graph of aten ops with static shapes.

Two passes over fake tensors, so that nothing is computed and nothing of the model changes:

1. `make_fx` over a step that calls `loss_fn` and then `torch.autograd.grad`: forward and backward in one graph,
   with the in-place ops that the model and autograd use.
2. The same graph traced again through `functionalize`: no op writes into an input any more. What a step changes
   (the statistics of batch norm) comes out as a value to be copied into its buffer at the end.
"""

from __future__ import annotations

import contextlib
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

from checkmate.torch.errors import CaptureError, explain_capture_failure
from checkmate.torch.nodes import storage_address, tensors_of

LossFn = Callable[..., Any]
aten = torch.ops.aten


@dataclass
class Capture:
    """The functional graph of a step, and what its inputs and outputs stand for."""

    graph: fx.Graph
    placeholders: list[fx.Node]  # the parameters, the buffers, the tensors of the batch, in this order
    parameters: list[str]
    buffers: list[str]
    constants: dict[str, torch.Tensor]  # tensors that the loss function uses and the model does not own
    loss: fx.Node
    extras: list[Any]  # the leaves of what was returned beside the loss: nodes or plain values
    extras_spec: pytree.TreeSpec | None  # None: the loss was returned alone
    gradients: dict[str, fx.Node]  # of the parameters that have one
    buffer_updates: dict[str, fx.Node]
    device: torch.device


def capture_step(model: torch.nn.Module, loss_fn: LossFn, batch: Sequence[Any]) -> Capture:
    """The step that `loss_fn(model, *batch)` and the backward pass after it take.

    Leaves parameters, buffers, attributes of modules and the state of random generators as they were.
    """
    parameters = dict(model.named_parameters())
    buffers = dict(model.named_buffers())
    leaves, batch_spec = pytree.tree_flatten(tuple(batch))
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    device = _only_device(parameters, buffers, tensors)
    if not any(p.requires_grad for p in parameters.values()):
        raise CaptureError(
            "the model has no parameter that requires a gradient: there is nothing to train; "
            "call requires_grad_(True) on those to be trained"
        )

    mode = FakeTensorMode(allow_non_fake_inputs=True)
    recorder = _Recorder(model, loss_fn, leaves, batch_spec, list(parameters), list(buffers))
    with _left_alone(model, device), explain_capture_failure(), torch.backends.cudnn.flags(enabled=False):
        originals = [*parameters.values(), *buffers.values(), *tensors]
        with mode, torch.enable_grad():
            traced = make_fx(_as_function(recorder.step))([_fake(mode, t) for t in originals])
        recorder.label(traced.graph)
        with mode, torch.no_grad(), torch.fx.traceback.preserve_node_meta():
            fakes = [_fake(mode, t).detach() for t in originals]
            functional = make_fx(torch.func.functionalize(_Functional(traced).run_flat))(*fakes)
    return _assemble(functional, recorder, device)


def _as_function(step: Callable[[list[torch.Tensor]], Any]) -> Callable[[list[torch.Tensor]], Any]:
    return lambda flat: step(flat)  # noqa: PLW0108  (make_fx counts the arguments of methods wrongly)


def _fake(mode: FakeTensorMode, tensor: torch.Tensor) -> torch.Tensor:
    return mode.from_tensor(tensor.detach()).requires_grad_(tensor.requires_grad)


@dataclass
class _Recorder:
    """The step as `make_fx` sees it, and what it notices on the way."""

    model: torch.nn.Module
    loss_fn: LossFn
    batch_leaves: list[Any]
    batch_spec: pytree.TreeSpec
    parameters: list[str]
    buffers: list[str]
    graded: list[str] = field(default_factory=list)
    extras: list[Any] = field(default_factory=list)
    extras_spec: pytree.TreeSpec | None = None
    forward_nodes: int = 0
    modules: list[tuple[int, str]] = field(default_factory=list)  # from this node on, this module runs

    def step(self, flat: list[torch.Tensor]) -> list[Any]:
        named = dict(zip([*self.parameters, *self.buffers], flat, strict=False))
        batch = self._batch(flat[len(named) :])
        with _reparametrize_module(self.model, named, tie_weights=True), self._watch_modules():
            returned = self.loss_fn(self.model, *batch)
        loss = self._loss_of(returned)
        self.forward_nodes = _node_count()

        trained = {name: named[name] for name in self.parameters if named[name].requires_grad}
        gradients = torch.autograd.grad(loss, list(trained.values()), allow_unused=True)
        taken = {storage_address(t) for t in [*flat, loss, *tensors_of(self.extras)]}
        outputs: list[Any] = [loss, *self.extras]
        for (name, parameter), gradient in zip(trained.items(), gradients, strict=True):
            if gradient is None:
                continue
            self.graded.append(name)
            outputs.append(_own_gradient(parameter, gradient, taken))
        return outputs

    def _batch(self, tensors: Sequence[torch.Tensor]) -> Any:
        remaining = iter(tensors)
        leaves = [next(remaining) if isinstance(x, torch.Tensor) else x for x in self.batch_leaves]
        return pytree.tree_unflatten(leaves, self.batch_spec)

    def _loss_of(self, returned: Any) -> torch.Tensor:
        loss = returned
        if isinstance(returned, tuple) and returned:
            loss = returned[0]
            self.extras, self.extras_spec = pytree.tree_flatten(tuple(returned[1:]))
            self.extras = [x.detach() if isinstance(x, torch.Tensor) else x for x in self.extras]
        if not isinstance(loss, torch.Tensor):
            raise CaptureError(
                f"the loss function returned {_describe(returned)} and not a loss: "
                "return a scalar tensor, or a tuple with the loss first"
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

    @contextlib.contextmanager
    def _watch_modules(self) -> Iterator[None]:
        """Notes which module the nodes come from, for their names."""
        names = {id(module): name for name, module in self.model.named_modules()}
        stack = [""]

        def enter(module: torch.nn.Module, _: Any) -> None:
            stack.append(names.get(id(module), stack[-1]))
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
            forward = position < self.forward_nodes
            node.meta["custom"] = {
                "phase": "forward" if forward else "backward",
                "module": module if forward else "",
            }


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


def _assemble(functional: fx.GraphModule, recorder: _Recorder, device: torch.device) -> Capture:
    graph = functional.graph
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    buffer_of = dict(zip(placeholders[len(recorder.parameters) :], recorder.buffers, strict=False))
    constants = {node.target: getattr(functional, node.target) for node in graph.nodes if node.op == "get_attr"}
    _refuse_foreign_parameters(constants.values())

    updates: dict[str, fx.Node] = {}
    for node in reversed(graph.nodes):
        if node.op == "call_function" and node.target is aten.copy_.default and node.args[0].op == "placeholder":
            target, value = node.args[:2]
            if target not in buffer_of:
                raise CaptureError(
                    f"the step writes into {_input_name(target, placeholders, recorder)}: "
                    "only buffers of the model may change; write into a copy"
                )
            updates[buffer_of[target]] = value
            node.replace_all_uses_with(value)
            graph.erase_node(node)

    (output,) = (node for node in graph.nodes if node.op == "output")
    returned = list(output.args[0])
    loss, rest = returned[0], returned[1:]
    extras, gradients = rest[: len(recorder.extras)], rest[len(recorder.extras) :]
    return Capture(
        graph=graph,
        placeholders=placeholders,
        parameters=recorder.parameters,
        buffers=recorder.buffers,
        constants=constants,
        loss=loss,
        extras=[node if isinstance(value, torch.Tensor) else value for node, value in zip(extras, recorder.extras, strict=True)],
        extras_spec=recorder.extras_spec,
        gradients=dict(zip(recorder.graded, gradients, strict=True)),
        buffer_updates=updates,
        device=device,
    )


def _refuse_foreign_parameters(constants: Any) -> None:
    for tensor in constants:
        if tensor.requires_grad and not isinstance(tensor, FakeTensor):
            raise CaptureError(
                f"the loss function uses a tensor of shape {list(tensor.shape)} that requires a gradient and is "
                "no parameter of the model: put both into one torch.nn.Module and compile that"
            )


def _only_device(parameters: dict[str, Any], buffers: dict[str, Any], batch: Sequence[torch.Tensor]) -> torch.device:
    named = [
        *((f"parameter {name}", t) for name, t in parameters.items()),
        *((f"buffer {name}", t) for name, t in buffers.items()),
        *((f"tensor {i} of the batch", t) for i, t in enumerate(batch)),
    ]
    if not named:
        raise CaptureError("the model has no parameters: there is nothing to train")
    first_name, first = named[0]
    for name, tensor in named:
        if tensor.device != first.device and not (tensor.dim() == 0 and tensor.device.type == "cpu"):
            raise CaptureError(
                f"{first_name} is on {first.device} and {name} is on {tensor.device}: one plan is for one device; "
                "move all of them to the same one"
            )
        if tensor.device.type == "meta":
            raise CaptureError(f"{name} is on the meta device and has no values: give the model real tensors")
    return torch.device(first.device)


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


def _input_name(node: fx.Node, placeholders: list[fx.Node], recorder: _Recorder) -> str:
    position = placeholders.index(node)
    if position < len(recorder.parameters):
        return f"parameter {recorder.parameters[position]}"
    return f"tensor {position - len(recorder.parameters) - len(recorder.buffers)} of the batch"


def _describe(value: Any) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"
