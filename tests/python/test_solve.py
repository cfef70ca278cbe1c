from __future__ import annotations

import pickle
import random
import threading
import time
from typing import Any

import pytest

import checkmate
from checkmate import Error, Graph, InfeasibleError, NoPlanError, Op, Plan, Progress, Tensor
from conftest import RunPython

MIB = 2**20


def random_graph(seed: int, ops: int = 6) -> Graph:
    """Each op makes one tensor, and reads up to two earlier ones."""
    draw = random.Random(seed)
    tensors = [Tensor(f"t{i}", draw.randint(1, 9)) for i in range(ops)]
    return Graph(
        f"random {seed}",
        tensors,
        [Op(f"op{i}", draw.randint(1, 9), draw.sample(range(i), min(i, draw.randint(1, 2))), [i]) for i in range(ops)],
    )


def test_finds_the_best_plan(two_layers: Graph) -> None:
    plan = checkmate.solve(two_layers, "20MiB")
    assert (plan.status, plan.cost, plan.gap) == ("optimal", 261, 0.0)  # 231 + 30: layer 1 again
    assert plan.peak == 18 * MIB + 4
    assert (plan.budget, plan.order, plan.seed) == (20 * MIB, "fixed", 1)
    assert 0 <= plan.first_plan_seconds <= plan.seconds
    assert plan.graph is two_layers


def test_tells_why_the_search_stopped(two_layers: Graph) -> None:
    assert checkmate.solve(two_layers, "20MiB").stop_reason == "gap_closed"
    layered = checkmate.load("zoo:random_layered?n=200&seed=7")
    assert checkmate.solve(layered, "80%", moves=500, threads=1).stop_reason == "moves_limit"
    assert checkmate.solve(layered, "80%", time_limit=0.3).stop_reason == "time_limit"
    with pytest.raises(NoPlanError) as without:
        checkmate.solve(layered, "80%", method="keep-all")
    assert pickle.loads(pickle.dumps(without.value)).stop_reason == "exhausted"
    assert Plan.keep_all(layered).stop_reason is None


@pytest.mark.parametrize("seed", range(20))
def test_agrees_with_brute_force(seed: int) -> None:
    graph = random_graph(seed)
    lowest, most = graph.structural_minimum[0], graph.keep_all_peak
    for budget in {lowest, (lowest + most) // 2, most}:
        try:
            exact = checkmate.solve(graph, budget, method="brute")
        except InfeasibleError as error:
            least = error.needed
            with pytest.raises(Error):
                checkmate.solve(graph, budget, time_limit=2, threads=1)
            with pytest.raises(InfeasibleError):
                checkmate.solve(graph, least - 1, method="brute")
            continue
        assert exact.status == "optimal"
        found = checkmate.solve(graph, budget, time_limit=2, threads=1)
        assert found.lower_bound <= exact.cost <= found.cost
        assert max(found.memory) == found.peak <= budget
        assert found.cost == sum(graph.ops[op].cost for op in found.steps)
        assert Plan.from_steps(graph, found.steps, budget).cost == found.cost


def test_every_method_that_plans_agrees_with_the_simulator() -> None:
    graph = checkmate.load("zoo:linear?n=6")
    for method in checkmate.methods():
        try:
            plan = checkmate.solve(graph, "80%", method=method.name, time_limit=2, threads=1)
        except NoPlanError:
            continue
        assert method.plans
        replayed = Plan.from_steps(graph, plan.steps, plan.budget)
        assert (replayed.cost, replayed.peak, replayed.frees) == (plan.cost, plan.peak, plan.frees)


def test_free_order_is_at_least_as_good(two_layers: Graph) -> None:
    plan = checkmate.solve(two_layers, "20MiB", method="brute", order="free")
    assert plan.order == "free"
    assert plan.cost <= 261


def test_repeats_with_one_thread_a_seed_and_moves() -> None:
    graph = checkmate.load("zoo:unet?batch=8")
    first, second = (
        checkmate.solve(graph, "60%", method="anneal", threads=1, moves=2000, seed=3, time_limit=600) for _ in range(2)
    )
    assert first.steps == second.steps
    assert first == second


def test_begins_with_a_plan(two_layers: Graph) -> None:
    start = checkmate.solve(two_layers, "20MiB")
    for given in (start, start.steps, tuple(start.steps), [], [0], [99]):
        assert checkmate.solve(two_layers, "20MiB", start=given).cost == 261


def test_proves_that_nothing_fits(two_layers: Graph) -> None:
    with pytest.raises(InfeasibleError, match="'back 1' alone needs") as caught:
        checkmate.solve(two_layers, "16MiB")
    error = caught.value
    assert error.budget == 16 * MIB
    assert error.op == "back 1"
    # The weight, a, grad b and grad: 1 + 8 + 8 + 1 MiB. The loss need not be there then: it can be computed again afterwards.
    assert error.needed == error.sufficient == 18 * MIB
    with pytest.raises(InfeasibleError):
        checkmate.solve(two_layers, error.needed - 1)
    assert checkmate.solve(two_layers, error.sufficient).peak == error.sufficient
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.needed, again.op, again.budget) == (
        str(error), error.needed, error.op, error.budget
    )  # fmt: skip
    assert isinstance(error, ValueError)


