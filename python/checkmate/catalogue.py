"""What there is to choose from: methods and networks."""

from __future__ import annotations

from dataclasses import dataclass

from . import _core

__all__ = ["Method", "Network", "methods", "zoo"]


@dataclass(frozen=True, slots=True)
class Method:
    """A method of :func:`checkmate.solve`."""

    name: str
    summary: str
    exact: bool
    """Finds an optimal plan, or proves that none fits, within its limits of size and time."""
    needs_chain: bool
    """Works only if the forward pass is a chain."""
    free_order: bool
    """Can move first runs (free order)."""
    plans: bool
    """False if it only computes a bound."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a network, with its default value."""

    name: str
    fallback: str
    description: str


@dataclass(frozen=True, slots=True)
class Network:
    """A network of the zoo: ``checkmate.load("zoo:NAME?key=value&...")``."""

    name: str
    description: str
    parameters: tuple[Parameter, ...]


def methods() -> list[Method]:
    """All methods, ``auto`` first."""
    return [Method(*row) for row in _core.methods()]


def zoo() -> list[Network]:
    """All networks of the zoo."""
    return [Network(name, text, tuple(Parameter(*row) for row in rows)) for name, text, rows in _core.zoo_networks()]
