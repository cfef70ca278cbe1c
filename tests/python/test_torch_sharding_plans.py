"""What sharded training plans and predicts, without any process to run it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import checkmate
from checkmate.torch.capture import traced
from checkmate.torch.costs import UnitCost
from checkmate.torch.ir import Program
from checkmate.torch.lowering import lower
from checkmate.torch.planning_graph import planning_graph
from checkmate.torch.sharding.collectives import Gather, Reduce
from checkmate.torch.sharding.gathers import with_collectives
from checkmate.torch.sharding.placement import Layout
from checkmate.torch.sharding.splitting import Splitter
from checkmate.torch.sharding.timeline import Event, Part, duration
from checkmate.torch.sharding.usual import SETTINGS, Setting, block_of, usual_steps
from checkmate.torch.sharding.windows import at_once, overlapping

WIDTH = 10  # over 4 ranks: 3, 3, 3 and 1 rows
DEVICE = checkmate.torch.Accelerator(flops=1e12, bandwidth=1e11, memory="1GiB")
NETWORK = checkmate.torch.Interconnect(latency=0.0, bandwidth=1e9)


class Blocks(nn.Module):
    def __init__(self, blocks: int = 3) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()) for _ in range(blocks))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x


def mean(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x).mean()  # type: ignore[no-any-return]


@pytest.fixture
def program() -> Program:
    """Of rank 0 of 4; each of the six parameters has messages of its own."""
    state, trace = traced(Blocks(), mean, (torch.ones(8, WIDTH),), values=False)
    return lower(with_collectives(trace, Layout(4), None, list(state.parameter_names)))


def graph_of(program: Program, costs: list[int]) -> checkmate.Graph:
    return planning_graph(program, [UnitCost(cost) for cost in costs], "blocks", cost_unit="ns", order="fixed")


def count(program: Program, steps: list[int], kind: type) -> int:
    return sum(isinstance(program.units[unit].node.target, kind) for unit in steps)


@pytest.mark.parametrize(
    ("ranks", "rows", "own"), [(4, 3, [3, 3, 3, 1]), (3, 4, [4, 4, 2]), (2, 5, [5, 5]), (16, 1, [1] * 10 + [0] * 6)]
)
def test_rows_are_dealt_out_as_fully_shard_does(ranks: int, rows: int, own: list[int]) -> None:
    layouts = [Layout(ranks, rank) for rank in range(ranks)]
    assert {layout.rows((WIDTH, 2)) for layout in layouts} == {rows}
    assert [layout.own_rows((WIDTH, 2)) for layout in layouts] == own
    chunks = torch.empty(WIDTH, 2).chunk(ranks)
    assert [len(chunk) for chunk in chunks] == [each for each in own if each]


def test_each_parameter_is_gathered_and_each_gradient_reduced_once(program: Program) -> None:
    units = list(range(len(program.units)))
    assert count(program, units, Gather) == 6
    assert count(program, units, Reduce) == 6


def test_shards_are_resident_and_padded(program: Program) -> None:
    resident = [storage.bytes for storage in program.storages if storage.unit is None]
    # Three weights of 3 x 10 and three biases of 3 floats, and a batch of 8 x 10.
    assert sorted(resident) == [12, 12, 12, 120, 120, 120, 320]


def test_views_of_a_gathered_parameter_are_no_memory_of_their_own(program: Program) -> None:
    made = [program.storages[s].bytes for unit in program.units if isinstance(unit.node.target, Gather) for s in unit.makes]
    assert sorted(made) == [48, 48, 48, 480, 480, 480]  # 12 rows
    assert not any("aten.t." in str(call.target) for unit in program.units for call in unit.calls)


def test_a_message_goes_on_beside_ops_until_somebody_waits() -> None:
    costs = [10, 4, 3]
    one = [Event(0, Part.START), Event(1, Part.ALL), Event(0, Part.FINISH), Event(2, Part.ALL)]
    assert duration(one, costs) == 13  # max(10, 4) + 3
    at_its_place = [Event(1, Part.ALL), Event(0, Part.START), Event(0, Part.FINISH), Event(2, Part.ALL)]
    assert duration(at_its_place, costs) == 17
    two = [Event(0, Part.START), Event(2, Part.START), Event(1, Part.ALL), Event(0, Part.FINISH), Event(2, Part.FINISH)]
    assert duration(two, costs) == 13  # one after the other: 10 + 3
    assert duration([Event(1, Part.ALL), Event(0, Part.START)], costs) == 14  # the step ends with its last message


def test_windows_hide_messages_within_the_budget(program: Program) -> None:
    costs = [7] * len(program.units)
    plan = checkmate.Plan.keep_all(graph_of(program, costs))
    plain = at_once(program, plan.steps)
    roomy = overlapping(program, plan, costs, 2 * plan.peak)
    assert duration(plain, costs) == plan.cost
    assert duration(roomy, costs) < plan.cost
    # Without room, nothing may stay longer at the peak; both are valid plans of the split program.
    for events, most in ((roomy, 2 * plan.peak), (overlapping(program, plan, costs, plan.peak), plan.peak)):
        split = Splitter(program, [UnitCost(cost) for cost in costs]).split(events)
        graph = planning_graph(split.program, split.costs, "split", cost_unit="ns", order="fixed")
        overlapped = checkmate.Plan.from_steps(graph, split.steps, most)
        assert overlapped.peak <= most
        assert overlapped.cost == plan.cost


def test_nobody_reads_a_parameter_before_the_wait(program: Program) -> None:
    costs = [7] * len(program.units)
    split = Splitter(program, [UnitCost(cost) for cost in costs]).split(at_once(program, list(range(len(program.units)))))
    graph = planning_graph(split.program, split.costs, "split", cost_unit="ns", order="fixed")
    waits = [index for index, op in enumerate(graph.ops) if op.kind == "wait"]
    assert len(waits) == 12
    without = [unit for unit in split.steps if unit != waits[0]]
    with pytest.raises(checkmate.Error):
        checkmate.Plan.from_steps(graph, without)


@pytest.mark.parametrize(("setting", "gathers"), list(zip(SETTINGS, (6, 6, 8, 8), strict=True)), ids=str)
def test_usual_settings_are_valid_plans(program: Program, setting: Setting, gathers: int) -> None:
    """Resharding gathers again what the backward pass reads: the weights of two of three layers. Checkpoints add nothing here:
    the backward pass of tanh reads its result, which a block hands on."""
    plan = checkmate.Plan.from_steps(graph_of(program, [7] * len(program.units)), usual_steps(program, setting))
    assert count(program, plan.steps, Gather) == gathers
    assert count(program, plan.steps, Reduce) == 6


@pytest.mark.parametrize(
    ("module", "block"), [("layers.12.attn.q", "layers.12"), ("3", "3"), ("a.b.0.1.c", "a.b.0"), ("head", None), ("", None)]
)
def test_a_block_is_the_first_numbered_module(module: str, block: str | None) -> None:
    assert block_of(module) == block


def test_an_interconnect_is_latency_and_bandwidth() -> None:
    network = checkmate.torch.Interconnect(latency=1e-3, bandwidth=1e6)
    assert network.seconds(8000, 8) == pytest.approx(0.010)  # 3 ms for log2(8) hops, 7 ms for 7/8 of 8 kB
    assert network.small_bytes(8) == 3428  # 3 ms at 1 MB/s are 3000 bytes, 7/8 of it
    assert network.seconds(8000, 1) == 0


@pytest.mark.parametrize("given", [{"latency": -1.0, "bandwidth": 1.0}, {"latency": 0.0, "bandwidth": 0.0}])
def test_an_impossible_interconnect_is_refused(given: dict[str, float]) -> None:
    with pytest.raises(checkmate.Error, match="must be"):
        checkmate.torch.Interconnect(**given)


def test_an_estimate_for_ranks_is_never_slower_than_what_is_usual() -> None:
    estimate = checkmate.estimate(
        Blocks(), mean, (torch.ones(64, WIDTH),), ranks=[2, 64], network=NETWORK, accelerator=DEVICE, time_limit=0.1
    )
    assert isinstance(estimate, checkmate.torch.ShardedEstimate)
    few, many = estimate.points
    assert few.fixed > many.fixed
    for point in estimate.points:
        assert point.planned is not None
        assert point.planned.peak <= point.budget
        assert all(point.planned.seconds <= usual.seconds for usual in point.usual.values())
    assert "nothing was run" in str(estimate)


def test_an_estimate_for_ranks_asks_for_what_it_needs() -> None:
    with pytest.raises(checkmate.Error, match="needs network="):
        checkmate.estimate(Blocks(), mean, (torch.ones(8, WIDTH),), ranks=2)
