"""torch's compiler, for one graph of fixed shapes."""

from __future__ import annotations

import contextlib
import functools
import subprocess
import warnings
from collections.abc import Iterator
from typing import Any, cast
from unittest import mock

from torch import fx
from torch._guards import TracingContext, tracing
from torch._inductor import config
from torch._inductor.compile_fx import compile_fx_inner
from torch._inductor.cpp_builder import get_cpp_compiler
from torch._inductor.exc import InvalidCxxCompiler
from torch._inductor.loop_body import LoopBody
from torch._inductor.virtualized import V
from torch._subclasses.fake_tensor import FakeTensorMode

from checkmate.torch.fused.kernels import Compiled
from checkmate.torch.fx_utils import value


@functools.cache
def compiler_is_there() -> bool:
    """Whether there is a C++ compiler; a warning says so if not."""
    try:
        get_cpp_compiler()
    except InvalidCxxCompiler:
        warnings.warn('there is no C++ compiler to fuse kernels with: kernels="aten" is taken; install g++', stacklevel=2)
        return False
    return True


def compile_graph(mode: FakeTensorMode, graph: fx.Graph) -> Compiled:
    """A function of a list of tensors, in the layouts of the graph's inputs. Inductor keeps it on disk."""
    fakes = [value(node) for node in graph.find_nodes(op="placeholder")]
    with (
        warnings.catch_warnings(),
        tracing(TracingContext(mode)),
        V.set_fake_mode(mode),
        _followers_need_not_read(),
        _unused_lanes_are_zero(),
    ):
        warnings.simplefilter("ignore")  # torch's, of itself: where warnings are errors, they would end the compilation
        return cast(Compiled, compile_fx_inner(fx.GraphModule({}, graph), fakes))


@contextlib.contextmanager
def _unused_lanes_are_zero() -> Iterator[None]:
    """Inductor leaves lanes of a vector that a mask hides as they are on the stack. Sines of a vector are computed in another way
    where one of its lanes is large: the others would round by what a call before had left there."""
    contraction = config.cpp.enable_floating_point_contract_flag  # its value goes onto the compiler's command line as it is
    flag = _initializing_flag()
    with config.patch({"cpp.enable_floating_point_contract_flag": f"{contraction} {flag}" if flag else contraction}):
        yield


@functools.cache
def _initializing_flag() -> str | None:
    """Of the compiler, where it can: of GCC from 12 on, of clang from 16 on."""
    flag = "-ftrivial-auto-var-init=zero"
    nothing = [get_cpp_compiler(), flag, "-fsyntax-only", "-x", "c++", "/dev/null"]
    return flag if subprocess.run(nothing, capture_output=True, check=False).returncode == 0 else None


@contextlib.contextmanager
def _followers_need_not_read() -> Iterator[None]:
    """An op that writes over an argument has to follow those that read it, and counts as a user of what they make without reading
    that. Where Inductor fuses outer loops, it asks every user how it reads, and fails on such a one (KeyError: 'buf1')."""
    read_index = LoopBody.get_read_expr

    def index_if_read(body: LoopBody, buffer: str) -> Any:
        try:
            return read_index(body, buffer)  # type: ignore[no-untyped-call]
        except KeyError:
            return None  # like no index that Inductor compares it with

    with mock.patch.object(LoopBody, "get_read_expr", index_if_read):
        yield
