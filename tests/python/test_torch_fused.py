"""Steps over fused kernels: the same numbers whatever the plan, eager's but for rounding, in the arena."""

from __future__ import annotations

import copy
import itertools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import fx, nn
from torch._dynamo.utils import counters
from torch._inductor import config as inductor_config
from torch._inductor.compile_fx import compile_fx_inner
from torch._inductor.cpp_builder import CppBuilder
from torch._inductor.exc import InvalidCxxCompiler

import checkmate
from checkmate.torch import runtime
from checkmate.torch.execution import NativeExecution
from checkmate.torch.fused import compiling, inductor
from checkmate.torch.fused.decomposition import decomposed
from checkmate.torch.fused.grouping import Late, grouped
from checkmate.torch.fused.kernels import FusedKernel, Subgraph
from checkmate.torch.fused.min_cut import saved_values
from checkmate.torch.fused.recipe import recipe
from checkmate.torch.fused.step import Fusible
from checkmate.torch.fused.values import Values, bytes_of
from checkmate.torch.guards import ModelState
from checkmate.torch.lowering import lower
from checkmate.torch.options import Options
from checkmate.torch.trace import trace_step

Case = tuple[nn.Module, Callable[..., Any], tuple[Any, ...]]
in_cpp = pytest.mark.skipif(runtime._extension() is None, reason="needs the runtime in C++")


