"""Which values of the forward pass the backward pass needs, if it computes again what is free inside its own kernels."""

from __future__ import annotations

import networkx
from torch import fx

from checkmate.torch.fused.values import Values, bytes_of


def saved_values(values: Values, *, for_kernels: bool) -> set[fx.Node]:
    """The fewest bytes from which all that is read in the backward pass can be computed by free ops.

    Where several sets are as small, the one that leaves the least to compute. With `for_kernels`, what ops with a kernel of their
    own read is computed again too; otherwise it is kept, and others may use it. A minimum cut: polynomial, and fast in practice.
    """
    graph = networkx.DiGraph()  # an edge without a capacity cannot be cut
    kept = set(values.outputs)
    if not for_kernels:
        kept |= {v for v, readers in values.readers.items() if any(_is_late_kernel(values, reader) for reader in readers)}
    # From the backward pass to the sources, so that of all minimum cuts the one nearest to the backward pass is found.
    graph.add_nodes_from(("backward", "forward"))
    for node in values.makers():
        if not values.is_forward(node):
            continue
        for found in values.values_of(node):
            capacity = 0 if found in kept else bytes_of(found)
            graph.add_edge((found, "kept"), (found, "made"), capacity=capacity)
            readers = values.readers.get(found, [])
            if any(not values.is_forward(reader) for reader in readers):
                graph.add_edge("backward", (found, "kept"))
            for reader in readers:
                if values.is_forward(reader) and values.is_free(reader):
                    for result in values.values_of(reader):
                        graph.add_edge((result, "made"), (found, "kept"))
            if not values.is_free(node):
                graph.add_edge((found, "made"), "forward")
    _, (near, _far) = networkx.minimum_cut(graph, "backward", "forward")
    return {found for found, side in (n for n in near if isinstance(n, tuple)) if side == "kept" and (found, "made") not in near}


def _is_late_kernel(values: Values, reader: fx.Node) -> bool:
    return not values.is_forward(reader) and not values.is_fusible(reader)
