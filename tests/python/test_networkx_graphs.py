from __future__ import annotations

from typing import Any

import networkx
import pytest

import checkmate
from checkmate import Error, Graph, Op, Tensor


def chain(**first: Any) -> networkx.DiGraph:
    """Listed from its end: order is found, not assumed."""
    graph = networkx.DiGraph(name="chain")
    graph.add_node("loss", ms=1, mem=4)
    graph.add_node(("layer", 2), ms=0.25, mem=8.0)
    graph.add_node(("layer", 1), **({"ms": 1.5, "mem": 8} | first))
    networkx.add_path(graph, [("layer", 1), ("layer", 2), "loss"])
    return graph


def test_nodes_of_any_kind_become_ops_and_costs_become_whole() -> None:
    graph = checkmate.from_networkx(chain(), cost="ms", size="mem", cost_unit="ms")
    assert graph == Graph(
        "chain",
        [Tensor("('layer', 1)", 8), Tensor("('layer', 2)", 8), Tensor("loss", 4)],
        # 1.5, 0.25 and 1 ms x 10^2
        [Op("('layer', 1)", 150, [], [0]), Op("('layer', 2)", 25, [0], [1]), Op("loss", 100, [1], [2])],
        cost_unit="ms/10^2",
    )


def test_every_attribute_has_the_name_that_is_given() -> None:
    given = networkx.DiGraph()
    given.add_node("w", mem=100, param=True)
    given.add_node("f", t=7, mem=10, scratch=20, label="norm", type="layer_norm", again=False)
    given.add_node("b", t=11, mem=4, part="backward", keep=True)
    given.add_edges_from([("w", "f"), ("f", "b"), ("w", "b")])
    graph = checkmate.from_networkx(
        given,
        cost="t",
        size="mem",
        workspace="scratch",
        name="label",
        kind="type",
        phase="part",
        recomputable="again",
        resident="param",
        output="keep",
        cost_unit="ns",
        reserved_bytes=50,
        graph_name="all of it",
    )
    assert graph == Graph(
        "all of it",
        [Tensor("w", 100, resident=True), Tensor("norm", 10), Tensor("b", 4, output=True)],
        [
            Op("norm", 7, [0], [1], kind="layer_norm", workspace=20, recomputable=False),
            Op("b", 11, [0, 1], [2], phase="backward"),
        ],
        reserved_bytes=50,
    )


def test_an_order_may_be_given() -> None:
    given = networkx.MultiDiGraph([("a", "c"), ("a", "c"), ("b", "c")])  # a tensor that is read twice is one input
    networkx.set_node_attributes(given, 1, "cost")
    networkx.set_node_attributes(given, 2, "size")
    assert [op.name for op in checkmate.from_networkx(given).ops] == ["a", "b", "c"]
    graph = checkmate.from_networkx(given, order=["b", "a", "c"])
    assert [(op.name, op.inputs) for op in graph.ops] == [("b", ()), ("a", ()), ("c", (0, 1))]
    for order in (["a", "b"], ["a", "b", "b"], ["a", "b", "d"]):
        with pytest.raises(Error, match="order must have each of the graph's 3 nodes once"):
            checkmate.from_networkx(given, order=order)
    with pytest.raises(Error, match="op 0 'c'"):
        checkmate.from_networkx(given, order=["c", "a", "b"])


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (chain(ms=None), "cost of op"),
        (chain(ms=-0.5), "must be a number that is 0 or more, got -0.5"),
        (chain(mem=2.5), "bytes of tensor .* must be a whole number, got 2.5"),
        (networkx.DiGraph([("a", "b"), ("b", "a")]), "cycle, on or before node 'a'"),
        (networkx.DiGraph([("a", "a")]), "cycle"),
        (networkx.DiGraph([("a", "b")]), "node 'a' has no attribute 'mem'; its attributes are: none"),
        (networkx.Graph([("a", "b")]), "no directions"),
        (networkx.DiGraph(), "."),
    ],
)
def test_what_cannot_be_a_graph_is_told_with_the_node(graph: Any, message: str) -> None:
    with pytest.raises((Error, TypeError), match=message):
        checkmate.from_networkx(graph, cost="ms", size="mem")


def test_a_resident_tensor_has_no_inputs() -> None:
    given = networkx.DiGraph([("f", "w")])
    given.add_node("f", cost=1, size=1)
    given.add_node("w", size=1, resident=True)
    with pytest.raises(Error, match="node 'w' is resident, but reads other nodes"):
        checkmate.from_networkx(given, resident="resident")