def test_says_what_a_method_without_a_plan_would_need(two_layers: Graph) -> None:
    with pytest.raises(NoPlanError, match="no plan found within 20") as caught:
        checkmate.solve(two_layers, "20MiB", method="keep-all")
    assert caught.value.sufficient is not None
    assert caught.value.sufficient <= two_layers.fixed_bytes + two_layers.keep_all_peak
    assert checkmate.solve(two_layers, caught.value.sufficient).peak <= caught.value.sufficient
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.sufficient) == (str(caught.value), caught.value.sufficient)


WRONG_OPTIONS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"method": "x"}, Error, "unknown method 'x'; known are auto"),
    ({"method": 1}, TypeError, "method must be a string"),
    ({"order": "x"}, Error, "order must be fixed or free, got 'x'"),
    ({"time_limit": 0}, Error, "time limit must be positive"),
    ({"time_limit": float("nan")}, Error, "time_limit must be a number, got nan"),
    ({"time_limit": "60"}, TypeError, "time_limit must be a number"),
    ({"time_limit": 2**20000}, Error, "time_limit is too large"),
    ({"threads": 0}, Error, "threads must be at least 1"),
    ({"threads": 2**31}, Error, "threads is too large"),
    ({"threads": 1.0}, TypeError, "threads must be a whole number"),
    ({"seed": -1}, Error, "seed must be 0 or more"),
    ({"seed": 2**64}, Error, "seed is too large"),
    ({"gap": -1}, Error, "gap must be 0 or more"),
    ({"gap": None}, TypeError, "gap must be a number"),
    ({"moves": -1}, Error, "moves must be 0 or more"),
    ({"start": 5}, TypeError, "start must be a sequence"),
    ({"start": [-1]}, Error, "each of start must be 0 or more"),
    ({"start": ["a"]}, TypeError, "each of start must be a whole number"),
    ({"progress": 5}, TypeError, "progress must be None, False or a function"),
    ({"progress": True}, TypeError, "progress must be None, False or a function"),
]


@pytest.mark.parametrize(("options", "exception", "message"), WRONG_OPTIONS)
def test_refuses_wrong_options(two_layers: Graph, options: dict[str, Any], exception: type[Exception], message: str) -> None:
    with pytest.raises(exception, match=message):
        checkmate.solve(two_layers, "20MiB", **options)


def test_refuses_what_is_no_graph_or_budget(two_layers: Graph) -> None:
    with pytest.raises(TypeError, match=r"expected a checkmate\.Graph"):
        checkmate.solve("zoo:unet", "60%")  # type: ignore[arg-type]
    with pytest.raises(Error, match="budget must be positive, got -5"):
        checkmate.solve(two_layers, -5)
    with pytest.raises(TypeError, match="unexpected keyword"):
        checkmate.solve(two_layers, "20MiB", speed=9)  # type: ignore[call-arg]


