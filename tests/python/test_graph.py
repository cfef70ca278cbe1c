from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import checkmate
from checkmate import Error, Graph, Op, Tensor

MIB = 2**20


def test_tells_what_it_was_made_of(full_featured: Graph) -> None:
    assert full_featured.name == "full"
    assert full_featured.cost_unit == "mac"
    assert len(full_featured) == 4
    assert full_featured.tensors[1] == Tensor("hidden", 10)
    assert full_featured.tensors[4] == Tensor("loss", 4, output=True)
    assert full_featured.ops[0] == Op("norm", 7, (0,), (1, 2), "layer_norm", 20, "forward", True)
    assert full_featured.ops[1].recomputable is False
    assert Graph("full", full_featured.tensors, full_featured.ops, "mac", 50) == full_featured


def test_knows_its_sums(full_featured: Graph) -> None:
    assert full_featured.reserved_bytes == 50
    assert full_featured.fixed_bytes == 150  # 50 + the weight's 100
    assert full_featured.keep_all_cost == 26  # 7 + 3 + 5 + 11
    # At `back`: hidden 10 + statistics 2 + mask 1 + loss 4 + gradient 100 + workspace 30.
    assert full_featured.keep_all_peak == 147
    assert full_featured.structural_minimum == (143, 3)  # the same without the loss, which `back` does not read


def test_counts_a_tensor_that_is_read_twice_once() -> None:
    graph = Graph("twice", [Tensor("x", 8), Tensor("y", 8)], [Op("f", 1, [], [0]), Op("g", 1, [0, 0], [1])])
    assert graph.ops[1].inputs == (0,)
    assert graph.keep_all_peak == 16


def test_does_not_change(full_featured: Graph) -> None:
    with pytest.raises(AttributeError, match="is immutable"):
        full_featured.name = "other"  # type: ignore[misc]
    with pytest.raises(AttributeError, match="is immutable"):
        del full_featured.name
    with pytest.raises(AttributeError):
        full_featured.tensors[0].bytes = 1  # type: ignore[misc]
    with pytest.raises(AttributeError):
        full_featured.ops[0].cost = 1  # type: ignore[misc]
    full_featured.tensors.clear()
    full_featured.ops.clear()
    assert len(full_featured.tensors) == 6
    assert len(full_featured.ops) == 4


def test_is_equal_to_its_copies(full_featured: Graph, two_layers: Graph) -> None:
    copies = [
        Graph.from_json(full_featured.to_json()),
        pickle.loads(pickle.dumps(full_featured)),
        copy.deepcopy(full_featured),
    ]
    for other in copies:
        assert other == full_featured
        assert hash(other) == hash(full_featured)
        assert other.sha256 == full_featured.sha256
    assert full_featured != two_layers
    assert full_featured != "full"
    assert len({full_featured, two_layers, *copies}) == 2


def test_pickles_its_parts(full_featured: Graph) -> None:
    assert pickle.loads(pickle.dumps(full_featured.ops)) == full_featured.ops
    assert pickle.loads(pickle.dumps(full_featured.tensors)) == full_featured.tensors


def test_is_shown_in_one_line(full_featured: Graph, two_layers: Graph) -> None:
    assert repr(full_featured) == "<checkmate.Graph 'full': 4 ops, 6 tensors, 147 B + 150 B fixed to keep all>"
    assert "24.0 MiB + 1.0 MiB fixed" in repr(two_layers)


def test_goes_through_a_file(full_featured: Graph, tmp_path: Path) -> None:
    full_featured.save(tmp_path / "graph.json")
    assert checkmate.load(tmp_path / "graph.json") == full_featured
    assert checkmate.load(str(tmp_path / "graph.json")) == full_featured


def test_comes_from_the_zoo() -> None:
    chain = checkmate.load("zoo:linear?n=8")
    assert len(chain) == 17  # 8 layers, the loss, 8 gradients
    assert chain.name == "linear?n=8"


def test_takes_other_costs(two_layers: Graph) -> None:
    other = two_layers.with_costs([1, 2, 3, 4, 5], "ms")
    assert (other.keep_all_cost, other.cost_unit) == (15, "ms")
    assert [op.cost for op in other.ops] == [1, 2, 3, 4, 5]
    assert two_layers.keep_all_cost == 231
    assert two_layers.with_costs(np.arange(5)).cost_unit == "ns"
    with pytest.raises(Error):
        two_layers.with_costs([1, 2], "ms")
    with pytest.raises(Error):
        two_layers.with_costs([1, 2, 3, 4, -5], "ms")


def test_takes_a_cost_model() -> None:
    graph = checkmate.load("zoo:vgg16?batch=8")
    assert graph.with_cost_model("flops").keep_all_cost == 2 * graph.keep_all_cost
    assert graph.with_cost_model("roofline:v100").cost_unit == "ns"
    with pytest.raises(Error, match="abacus"):
        graph.with_cost_model("roofline:abacus")