class Words(nn.Module):
    """A transformer: norms, attention, dropout, a loss over words."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(64, 32)
        self.layers = nn.Sequential(*(nn.TransformerEncoderLayer(32, 2, 64, dropout=0.1, batch_first=True) for _ in range(3)))
        self.head = nn.Linear(32, 64)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(self.words(ids)))


def sentences() -> Case:
    return Words(), lambda m, x: nn.functional.cross_entropy(m(x).flatten(0, 1), x.flatten()), (torch.randint(64, (8, 16)),)


def images() -> Case:
    blocks = [nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True)) for _ in range(3)]
    model = nn.Sequential(nn.Conv2d(3, 8, 3), *blocks, nn.Dropout(0.2), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 4))
    return model, lambda m, x, y: nn.functional.cross_entropy(m(x), y), (torch.randn(8, 3, 16, 16), torch.randint(4, (8,)))


def rotations() -> Case:
    """Halves that change places, as in rotary embeddings: no kernel may write over what it has still to read."""
    model = nn.Sequential(nn.Linear(16, 16), nn.Linear(16, 16))

    def loss(m: nn.Sequential, x: torch.Tensor) -> torch.Tensor:
        h = m[0](x)
        for _ in range(2):
            a, b = h.chunk(2, -1)
            h = h * 0.5 + torch.cat((-b, a), -1).sin()
        return m[1](h.view(4, 4, 4, 16).transpose(1, 2).reshape(64, 16)).square().mean()

    return model, loss, (torch.randn(64, 16),)


CASES = {case.__name__: case for case in (sentences, images, rotations)}


def gradients(model: nn.Module) -> list[torch.Tensor]:
    return [p.grad.clone() for p in model.parameters() if p.grad is not None]


def eager_gradients(case: Case) -> list[torch.Tensor]:
    model, loss_fn, batch = case
    model = copy.deepcopy(model)
    torch.manual_seed(1)
    loss_fn(model, *batch).backward()
    return gradients(model)


def assert_close(found: list[torch.Tensor], expected: list[torch.Tensor]) -> None:
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(("name", "budget"), [("sentences", None), ("sentences", "75%"), ("images", "95%"), ("rotations", None)])
def test_numbers_are_eagers_but_for_rounding_and_the_same_in_every_plan(name: str, budget: str | None, tmp_path: Path) -> None:
    model, loss_fn, batch = case = CASES[name]()
    expected = eager_gradients(case)
    step = checkmate.compile(model, loss_fn, batch, budget, kernels="fused", time_limit=2, cache=tmp_path)
    torch.manual_seed(1)
    step(*batch)
    assert_close(gradients(model), expected)  # dropout draws what eager draws
    model.zero_grad()
    seen = checkmate.verify(step, batch, repeats=1, resident=False, reference=True)
    assert seen.from_keep_all.none, str(seen)
    assert seen.measured_peak == seen.predicted_peak
    assert seen.error is not None
    assert seen.error < 1e-4
    assert any("fused(" in op.kind for op in step.graph.ops)


@in_cpp
@pytest.mark.parametrize("name", CASES)
def test_kernels_run_in_cpp_at_planned_addresses(name: str, tmp_path: Path) -> None:
    model, loss_fn, batch = CASES[name]()
    step = checkmate.compile(model, loss_fn, batch, kernels="fused", cache=tmp_path)
    step(*batch)
    execution = step._latest.execution
    assert isinstance(execution, NativeExecution)
    assert execution.unplanned == 0
    kernels = [call.target for unit in step._latest.program.units for call in unit.calls if isinstance(call.target, FusedKernel)]
    assert kernels
    assert all(kernel.native is not None for kernel in kernels)


def test_what_a_wrapper_does_beyond_buffers_and_pointers_is_left_to_python() -> None:
    wrapper = "def call(args):\n    a, = args\n    args.clear()\n    {}\n    return (buf, )\n"
    assert recipe(wrapper.format("buf = extern_kernels.mm(a, a)"), {}) is None
    assert recipe(wrapper.format("buf = empty_strided_cpu((2, n), (2, 1), torch.float32)"), {}) is None
    assert recipe("no Python", {}) is None
    found = recipe(wrapper.format("buf = empty_strided_cpu((2, 3), (3, 1), torch.float32)"), {})
    assert found is not None
    assert found.actions == [([(1, 0)], ([2, 3], [3, 1], "float32"), 0)]
    assert found.results == [1]
    assert recipe(wrapper.format("buf = reinterpret_tensor(a, (2, 3), (3, 1), 4)"), {}) is None
    assert recipe(wrapper.format("buf = reinterpret_tensor(a, (2, 3), (3, 1), 0)"), {}) is None  # an argument is no result


def test_more_pointers_than_the_runtime_can_pass_are_left_to_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checkmate.torch.fused.recipe._address", lambda _: 1)
    body = "a, = args\n    buf = empty_strided_cpu((2, 3), (3, 1), torch.float32)\n    function({})\n    return (buf, )\n"
    text = f"def call(args):\n    {body}"
    assert recipe(text.format(", ".join(["a"] * 64)), {"function": None}) is not None
    assert recipe(text.format(", ".join(["a"] * 65)), {"function": None}) is None


def test_results_that_share_memory_are_taken_apart() -> None:
    def compiler(_: fx.Graph) -> Any:
        def call(inputs: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
            made = inputs[0] + 1
            return inputs[0], made, made.view(-1)

        return call

    x, empty = torch.randn(4), fx.Graph()
    empty.output(())
    first, second, third = FusedKernel(Subgraph(empty, [], [], ""), compiler)(x)
    assert torch.equal(first, x)
    assert torch.equal(third, second)
    assert len({t.untyped_storage().data_ptr() for t in (x, first, second, third)}) == 4


def test_writing_over_an_argument_changes_no_number() -> None:
    model, loss_fn, batch = sentences()
    program = checkmate.compile(model, loss_fn, batch, kernels="fused", costs="flops")._latest.program
    calls = [call for unit in program.units for call in unit.calls if isinstance(call.target, FusedKernel)]
    in_place = [call for call in calls if call.written is not None]
    assert in_place
    for call in in_place:
        inputs = [_example(argument.meta["val"]) for argument in call.node.args]
        expected = call.node.target(*(tensor.clone() for tensor in inputs))
        written = inputs.pop(call.written)
        for found, wanted in zip(call.target(written, *inputs), expected, strict=True):
            assert torch.equal(found, wanted)


def _example(like: torch.Tensor) -> torch.Tensor:
    with torch.random.fork_rng():
        return torch.empty_strided(like.shape, like.stride(), dtype=like.dtype).copy_(torch.rand(like.shape).round(decimals=1))


def test_an_argument_that_is_read_elsewhere_is_not_overwritten() -> None:
    model, loss_fn, batch = rotations()
    program = checkmate.compile(model, loss_fn, batch, kernels="fused", costs="flops")._latest.program
    for kernel in {call.target for unit in program.units for call in unit.calls if isinstance(call.target, FusedKernel)}:
        if "cat" in kernel.kind or "slice" in kernel.kind:
            assert not kernel.can_overwrite(0, 0)


def values_of(case: Case) -> Values:
    model, loss_fn, batch = case
    return Values(decomposed(trace_step(ModelState(model), loss_fn, batch))[0])


def test_saved_values_are_the_fewest_bytes() -> None:
    def loss(m: nn.Sequential, x: torch.Tensor) -> torch.Tensor:
        h = m[0](x)
        return (m[1](nn.functional.gelu(h)).tanh() * 2).sum()

    values = values_of((nn.Sequential(nn.Linear(4, 16), nn.Linear(16, 4)), loss, (torch.randn(8, 4),)))
    forward = [v for node in values.makers() if values.is_forward(node) for v in values.values_of(node)]
    late = [v for v in forward if any(not values.is_forward(reader) for reader in values.readers.get(v, []))]

    def suffices(saved: set[fx.Node]) -> bool:
        """Whether all that is read late can be computed from these by free ops."""

        def known(found: fx.Node) -> bool:
            maker = values.maker(found)
            return found in saved or found.op == "placeholder" or (values.is_free(maker) and all(map(known, values.reads(maker))))

        return all(map(known, late))

    def size(saved: set[fx.Node]) -> int:
        return sum(bytes_of(v) for v in saved if v not in values.outputs)

    found = saved_values(values, for_kernels=True)
    subsets = [set(s) for n in range(len(forward) + 1) for s in itertools.combinations(forward, n)] if len(forward) < 16 else []
    assert subsets
    assert suffices(found)
    assert size(found) == min(size(subset) for subset in subsets if suffices(subset))


@pytest.mark.parametrize("late", Late)
def test_every_value_leaves_one_group(late: Late) -> None:
    values = values_of(sentences())
    groups = grouped(values, late)
    made = [found for group in groups for found in group.made]
    assert len(made) == len(set(made))
    assert values.outputs - set(made) <= set(values.trace.inputs)
    assert any(group.copies for group in groups) == (late is Late.COPY)


def test_a_group_that_cannot_be_compiled_runs_op_by_op(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compile_graph = inductor.compile_graph

    def fails_for_norms(mode: Any, graph: fx.Graph) -> Any:
        if any("var_mean" in str(node.target) for node in graph.nodes):
            raise RuntimeError("no norms today\nand more")
        return compile_graph(mode, graph)

    monkeypatch.setattr("checkmate.torch.fused.step.compile_graph", fails_for_norms)
    model, loss_fn, batch = case = sentences()
    expected = eager_gradients(case)
    step = checkmate.compile(model, loss_fn, batch, "75%", kernels="fused", time_limit=2, cache=tmp_path)
    reasons = list(step._latest.refused.values())
    assert reasons
    assert all(each.startswith("fused(") and each.endswith("RuntimeError: no norms today") for each in reasons)
    assert any(op.kind == "var_mean, not fused" for op in step.graph.ops)
    torch.manual_seed(1)
    step(*batch)
    assert_close(gradients(model), expected)
    model.zero_grad()
    again = checkmate.compile(model, loss_fn, batch, step.plan.budget, kernels="fused", plan=step.plan, cache=tmp_path)
    assert again.plan.steps == step.plan.steps


def test_softmax_is_written_over_its_argument() -> None:
    """Inductor asks an op how it reads what it only has to follow, and fails where outer loops are fused."""

    def attention(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        q, k, v = m(x).view(8, 16, 3, 2, 8).permute(2, 0, 3, 1, 4)
        return nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=0.1).square().mean()

    trace = trace_step(ModelState(nn.Linear(16, 48)), attention, (torch.randn(8, 16, 16),))
    program = lower(Fusible(trace).fused(Late.SPLIT))
    calls = [call for unit in program.units for call in unit.calls if isinstance(call.target, FusedKernel)]
    assert any("amax" in call.target.kind and call.written is not None for call in calls)
    with inductor_config.patch(force_disable_caches=True):
        assert not compiling.compile_kernels(program, Options(None))


def test_a_warning_of_the_compiler_is_no_reason_not_to_fuse(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def warns(*arguments: Any) -> Any:
        warnings.warn("of torch, of itself", stacklevel=2)  # an error here, as in all our tests
        return compile_fx_inner(*arguments)

    monkeypatch.setattr(inductor, "compile_fx_inner", warns)
    model, loss_fn, batch = images()
    step = checkmate.compile(model, loss_fn, batch, kernels="fused", cache=tmp_path)
    assert not step._latest.refused
    assert any(op.kind.startswith("fused(") for op in step.graph.ops)


@in_cpp
def test_a_kernel_that_only_python_can_call_is_called_and_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("checkmate.torch.fused.kernels.recipe", lambda *_: None)
    model, loss_fn, batch = case = images()
    expected = eager_gradients(case)
    step = checkmate.compile(model, loss_fn, batch, kernels="fused", cache=tmp_path)
    assert all(op.kind.endswith(", called from Python") for op in step.graph.ops if op.kind.startswith("fused("))
    torch.manual_seed(1)
    step(*batch)
    assert step._latest.execution.unplanned == 0
    assert_close(gradients(model), expected)


def test_without_a_compiler_kernels_are_aten(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> str:
        raise InvalidCxxCompiler

    monkeypatch.setattr(inductor, "get_cpp_compiler", missing)
    inductor.compiler_is_there.cache_clear()
    model, loss_fn, batch = images()
    try:
        with pytest.warns(UserWarning, match="no C\\+\\+ compiler"):
            step = checkmate.compile(model, loss_fn, batch, kernels="fused", costs="flops")
    finally:
        inductor.compiler_is_there.cache_clear()
    assert not any("fused(" in op.kind for op in step.graph.ops)


def test_a_step_that_cannot_be_decomposed_is_told_and_runs_ops(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: Any) -> Any:
        raise RuntimeError("no rule for this")

    monkeypatch.setattr("checkmate.torch.fused.step.decomposed", fails)
    model, loss_fn, batch = images()
    with pytest.warns(UserWarning, match=r"cannot be fused \(RuntimeError: no rule for this\): kernels=\"aten\" is taken"):
        step = checkmate.compile(model, loss_fn, batch, kernels="fused", costs="flops")
    assert not any("fused(" in op.kind for op in step.graph.ops)


def test_a_second_start_compiles_nothing(tmp_path: Path) -> None:
    model, loss_fn, batch = images()
    checkmate.compile(model, loss_fn, batch, "95%", kernels="fused", time_limit=2, cache=tmp_path)
    counters.clear()
    step = checkmate.compile(model, loss_fn, batch, "95%", kernels="fused", time_limit=2, cache=tmp_path)
    assert counters["inductor"]["fxgraph_cache_hit"] > 0
    assert not counters["inductor"]["fxgraph_cache_miss"]
    assert not counters["inductor"]["fxgraph_cache_bypass"]
    assert not compiling.compile_kernels(step._latest.program, step.options)


def test_accumulation_other_shapes_and_a_given_plan(tmp_path: Path) -> None:
    model, loss_fn, batch = sentences()
    twin = copy.deepcopy(model)
    step = checkmate.compile(model, loss_fn, batch, "75%", kernels="fused", time_limit=2, cache=tmp_path)
    short = (batch[0][:5],)
    for each in (batch, short, short):
        torch.manual_seed(1)
        step(*each)
        torch.manual_seed(1)
        loss_fn(twin, *each).backward()
    assert_close(gradients(model), gradients(twin))
    model.zero_grad()
    step(*batch)
    step.plan.save(tmp_path / "plan.json")
    model.zero_grad()
    again = checkmate.compile(
        model, loss_fn, batch, step.plan.budget, kernels="fused", plan=tmp_path / "plan.json", cache=tmp_path
    )
    assert again.plan.steps == step.plan.steps


def test_optimizer_in_the_step_and_autocast(tmp_path: Path) -> None:
    model, _, batch = sentences()

    def loss_fn(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return nn.functional.cross_entropy(m(x).flatten(0, 1), x.flatten())

    twin = copy.deepcopy(model)
    optimizer, plain = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (model, twin))
    step = checkmate.compile(model, loss_fn, batch, "75%", kernels="fused", optimizer=optimizer, time_limit=2, cache=tmp_path)
    torch.manual_seed(1)
    step(*batch)
    torch.manual_seed(1)
    loss_fn(twin, *batch).backward()
    plain.step()
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=5e-2, atol=2e-3)


def test_kernels_must_be_known() -> None:
    model, loss_fn, batch = images()
    with pytest.raises(checkmate.Error, match='kernels must be "aten" or "fused", got \'triton\''):
        checkmate.compile(model, loss_fn, batch, kernels="triton")


def test_lanes_that_a_mask_hides_are_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))
    commands: list[str] = []
    command_of = CppBuilder.get_command_line

    def noted(builder: CppBuilder) -> str:
        commands.append(command_of(builder))
        return commands[-1]

    monkeypatch.setattr(CppBuilder, "get_command_line", noted)
    checkmate.compile(*rotations(), None, kernels="fused", cache=tmp_path)
    # What a call before left on the stack would have a part in which bits a sine has.
    assert any("-ftrivial-auto-var-init=zero" in command for command in commands)