def test_takes_a_time_limit_without_end(two_layers: Graph) -> None:
    assert checkmate.solve(two_layers, "20MiB", time_limit=float("inf")).status == "optimal"


def test_tells_its_progress_on_the_calling_thread() -> None:
    seen: list[Progress] = []
    threads: set[int] = set()

    def listen(progress: Progress) -> None:
        seen.append(progress)
        threads.add(threading.get_ident())

    plan = checkmate.solve(checkmate.load("zoo:unet?batch=32"), "60%", time_limit=10, progress=listen)
    costs = [progress.cost for progress in seen if progress.cost is not None]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == plan.cost
    assert all(progress.bound <= plan.cost for progress in seen if progress.bound is not None)
    assert threads == {threading.get_ident()}


def test_a_slow_callback_does_not_hold_up_the_search() -> None:
    seen = []

    def listen(progress: Progress) -> None:
        seen.append(progress)
        time.sleep(0.5)

    begin = time.monotonic()
    plan = checkmate.solve(checkmate.load("zoo:resnet50"), "30%", time_limit=1, progress=listen)
    assert time.monotonic() - begin < 10  # dozens of plans are found: half a second for each would be far more
    assert (seen[-1].cost, seen[-1].bound) == (plan.cost, plan.lower_bound)


def test_knows_the_gap_of_a_progress() -> None:
    assert Progress(1.0, 200, 150, "anneal").gap == 0.25  # 50 of 200
    assert Progress(1.0, 200, None, "anneal").gap is None
    assert Progress(1.0, None, 150, "anneal").gap is None
    assert Progress(1.0, 0, 0, "anneal").gap == 0


class OwnError(Exception):
    pass


def test_raises_what_the_callback_raises() -> None:
    def refuse(_: Progress) -> None:
        raise OwnError("enough")

    # An hour if the exception did not end it: annealing alone proves nothing.
    with pytest.raises(OwnError, match="enough"):
        checkmate.solve(checkmate.load("zoo:unet?batch=32"), "60%", method="anneal", gap=0, time_limit=3600, progress=refuse)


def test_a_callback_may_solve(two_layers: Graph) -> None:
    inner: list[int] = []
    checkmate.solve(two_layers, "20MiB", progress=lambda _: inner.append(checkmate.solve(two_layers, "20MiB").cost))
    assert inner
    assert set(inner) == {261}


def test_solves_on_many_threads(two_layers: Graph) -> None:
    costs: list[int] = []
    threads = [threading.Thread(target=lambda: costs.append(checkmate.solve(two_layers, "20MiB").cost)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert costs == [261] * 8


def test_what_the_system_refuses_is_an_error_that_says_so(run_python: RunPython) -> None:
    """A thread, for whose stack there is no room. Whatever else is thrown comes the same way."""
    code = """
import resource, checkmate
graph = checkmate.load("zoo:linear?n=8")
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 20),) * 2)
try:
    checkmate.solve(graph, "90%", progress=False)
except checkmate.Error as error:
    print(error.code, error)
"""
    run = run_python("-c", code)
    assert run.stdout.startswith("io the system gives no thread for the search; see ulimit"), run.stderr


def test_finds_the_least_budget(two_layers: Graph) -> None:
    least = checkmate.least_budget(two_layers)
    assert least.needed == least.sufficient == least.plan.peak == 18 * MIB
    assert "back 1" in least.detail
    assert checkmate.solve(two_layers, least.sufficient, start=least.plan).cost <= least.plan.cost
    with pytest.raises(checkmate.Error, match="time limit"):
        checkmate.least_budget(two_layers, time_limit=0)


def test_has_patience_for_so_many_seconds_only(two_layers: Graph) -> None:
    assert checkmate.solve(two_layers, "20MiB", patience=1).cost == 261
    with pytest.raises(checkmate.Error, match="patience"):
        checkmate.solve(two_layers, "20MiB", patience=-1)
