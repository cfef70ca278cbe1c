"""Values of tensors that a step asks for while it is traced, when there are no values yet.

Most steps that ask do not depend on the answer, and go on:

- A value that no input has a part in, such as a comparison with a mask made of constants, is computed.
- A uniform random number is at least 0 and below 1: `torch.rand([]) < 0.0`, layer drop with probability 0, is false.
- A check that only raises or warns is passed, `if not valid.all(): raise ...` or `assert`.

What is left steers the step, and is refused with its place.
"""

from __future__ import annotations

import ast
import linecache
import operator
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import DataDependentOutputException, unset_fake_temporarily
from torch.fx.experimental import proxy_tensor
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing, get_proxy_mode, get_proxy_slot
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakIdKeyDictionary

from checkmate.torch.errors import CaptureError
from checkmate.torch.fx_utils import call
from checkmate.torch.op_traits import is_random

_ASKS = {"__bool__", "item", "__int__", "__float__", "__index__", "tolist"}
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_UNIFORM = (0.0, 1 - 2**-53)  # what torch.rand draws, at least and at most
_LOGS = {"warn", "warn_once", "warning", "warning_once", "info", "debug"}
# Frames between the line that asks and the mode that is asked.
_MACHINERY = {module.__file__ for module in (sys.modules[__name__], torch.overrides, torch._tensor, proxy_tensor)}


class _Agreeable(float):
    """A number that nobody knows, in a comparison whose outcome is."""

    def __new__(cls, _outcome: bool) -> _Agreeable:
        return super().__new__(cls, "nan")

    def __init__(self, outcome: bool) -> None:
        self._outcome = outcome

    def _compare(self, _other: object) -> bool:
        return self._outcome

    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _compare
    __hash__ = float.__hash__


