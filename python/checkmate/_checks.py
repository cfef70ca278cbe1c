"""Turns what a caller may write into what the core takes, or says what is wrong with it.

``what`` is the argument's name in messages, ``of`` what follows it: `` of op 'conv1'``.
"""

from __future__ import annotations

import math
import numbers
import operator
import os
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import SupportsFloat, SupportsIndex

from .errors import Error

_INT64 = 2**63
_INDEX = 2**32


def text(value: object, what: str, of: str = "") -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what}{of} must be a string, got {value!r:.60}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Error(f"{what}{of} cannot be written as UTF-8: {value!r:.60}") from None
    return value


def path(value: object) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"a path must be a string or a pathlib.Path, got {value!r:.60}")
    result = text(os.fspath(value), "a path")
    if "\0" in result:
        raise Error(f"a path must not contain a NUL character, got {result!r:.60}")
    return result


def flag(value: object, what: str, of: str = "") -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{what}{of} must be True or False, got {value!r:.60}")
    return value


def whole(value: object, what: str, of: str = "", *, limit: int = _INT64, code: str = "invalid_argument") -> int:
    """An int, or an integer type of another library such as NumPy; not a float, even if it is integral."""
    if type(value) is int:  # most are, and asking for a protocol is slow
        result = value
    elif isinstance(value, SupportsIndex) and not isinstance(value, bool):
        result = operator.index(value)
    else:
        hint = f": write {int(value)}" if isinstance(value, float) and value.is_integer() else ""
        raise TypeError(f"{what}{of} must be a whole number, got {value!r:.60}{hint}")
    if not -limit <= result < limit:
        raise Error(f"{what}{of} is too large: {_short(result)}", code)
    return result


def natural(value: object, what: str, of: str = "", *, limit: int = _INT64) -> int:
    result = whole(value, what, of, limit=limit)
    if result < 0:
        raise Error(f"{what}{of} must be 0 or more, got {result}")
    return result


def amount(value: object, what: str, of: str = "") -> int:
    """Of bytes or cost in a graph, which checks it further."""
    return whole(value, what, of, code="invalid_graph")


def cost(value: object, what: str, of: str = "") -> int | float:
    """Of an op, with or without a fraction: whole numbers stay exact. A graph makes all its costs whole."""
    if type(value) is int or (isinstance(value, SupportsIndex) and not isinstance(value, bool)):
        return amount(value, what, of)
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, Decimal)):
        raise TypeError(f"{what}{of} must be a number, got {value!r:.60}")
    try:
        # Numbers of fewer bits than Python's are read as they are written: 0.1 is a tenth.
        result = float(value) if isinstance(value, (float, Decimal, Fraction)) else float(str(value))
    except OverflowError:
        result = math.inf
    if not 0 <= result < math.inf:
        raise Error(f"{what}{of} must be a number that is 0 or more, got {value!r:.60}", "invalid_graph")
    return result + 0.0  # no -0.0


def number(value: object, what: str) -> float:
    if isinstance(value, (bool, str, bytes)) or not isinstance(value, SupportsFloat):
        raise TypeError(f"{what} must be a number, got {value!r:.60}")
    try:
        result = float(value)
    except OverflowError:
        raise Error(f"{what} is too large") from None
    if math.isnan(result):
        raise Error(f"{what} must be a number, got nan")
    return result


def indices(values: object, what: str, of: str = "") -> tuple[int, ...]:
    """Indices of ops or tensors; the core checks that they are in range."""
    return tuple([natural(value, f"each of {what}", of, limit=_INDEX) for value in sequence(values, what, of)])


def sequence(values: object, what: str, of: str = "") -> Sequence[object]:
    if isinstance(values, (list, tuple)):
        return values
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{what}{of} must be a sequence, got {values!r:.60}")
    return list(values)


def _short(value: int) -> str:
    # Python refuses to format ints of thousands of digits.
    return str(value) if value.bit_length() <= 256 else f"a number of {value.bit_length()} bits"
