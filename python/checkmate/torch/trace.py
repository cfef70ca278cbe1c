"""A whole training step (forward, loss, backward) as one functional graph of aten ops with static shapes.

Two passes over fake tensors, so that nothing is computed and nothing of the model changes:

1. `make_fx` over a step that calls `loss_fn` and then `torch.autograd.grad`: forward and backward in one graph,
   with the in-place ops that the model and autograd use.
2. The same graph traced again through functionalization: no op writes into an input any more. What a step changes
   (the statistics of batch norm) comes out as a value to be copied into its buffer at the end.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import torch
import torch.fx.traceback
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import get_proxy_mode, make_fx
from torch.nn.utils.stateless import _reparametrize_module
from torch.utils import _pytree as pytree

from checkmate.torch.captured import Captured, renewed
from checkmate.torch.checkpointing import plain_checkpoints
from checkmate.torch.checks import check_foreign_parameters, check_trainable, checked_loss, loss_of, only_device
from checkmate.torch.decisions import Decisions, known_value, value_is_known
from checkmate.torch.errors import CaptureError, explain_capture_failure
from checkmate.torch.functional import held_tensors, without_writes
from checkmate.torch.fx_utils import Origin, nodes_in, set_origin, storage_address, tensors_of
from checkmate.torch.guards import ModelState
from checkmate.torch.library_shims import as_in_eager
from checkmate.torch.side_effects import Attributes, check_hooks, left_alone, may_count, refuse_counters
from checkmate.torch.signature import Signature
from checkmate.torch.strides import EagerLayouts
from checkmate.torch.valueless import Valueless, device_without_values

LossFn = Callable[..., Any]
aten = torch.ops.aten


@dataclass(frozen=True, kw_only=True)
class Trace(Captured):
    """The functional graph of a step, and what its inputs and outputs stand for.

    Inputs are in the order of the signature. Gradients are those of parameters that have one, and none to add to.
    """

    signature: Signature
    loss: fx.Node
    extras: list[Any]  # the leaves of what was returned in addition to the loss: nodes or plain values
    extras_spec: pytree.TreeSpec | None  # None: the loss was returned alone
    updates: dict[str, fx.Node]  # what buffers, or parameters that the step writes into, are at the end
    attributes: Attributes = field(default_factory=dict)  # that the step sets

    @property
    def outputs(self) -> list[fx.Node]:
        """What the step hands out."""
        return nodes_in([self.loss, self.extras, list(self.gradients.values()), list(self.updates.values())])

    def over(self, graph: fx.Graph, inputs: list[fx.Node], new: Mapping[fx.Node, fx.Node]) -> Self:
        """The same step over another graph, in which `new` are the outputs."""
        return dataclasses.replace(
            super().over(graph, inputs, new),
            loss=new[self.loss],
            extras=renewed(self.extras, new),
            updates={name: new[node] for name, node in self.updates.items()},
        )


def trace_step(
    state: ModelState, loss_fn: LossFn, batch: Sequence[Any], *, values: bool = True, accumulate: bool = True
) -> Trace:
    """The step that `loss_fn(model, *batch)` and the backward pass after it take.

    Without `values`, tensors may be fake, or on the meta device: those stand for tensors on the device of the others.

    Gradients that the parameters have already are inputs, and are added to as soon as the new ones are made: a plan counts
    them as resident, and need not hold the new ones to the end. Without `accumulate`, they only count: autograd
    adds to them, and calls hooks, after the step.

    Leaves parameters, buffers, attributes of modules and the state of random generators as they were.
    """
    signature = Signature.of(state, batch)
    originals = signature.values(state, batch)
    named = [(signature.describe(i), t) for i, t in enumerate(originals)]
    device = only_device(named) if values else device_without_values(named)
    check_trainable(state.parameters())
    check_hooks(state, of_parameters=accumulate)

    mode = EagerLayouts(allow_non_fake_inputs=True) if values else Valueless(device)

    def captured(recorder: _Recorder, inputs: list[torch.Tensor]) -> fx.GraphModule:
        with mode, torch.enable_grad(), plain_checkpoints(), Decisions(recorder.current_module):
            return make_fx(_as_function(recorder.step))([_fake(mode, t, device) for t in inputs])

    recorder = _Recorder(state, loss_fn, signature)
    with (
        left_alone(state, device) as attributes_set,
        explain_capture_failure(),
        as_in_eager(value_is_known),
        torch.backends.cudnn.flags(enabled=False),
    ):
        traced = captured(recorder, originals)
        attributes = attributes_set()
        if may_count(attributes):
            held = dict(zip(signature.model_inputs, originals, strict=False))
            following = [*(held | recorder.assigned).values(), *originals[len(held) :]]
            captured(_Recorder(state, loss_fn, signature), following)
            refuse_counters(attributes, attributes_set())
        recorder.label(traced.graph)
        _forget_questions(traced.graph)
        constants = held_tensors(traced)
        with mode, torch.no_grad(), torch.fx.traceback.preserve_node_meta():
            fakes = [_fake(mode, t, device).detach() for t in [*originals, *constants.values()]]
            functional = make_fx(without_writes(traced, inputs=len(originals)))(*fakes)
        trace = _Assembly(functional, recorder, list(constants.values())).trace(state, device, accumulate)
        return dataclasses.replace(trace, attributes=attributes)


def _as_function(step: Callable[[list[torch.Tensor]], Any]) -> Callable[[list[torch.Tensor]], Any]:
    return lambda flat: step(flat)  # noqa: PLW0108  (make_fx counts the arguments of methods wrongly)


def _fake(mode: FakeTensorMode, tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    if isinstance(tensor, FakeTensor) and tensor.fake_mode is mode:
        return tensor
    if isinstance(tensor, FakeTensor) or tensor.device.type == "meta":
        with mode:
            like = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=device)
            return like.requires_grad_(tensor.requires_grad)
    return mode.from_tensor(tensor.detach()).requires_grad_(tensor.requires_grad)


@dataclass
class _Recorder:
    """The step as `make_fx` sees it, and what it notices on the way."""

    state: ModelState
    loss_fn: LossFn
    signature: Signature
    graded: list[str] = field(default_factory=list)
    sparse: list[str] = field(default_factory=list)  # of those, whose gradient is sparse
    extras: list[Any] = field(default_factory=list)
    extras_spec: pytree.TreeSpec | None = None
    assigned: dict[str, torch.Tensor] = field(default_factory=dict)  # buffers that the step replaces
    forward_nodes: int = 0
    modules: list[tuple[int, str]] = field(default_factory=list)  # from this node on, this module runs

    def step(self, flat: list[torch.Tensor]) -> list[Any]:
        model = self.state.model
        named = dict(zip(self.signature.model_inputs, flat, strict=False))
        batch = self.signature.batch_from(flat[len(named) :])
        # Within it to the end of the backward pass, which may run modules again, as reversible layers do.
        with _reparametrize_module(model, dict(named), tie_weights=True):
            with self._watch_modules():
                returned = self.loss_fn(model, *batch)
            loss = self._loss_of(returned)
            check_foreign_parameters(loss, named.values())
            self.forward_nodes = _node_count()

            trained = {name: named[name] for name in self.signature.parameters if named[name].requires_grad}
            gradients = torch.autograd.grad(loss, list(trained.values()), allow_unused=True)
            self.assigned = {name: tensor.detach() for name, tensor in self.state.assigned_buffers(named).items()}
        self._make_numbers_of_known_attributes()
        taken = {storage_address(t) for t in [*flat, loss, *tensors_of(self.extras)]}
        outputs: list[Any] = [loss, *self.extras, *self.assigned.values()]
        for (name, parameter), returned_gradient in zip(trained.items(), gradients, strict=True):
            gradient = _sum(parameter.grad, returned_gradient)
            if gradient is None:
                continue
            self.graded.append(name)
            if gradient.is_sparse:
                self.sparse.append(name)
                values = gradient._values()
                outputs += [gradient._indices(), values.clone() if storage_address(values) in taken else values]
                taken.add(storage_address(values))
            else:
                outputs.append(_own_gradient(parameter, gradient, taken))
        return outputs

    def current_module(self) -> str:
        """Whose forward pass runs, in words."""
        name = self.modules[-1][1] if self.modules else ""
        return f"module {name}" if name else "the model or the loss function"

    def _make_numbers_of_known_attributes(self) -> None:
        """A length that was computed as a tensor is a number all the same."""
        for module in self.state.module_names:
            for key, held in module.__dict__.items():
                if isinstance(held, FakeTensor) and held.dim() == 0 and (known := known_value(held)) is not None:
                    module.__dict__[key] = known.item()

    def _loss_of(self, returned: Any) -> torch.Tensor:
        loss = loss_of(returned)
        if loss is not returned:
            extras, self.extras_spec = pytree.tree_flatten(returned)
            self.extras = [x.detach() if isinstance(x, torch.Tensor) else x for x in extras]
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


def _forget_questions(graph: fx.Graph) -> None:
    """Values that the step asked for were recorded before they were answered."""
    for node in reversed(graph.nodes):
        if node.target is aten._local_scalar_dense.default and not node.users:
            graph.erase_node(node)


def _sum(left: torch.Tensor | None, returned: torch.Tensor | None) -> torch.Tensor | None:
    """Of what a backward pass within the backward pass has left in `.grad`, and what the outer one returned."""
    return returned if left is None else left if returned is None else left + returned


def _own_gradient(parameter: torch.Tensor, gradient: torch.Tensor, taken: set[int]) -> torch.Tensor:
    """A gradient as autograd would leave it in `.grad`: dense, in the parameter's layout, shared with nothing."""
    if gradient.stride() != parameter.stride() or storage_address(gradient) in taken:
        copy = torch.empty_strided(parameter.shape, parameter.stride(), dtype=gradient.dtype, device=gradient.device)
        gradient = copy.copy_(gradient)
    taken.add(storage_address(gradient))
    return gradient


