from __future__ import annotations

from typing import Any

import pytest

import checkmate
from checkmate import Error, Graph, MaxBatch, Op, Tensor

MIB = 2**20


def one_layer(batch: int) -> Graph:
    """A forward op and its way back: batch bytes each, and 10 of fixed memory."""
    return Graph(
        f"batch {batch}",
        [Tensor("x", batch), Tensor("gradient", batch, output=True)],
        [Op("f", batch, [], [0]), Op("back", batch, [0], [1], phase="backward")],
        reserved_bytes=10,
    )


def test_a_sweep_never_costs_more_with_more_memory() -> None:
    graph = checkmate.load("zoo:linear?n=16")
    points = checkmate.sweep(graph, "90%..40%:10%", ["linear-greedy", "auto"], time_limit=2, threads=1)
    assert [point.method for point in points] == ["linear-greedy"] * 6 + ["auto"] * 6
    assert [point.budget for point in points[:6]] == sorted(graph.parse_budget(f"{share}%") for share in range(40, 91, 10))
    for series in (points[:6], points[6:]):
        costs = [point.plan.cost for point in series if point.plan is not None]
        assert costs == sorted(costs, reverse=True)
    for point in points:
        if point.plan is not None:
            assert point.plan.budget == point.budget
            assert point.plan.status == point.status
            assert point.lower_bound == point.plan.lower_bound <= point.plan.cost


def test_a_sweep_tells_where_nothing_fits(two_layers: Graph) -> None:
    points = checkmate.sweep(two_layers, ["20MiB", 16 * MIB])
    assert [(point.budget, point.status) for point in points] == [(16 * MIB, "infeasible"), (20 * MIB, "optimal")]
    assert points[0].plan is None
    assert "back 1" in points[0].detail
    assert points[1].plan is not None
    assert points[1].plan.cost == 261  # as solve() finds


def test_a_sweep_agrees_with_brute_force(two_layers: Graph) -> None:
    for point in checkmate.sweep(two_layers, "100%..80%:10%", ["brute"]):
        assert point.plan is not None
        assert point.plan.cost == checkmate.solve(two_layers, point.budget, method="brute").cost


@pytest.mark.parametrize(
    ("budgets", "options", "exception", "message"),
    [
        ("90%..x", {}, Error, "not a valid range of budgets"),
        (["60%", 1.5], {}, TypeError, "is a whole number"),
        ("60%", {"methods": ["x"]}, Error, "unknown method 'x'"),
        ("60%", {"methods": "auto"}, TypeError, "methods is a sequence"),
        ("60%", {"methods": [1]}, TypeError, "each of methods is a string"),
        ("60%", {"speed": 1}, TypeError, "unknown option 'speed'; known are order, time_limit"),
        ("60%", {"time_limit": -1}, Error, "time limit must be positive"),
    ],
)
def test_a_sweep_refuses(
    two_layers: Graph, budgets: Any, options: dict[str, Any], exception: type[Exception], message: str
) -> None:
    with pytest.raises(exception, match=message):
        checkmate.sweep(two_layers, budgets, **options)


def test_a_sweep_raises_what_its_callback_raises(two_layers: Graph) -> None:
    def refuse(_: object) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        checkmate.sweep(two_layers, "90%", progress=refuse)


def test_finds_the_largest_batch() -> None:
    asked: list[int] = []

    def network(batch: int) -> Graph:
        asked.append(batch)
        return one_layer(batch)

    answer = checkmate.max_batch(network, 2010)
    assert (answer.batch, answer.upper_limit, answer.proven) == (1000, 1000, True)  # (2010 - 10) / 2
    assert answer.overhead == 1.0
    assert "back" in answer.certificate
    assert len(asked) == len(set(asked))
    assert max(asked) <= 2**20


def test_respects_the_largest_batch_to_try() -> None:
    asked: list[int] = []

    def network(batch: int) -> Graph:
        asked.append(batch)
        return one_layer(batch)

    assert checkmate.max_batch(network, "1GiB", largest=64).batch == 64
    assert max(asked) <= 65


def test_finds_the_largest_batch_of_the_zoo() -> None:
    by_name = checkmate.max_batch("vgg19", "16GB", method="lp-round", time_limit=5)
    by_function = checkmate.max_batch(
        lambda batch: checkmate.load(f"zoo:vgg19?batch={batch}"), 16 * 10**9, method="lp-round", time_limit=5
    )
    assert isinstance(by_name, MaxBatch)
    assert (by_name.batch, by_name.proven) == (by_function.batch, by_function.proven)


def test_zero_where_nothing_fits() -> None:
    answer = checkmate.max_batch(one_layer, 11)  # a batch of 1 needs 12
    assert (answer.batch, answer.upper_limit, answer.proven) == (0, 0, True)


class OwnError(Exception):
    pass


def test_raises_what_the_network_raises() -> None:
    def refuse(batch: int) -> Graph:
        raise OwnError(f"batch {batch}")

    with pytest.raises(OwnError, match="batch"):
        checkmate.max_batch(refuse, "1GiB")


def test_raises_the_networks_own_errors() -> None:
    with pytest.raises(Error, match="no-such-network"):
        checkmate.max_batch("no-such-network", "1GiB")


def test_a_batch_too_large_for_a_graph_does_not_fit() -> None:
    def network(batch: int) -> Graph:
        return one_layer(batch * 2**45)  # past 2^62 in all from batch 2^16 on: a checkmate.Error

    assert checkmate.max_batch(network, 2**50 + 10).batch == 16  # 2 x 16 x 2^45 = 2^50


@pytest.mark.parametrize(
    ("network", "memory", "options", "exception", "message"),
    [
        (5, "1GiB", {}, TypeError, "network is a name of the zoo or a function"),
        (lambda _: "graph", "1GiB", {}, TypeError, r"expected a checkmate\.Graph, got 'graph'"),
        ("zoo:vgg19?batch=3", "1GiB", {}, Error, "leave out batch="),
        ("vgg19", "60%", {}, Error, "memory: .*60%"),
        ("vgg19", 1.5, {}, TypeError, "memory is a whole number"),
        ("vgg19", -1, {}, Error, "memory is 0 or more"),
        ("vgg19", "1GiB", {"extra_forward": -1}, Error, "extra_forward is 0 or more"),
        ("vgg19", "1GiB", {"extra_forward": float("nan")}, Error, "extra_forward is a number"),
        ("vgg19", "1GiB", {"largest": -1}, Error, "largest is 0 or more"),
        ("vgg19", "16GB", {"threads": 0}, Error, "threads must be at least 1"),
        ("vgg19", "1GiB", {"speed": 0}, TypeError, "unknown option 'speed'"),
    ],
)
def test_max_batch_refuses(network: Any, memory: Any, options: dict[str, Any], exception: type[Exception], message: str) -> None:
    with pytest.raises(exception, match=message):
        checkmate.max_batch(network, memory, **options)
