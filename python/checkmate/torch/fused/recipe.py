"""What a kernel of Inductor's does, as C++ can do it: memory to take, functions to call with pointers, memory to free.

Inductor wraps the functions that it compiles in a Python function, whose text is simple: buffers are made, passed on and deleted.
Text of any other form is called from Python.
"""

from __future__ import annotations

import ast
import ctypes
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

_MOST_POINTERS = 64  # of a function: CompiledKernel::kMostPointers
Layout = tuple[list[int], list[int], str]  # sizes, strides, type
Place = tuple[int, int]  # an operand, and an element of it
Action = tuple[list[Place], Layout | None, int]  # of what; the layout of new memory; the address of a function that gets pointers


@dataclass
class Recipe:
    """Operands are the arguments, and after them the buffers."""

    operand_count: int
    actions: list[Action] = field(default_factory=list)
    results: list[int] = field(default_factory=list)  # operands

    def renumbered(self, new: Mapping[int, int]) -> Recipe:
        """With other numbers for some operands."""
        actions = [([(new.get(o, o), e) for o, e in places], layout, function) for places, layout, function in self.actions]
        return Recipe(self.operand_count, actions, [new.get(o, o) for o in self.results])


def recipe(source: str, functions: Mapping[str, Any]) -> Recipe | None:
    """Of the text of a wrapper and the functions that it names; None if it does anything else."""
    try:
        calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef) and node.name == "call"]
        (wrapper,) = calls
        return _Reading(functions).recipe(wrapper.body)
    except (ValueError, KeyError, SyntaxError, AttributeError, OSError):
        return None


class _Reading:
    """Raises a ValueError or KeyError for what is not expected."""

    def __init__(self, functions: Mapping[str, Any]) -> None:
        self.functions = functions
        self.places: dict[str, Place] = {}  # by name
        self.done = Recipe(0)

    def recipe(self, statements: list[ast.stmt]) -> Recipe:
        for statement in statements:
            match statement:
                case ast.Assign(targets=[target], value=made):
                    self._assign(target, made)
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name("args"), attr="clear"))):
                    pass
                case ast.Expr(value=ast.Call(func=ast.Name(id=name), args=arguments)):
                    self._call(name, arguments)
                case ast.Delete(targets=targets):
                    for name in map(_name, targets):
                        self._delete(name)
                case ast.Return(value=ast.Tuple(elts=elements)):
                    self.done.results = [self._whole(element) for element in elements]
                case _:
                    raise ValueError(ast.unparse(statement))
        own = [operand for operand in self.done.results if operand >= self._argument_count()]
        if len(set(own)) < len(self.done.results):
            raise ValueError("a result shares its memory with another, or with an argument")
        return self.done

    def _assign(self, target: ast.expr, made: ast.expr) -> None:
        match made:
            case ast.Name("args"):
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                for name in map(_name, names):
                    self.places[name] = self._new_operand()
            case ast.Name() | ast.Call(func=ast.Name("reinterpret_tensor")):
                self.places[_name(target)] = self._place(made)
            case ast.Call(func=ast.Name("empty_strided_cpu"), args=[sizes, strides, ast.Attribute(attr=kind)]):
                place = self.places[_name(target)] = self._new_operand()
                self.done.actions.append(([place], (_integers(sizes), _integers(strides), kind), 0))
            case _:
                raise ValueError(ast.unparse(made))

    def _call(self, name: str, arguments: list[ast.expr]) -> None:
        if name in ("assert_size_stride", "assert_alignment"):
            return  # the runtime checks its arguments
        if len(arguments) > _MOST_POINTERS:
            raise ValueError(f"{name} takes {len(arguments)} pointers")
        self.done.actions.append((list(map(self._place, arguments)), None, _address(self.functions[name])))

    def _place(self, expression: ast.expr) -> Place:
        """By its name, or as a view of it."""
        match expression:
            case ast.Call(func=ast.Name("reinterpret_tensor"), args=[ast.Name(id=name), _, _, ast.Constant(value=int(element))]):
                operand, first = self.places[name]
                return operand, first + element
        return self.places[_name(expression)]

    def _whole(self, expression: ast.expr) -> int:
        operand, element = self._place(expression)
        if element:
            raise ValueError("a result is a part of a buffer")
        return operand

    def _delete(self, name: str) -> None:
        operand, _ = self.places.pop(name)
        if operand >= self._argument_count() and all(operand != other for other, _ in self.places.values()):
            self.done.actions.append(([(operand, 0)], None, 0))

    def _argument_count(self) -> int:
        buffers = {places[0] for places, layout, _ in self.done.actions if layout is not None}
        return self.done.operand_count - len(buffers)

    def _new_operand(self) -> Place:
        self.done.operand_count += 1
        return self.done.operand_count - 1, 0


def _name(expression: ast.expr) -> str:
    if not isinstance(expression, ast.Name):
        raise ValueError(ast.unparse(expression))
    return expression.id


def _integers(expression: ast.expr) -> list[int]:
    numbers = ast.literal_eval(expression)
    if not isinstance(numbers, tuple) or not all(isinstance(number, int) for number in numbers):
        raise ValueError(numbers)
    return list(numbers)


def _address(function: Any) -> int:
    """Of the function in C++ behind the one in Python, which stands in a library of its own."""
    return ctypes.cast(_library(function.__self__.__file__).kernel, ctypes.c_void_p).value or 0


@functools.cache
def _library(path: str) -> ctypes.CDLL:
    return ctypes.CDLL(path)


def functions_of(call: Callable[..., Any]) -> Mapping[str, Any]:
    """What the wrapper's text can name."""
    return getattr(call, "__func__", call).__globals__