class _Assembly:
    """Makes a Trace of the functional graph: every tensor from outside becomes an input, every write an output."""

    def __init__(self, functional: fx.GraphModule, recorder: _Recorder, constants: list[torch.Tensor]) -> None:
        self.graph = functional.graph
        self.recorder = recorder
        self.signature = dataclasses.replace(recorder.signature, constants=tuple(constants))
        self.inputs = [node for node in self.graph.nodes if node.op == "placeholder"]

    def trace(self, state: ModelState, device: torch.device, accumulate: bool) -> Trace:
        recorder = self.recorder
        updates = self._take_writes()
        self._take_sparse_apart()
        (output,) = (node for node in self.graph.nodes if node.op == "output")
        loss, *rest = output.args[0]
        extra_nodes, rest = rest[: len(recorder.extras)], rest[len(recorder.extras) :]
        made = rest[len(recorder.assigned) :]
        updates |= dict(zip(recorder.assigned, rest, strict=False))
        extras = [n if isinstance(value, torch.Tensor) else value for n, value in zip(extra_nodes, recorder.extras, strict=True)]
        remaining = iter(made)
        gradients: dict[str, Any] = {
            name: [next(remaining), next(remaining)] if name in recorder.sparse else next(remaining) for name in recorder.graded
        }
        existing = [name for name in state.names_with_gradient() if isinstance(gradients.get(name), fx.Node)]
        accumulated = existing if accumulate else []
        for name in accumulated:
            self._accumulate(name, gradients.pop(name), state.gradient(name))
        return Trace(
            graph=self.graph,
            signature=dataclasses.replace(self.signature, accumulated=tuple(accumulated)),
            inputs=self.inputs,
            loss=loss,
            extras=extras,
            extras_spec=recorder.extras_spec,
            gradients=gradients,
            updates=updates,
            device=device,
            held={} if accumulate else {"gradients to add to": sum(state.gradient(name).nbytes for name in existing)},
        )

    def _take_writes(self) -> dict[str, fx.Node]:
        """The values to copy into buffers and parameters at the end, in place of the copies at the end of the graph."""
        owned = dict(zip(self.inputs, self.signature.model_inputs, strict=False))
        updates: dict[str, fx.Node] = {}
        for node in reversed(self.graph.nodes):
            if node.op == "call_function" and node.target is aten.copy_.default and node.args[0].op == "placeholder":
                target, value = node.args[:2]
                if target not in owned:
                    raise CaptureError(
                        f"the step writes into {self.signature.describe(self.inputs.index(target))}: "
                        "only the model may change; write into a copy"
                    )
                updates[owned[target]] = value
                node.replace_all_uses_with(value)
                self.graph.erase_node(node)
        return updates

    def _take_sparse_apart(self) -> None:
        """Indices and values of a sparse tensor are what it was made of; the tensor itself is made after the step."""
        part = {aten._indices.default: 3, aten._values.default: 4}
        for node in list(self.graph.nodes):
            if node.target in part and node.args[0].target is aten._sparse_coo_tensor_with_dims_and_tensors.default:
                node.replace_all_uses_with(node.args[0].args[part[node.target]])
                self.graph.erase_node(node)

    def _accumulate(self, name: str, made: fx.Node, existing: torch.Tensor) -> None:
        """Adds the gradient that was made to the existing one, right after it was made."""
        with self.graph.inserting_after(self.inputs[-1]):
            total = self.graph.placeholder("grad_" + name.replace(".", "_"))
        total.meta["val"] = torch.empty_like(existing, device="meta")
        self.inputs.append(total)
        with self.graph.inserting_after(made):
            added = self.graph.call_function(aten.add_.Tensor, (total, made))
        added.meta["val"] = total.meta["val"]
        set_origin(added, Origin("update"))


def _node_count() -> int:
    mode = get_proxy_mode()
    assert mode is not None, "a step is recorded only while it is traced"
    return len(mode.tracer.graph.nodes)