def test_reads_budgets(two_layers: Graph) -> None:
    assert two_layers.parse_budget("2GiB") == 2 * 2**30
    assert two_layers.parse_budget(12345) == 12345
    numpys: Any = np.int64(12345)
    assert two_layers.parse_budget(numpys) == 12345
    # Keep-all at `back 1`: a 8 + grad b 8 + grad 1 MiB + loss 4 B; at `back 2`: a 8 + b 8 + grad b 8 MiB + loss 4 B.
    assert two_layers.keep_all_peak == 24 * MIB + 4
    assert two_layers.parse_budget("50%") == MIB + 12 * MIB + 2


@pytest.mark.parametrize(
    "budget",
    [0, -1, "0", "-1", "5 potatoes", "200%", "", "nan", 2**63, 2**20000, "1\ud800"],
    ids=lambda budget: repr(budget)[:9] if isinstance(budget, str) else "int",
)
def test_refuses_wrong_budgets(two_layers: Graph, budget: str | int) -> None:
    with pytest.raises(Error, match="budget"):
        two_layers.parse_budget(budget)


@pytest.mark.parametrize("budget", [1.5, 8e9, None, b"60%", True, [1]])
def test_refuses_budgets_of_wrong_types(two_layers: Graph, budget: object) -> None:
    with pytest.raises(TypeError, match="must be a whole number"):
        two_layers.parse_budget(budget)  # type: ignore[arg-type]


def test_says_how_to_write_a_round_float(two_layers: Graph) -> None:
    with pytest.raises(TypeError, match="write 8000000000"):
        two_layers.parse_budget(8e9)  # type: ignore[arg-type]


BAD_PARTS: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: Tensor(7, 1), TypeError, "a tensor's name must be a string"),  # type: ignore[arg-type]
    (lambda: Tensor("x", 1.5), TypeError, "bytes of tensor 'x' must be a whole number, got 1.5"),  # type: ignore[arg-type]
    (lambda: Tensor("x", float("nan")), TypeError, "got nan"),  # type: ignore[arg-type]
    (lambda: Tensor("x", True), TypeError, "whole number"),
    (lambda: Tensor("x", None), TypeError, "whole number"),  # type: ignore[arg-type]
    (lambda: Tensor("x", 2**63), Error, "bytes of tensor 'x' is too large"),
    (lambda: Tensor("x", 10**5000), Error, "too large: a number of 16610 bits"),
    (lambda: Tensor("x", 1, resident=1), TypeError, "resident must be True or False"),  # type: ignore[arg-type]
    (lambda: Tensor("\ud800", 1), Error, "UTF-8"),
    (lambda: Op("f", "1", [], []), TypeError, "cost of op 'f' must be a number, got '1'"),  # type: ignore[arg-type]
    (lambda: Op("f", 1, 0, []), TypeError, "inputs of op 'f' must be a sequence"),  # type: ignore[arg-type]
    (lambda: Op("f", 1, "01", []), TypeError, "inputs of op 'f' must be a sequence"),  # type: ignore[arg-type]
    (lambda: Op("f", 1, [], [0.5]), TypeError, "each of outputs of op 'f' must be a whole number"),  # type: ignore[list-item]
    (lambda: Op("f", 1, [], [-1]), Error, "each of outputs of op 'f' must be 0 or more"),
    (lambda: Op("f", 1, [], [2**32]), Error, "too large"),
    (lambda: Op("f", 1, [], [0], phase="sideways"), Error, "phase of op 'f' must be one of forward, loss, backward, update"),
    (lambda: Op("f", 1, [], [0], recomputable="no"), TypeError, "recomputable"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("make", "exception", "message"), BAD_PARTS)
def test_refuses_wrong_parts(make: Callable[[], object], exception: type[Exception], message: str) -> None:
    with pytest.raises(exception, match=message):
        make()


BAD_GRAPHS: list[tuple[list[Tensor], list[Op], str]] = [
    ([], [], "no op"),
    ([Tensor("x", 1)], [Op("f", 1, [], [7])], "7"),
    ([Tensor("x", -1)], [Op("f", 1, [], [0])], "tensor 0 'x' has -1 bytes; a size must be 0 or more"),
    ([Tensor("x", 1)], [Op("f", -1, [], [0])], "op 0 'f' costs -1; a cost must be 0 or more"),
    ([Tensor("x", 1)], [Op("f", 1, [], [0]), Op("g", 1, [], [0])], "x"),
    ([Tensor("x", 1), Tensor("y", 1)], [Op("f", 1, [], [0])], "y"),
    ([Tensor("x", 1), Tensor("y", 1)], [Op("f", 1, [1], [0]), Op("g", 1, [0], [1])], "cycle"),
    ([Tensor("x", 2**62), Tensor("y", 2**62)], [Op("f", 1, [], [0, 1])], "2\\^62"),
]