class Decisions(TorchFunctionMode):
    """Active while a step is traced; answers what the step asks of its tensors, or refuses."""

    def __init__(self, current_module: Callable[[], str]) -> None:
        """`current_module` says whose forward pass runs, for messages."""
        super().__init__()
        self._current_module = current_module
        self._uniform: Any = WeakIdKeyDictionary()
        self._known: Any = WeakIdKeyDictionary()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name == "backward" and isinstance(args[0], torch.Tensor):
            raise CaptureError("loss_fn calls backward() itself: return the loss instead, and the step computes the gradients")
        if name in _ASKS and args and isinstance(args[0], torch.Tensor):
            return self._answer(name, func, args, kwargs or {})
        result = func(*args, **(kwargs or {}))
        if func is torch.rand:
            self._uniform[result] = True
        elif (compare := _COMPARISONS.get(name.strip("_"))) and len(args) == 2:
            self._note_comparison(compare, args[0], args[1], result)
        return result

    def _note_comparison(self, compare: Callable[[float, float], bool], a: Any, b: Any, result: Any) -> None:
        """Remembers an outcome that is the same for every number that may be drawn."""
        if isinstance(a, torch.Tensor) and a in self._uniform and isinstance(b, (int, float)):
            outcomes = {compare(number, b) for number in _UNIFORM}
        elif isinstance(b, torch.Tensor) and b in self._uniform and isinstance(a, (int, float)):
            outcomes = {compare(a, number) for number in _UNIFORM}
        else:
            return
        if len(outcomes) == 1:
            self._known[result] = outcomes.pop()

    def _answer(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        tensor = args[0]
        if tensor in self._known:
            return self._known[tensor]
        try:
            return func(*args, **kwargs)
        except DataDependentOutputException:
            constant = known_value(tensor)
            if constant is not None:
                with unset_fake_temporarily(), disable_proxy_modes_tracing():
                    return func(constant, *args[1:], **kwargs)
            frame = _asking_frame()
            passing = _passing_answer(frame) if name in ("__bool__", "item") else None
            if passing is None:
                raise CaptureError(
                    f"the step branches on the values of tensors in {self._current_module()}, at {_place(frame)}, but a plan "
                    "needs a step that is the same for every batch: replace `if`, `.item()` or `bool()` on tensors by "
                    "torch.where, or compute them before the step"
                ) from None
            return passing if name == "__bool__" or tensor.dtype == torch.bool else _Agreeable(passing)


def known_value(tensor: torch.Tensor) -> torch.Tensor | None:
    """What a traced tensor is in every step; None if an input or a random number has a part in it."""
    tracer = _tracer()
    with unset_fake_temporarily(), disable_proxy_modes_tracing(), torch.no_grad():
        return _without_inputs(tensor, tracer)


def value_is_known(tensor: torch.Tensor) -> bool:
    """Whether no input of the step and no random number has a part in a traced tensor."""
    return _origins(tensor, _tracer()) is not None


def _tracer() -> Any:
    mode = get_proxy_mode()
    assert mode is not None, "values are asked for while the step is traced"
    return mode.tracer


def _origins(tensor: torch.Tensor, tracer: Any) -> tuple[fx.Node, set[fx.Node]] | None:
    """The node of a traced tensor and all that it is made of; None if an input or a random number is among them."""
    slot = get_proxy_slot(tensor, tracer, None)
    if slot is None:
        return None
    node = slot.proxy.node
    ancestors: set[fx.Node] = set()
    remaining = [node]
    while remaining:
        each = remaining.pop()
        if each not in ancestors:
            if each.op == "placeholder" or (each.op == "call_function" and is_random(each)):
                return None
            ancestors.add(each)
            remaining += each.all_input_nodes
    return node, ancestors


def _without_inputs(tensor: torch.Tensor, tracer: Any) -> torch.Tensor | None:
    """The real value of such a tensor; None for others."""
    origins = _origins(tensor, tracer)
    if origins is None:
        return None
    node, ancestors = origins
    values: dict[fx.Node, Any] = {}
    for each in (each for each in node.graph.nodes if each in ancestors):
        if each.op == "get_attr":
            values[each] = getattr(tracer.root, each.target)
        else:
            values[each] = call(each.target, each.args, each.kwargs, values.__getitem__)
    return values[node]  # type: ignore[no-any-return]


def _asking_frame() -> FrameType:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_back is not None and frame.f_code.co_filename in _MACHINERY:
        frame = frame.f_back
    assert frame is not None, "somebody asked"
    return frame


def _place(frame: FrameType) -> str:
    path, line = frame.f_code.co_filename, frame.f_lineno
    return f"{Path(path).name}:{line} ({linecache.getline(path, line).strip():.80})"


@dataclass(frozen=True)
class _Span:
    """Where in a file something is: lines and columns."""

    begin: tuple[int, int]
    end: tuple[int, int]

    @staticmethod
    def of(node: ast.expr | ast.stmt) -> _Span:
        return _Span((node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0))

    def within(self, node: ast.expr) -> bool:
        whole = _Span.of(node)
        return whole.begin <= self.begin and self.end <= whole.end


def _passing_answer(frame: FrameType) -> bool | None:
    """The answer with which the check that asks does not raise; None where it is no such check."""
    if frame.f_code.co_name == "_check_tensor_all_with":  # torch's own, which hands the answer on
        return True
    positions = list(frame.f_code.co_positions())
    line, end_line, column, end_column = positions[frame.f_lasti // 2]
    if line is None or end_line is None or column is None or end_column is None:
        return None
    asked = _Span((line, column), (end_line, end_column))
    try:
        tree = ast.parse("".join(linecache.getlines(frame.f_code.co_filename)))
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) or (isinstance(node, ast.If) and _only_complains(node.body)):
            wanted = isinstance(node, ast.Assert)
            if asked == _Span.of(node):  # where the outcome of an expression decides, the place is the whole statement
                return _wanted(node.test, None, wanted)
            if asked.within(node.test):
                return _wanted(node.test, asked, wanted)
    return None


def _only_complains(body: list[ast.stmt]) -> bool:
    return all(isinstance(each, ast.Raise) or _is_log(each) for each in body)


def _is_log(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    function = statement.value.func
    return (function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")) in _LOGS


def _wanted(test: ast.expr, asked: _Span | None, outcome: bool) -> bool | None:
    """What the expression that asks must be for the whole test to have this outcome; None where that cannot be told."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _wanted(test.operand, asked, not outcome)
    if isinstance(test, ast.BoolOp):
        answers = {_wanted(each, asked, outcome) for each in test.values if asked is None or asked.within(each)}
        return answers.pop() if len(answers) == 1 else None
    return outcome
