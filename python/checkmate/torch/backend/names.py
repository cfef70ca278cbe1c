"""The backend's name, where a library keeps a list of names of its own."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

NAME = "checkmate"


def tell_accelerate() -> None:
    """accelerate, and so the Trainer of transformers, takes only backends that its enumeration has: one more is added to it."""
    if find_spec("accelerate") is None:
        return
    backends: Any = importlib.import_module("accelerate.utils.dataclasses").DynamoBackend
    if NAME.upper() in backends.__members__:
        return
    member = str.__new__(backends, NAME.upper())
    member._name_ = member._value_ = NAME.upper()
    backends._member_names_.append(NAME.upper())
    backends._member_map_[NAME.upper()] = backends._value2member_map_[NAME.upper()] = member