@pytest.mark.parametrize(("tensors", "ops", "message"), BAD_GRAPHS)
def test_refuses_what_does_not_fit_together(tensors: list[Tensor], ops: list[Op], message: str) -> None:
    with pytest.raises(Error, match=message) as caught:
        Graph("bad", tensors, ops)
    assert caught.value.code == "invalid_graph"


def test_refuses_parts_of_wrong_types(two_layers: Graph) -> None:
    with pytest.raises(TypeError, match=r"checkmate\.Tensor"):
        Graph("bad", [("x", 1)], two_layers.ops)  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"checkmate\.Op"):
        Graph("bad", two_layers.tensors, ["f"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="name"):
        Graph(None, two_layers.tensors, two_layers.ops)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="reserved_bytes"):
        Graph("bad", two_layers.tensors, two_layers.ops, reserved_bytes="1")  # type: ignore[arg-type]


def test_takes_numpys_whole_numbers() -> None:
    size: Any = np.int64(8)
    cost: Any = np.int32(3)
    graph = Graph("numpy", [Tensor("x", size)], [Op("f", cost, [], np.array([0]))])
    assert graph.tensors == [Tensor("x", 8)]
    assert type(graph.tensors[0].bytes) is int


def test_refuses_files_with_their_place(tmp_path: Path) -> None:
    with pytest.raises(Error, match=r"missing\.json") as caught:
        checkmate.load(tmp_path / "missing.json")
    assert caught.value.code == "io"
    (tmp_path / "cut.json").write_text('{"format": "checkmate.graph", "ver')
    with pytest.raises(Error, match=r"cut\.json") as caught:
        checkmate.load(tmp_path / "cut.json")
    assert caught.value.code == "invalid_file"
    with pytest.raises(Error, match="zoo"):
        checkmate.load("zoo:no-such-network")
    with pytest.raises(TypeError):
        checkmate.load(7)  # type: ignore[arg-type]
    with pytest.raises(Error):
        Graph.from_json("[]")
    with pytest.raises(Error):
        checkmate.load("zoo:linear?n=3").save(tmp_path / "no" / "such" / "folder.json")


@pytest.mark.parametrize("path", [7, None, b"graph.json"])
def test_refuses_what_is_no_path(two_layers: Graph, path: Any) -> None:
    for use in (two_layers.save, checkmate.Plan.keep_all(two_layers).save, checkmate.load):
        with pytest.raises(TypeError, match="a path must be a string"):
            use(path)
    with pytest.raises(TypeError, match="a path must be a string"):
        checkmate.load_plan(path, two_layers)


def test_refuses_a_path_that_would_be_cut_off(two_layers: Graph, tmp_path: Path) -> None:
    with pytest.raises(Error, match="NUL"):
        two_layers.save(f"{tmp_path}/graph.json\0.txt")
    assert list(tmp_path.iterdir()) == []


def costs_of(*costs: Any) -> tuple[list[float], str]:
    ops = [Op("", cost, [], [place]) for place, cost in enumerate(costs)]
    graph = Graph("", [Tensor("", 1) for _ in costs], ops, cost_unit="ms")
    return [op.cost for op in graph.ops], graph.cost_unit


def test_costs_with_fractions_become_whole_by_one_power_of_ten_which_the_unit_tells() -> None:
    assert costs_of(3, 12.0) == ([3, 12], "ms")
    assert costs_of(0.25, 3) == ([25, 300], "ms/10^2")
    assert costs_of(0.1, Decimal("0.2"), Fraction(3, 10)) == ([1, 2, 3], "ms/10^1")  # not what binary fractions make of them
    assert costs_of(np.float32(0.1), np.int64(7)) == ([1, 70], "ms/10^1")
    assert costs_of(1.5e-7, -0.0) == ([15, 0], "ms/10^8")
    # A third has no end: the sum of costs stays below 10^15, and what is left of it then is rounded.
    assert costs_of(Fraction(1, 3), 1) == ([33333333333333, 10**14], "ms/10^14")


def test_with_costs_takes_fractions_too(two_layers: Graph) -> None:
    graph = two_layers.with_costs([0.5, 1, 2, 3, 4], "us")
    assert graph.cost_unit == "us/10^1"
    assert graph.keep_all_cost == 5 + 10 + 20 + 30 + 40
    assert two_layers.with_costs([1, 2, 3, 4, 5]).cost_unit == two_layers.cost_unit


@pytest.mark.parametrize("cost", [-0.5, float("nan"), float("inf"), Decimal("NaN"), Decimal("1e400"), 10.0**300])
def test_a_cost_that_is_none_is_refused(cost: Any) -> None:
    with pytest.raises(Error, match="cost"):
        costs_of(cost)
