"""Compiles the probes of the C++ headers, once per session, and makes compilers that misbehave."""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from lockstep_bench.bench.engine.graph_capture import trace, values_of
from lockstep_bench.bench.native import compiler, libraries
from lockstep_bench.bench.native.library_cache import CACHE_VARIABLE
from lockstep_bench.bench.native.loop import ExampleInputs, Replicas, UpdateLoops

PROBES = """
#include "random.hpp"

template <class V, class T, class Function> void each(const T *x, T *y, long count, Function function) {
    for (long i = 0; i < count; i += W) {
        V v;
        memcpy(&v, x + i, sizeof v);
        v = function(v);
        memcpy(y + i, &v, sizeof v);
    }
}
template <class V, class T, class Function> void pairs(const T *a, const T *b, T *y, long count, Function function) {
    for (long i = 0; i < count; i += W) {
        V v, w;
        memcpy(&v, a + i, sizeof v);
        memcpy(&w, b + i, sizeof w);
        v = function(v, w);
        memcpy(y + i, &v, sizeof v);
    }
}
#define UNARY(name)                                                                                                  \\
    void float_##name(const float *x, float *y, long n) { each<F>(x, y, n, [](F v) { return name##_(v); }); }        \\
    void double_##name(const double *x, double *y, long n) { each<D>(x, y, n, [](D v) { return name##_(v); }); }
#define BINARY(name)                                                                                                 \\
    void float_##name(const float *a, const float *b, float *y, long n) {                                            \\
        pairs<F>(a, b, y, n, [](F v, F w) { return name##_(v, w); });                                                \\
    }                                                                                                                \\
    void double_##name(const double *a, const double *b, double *y, long n) {                                        \\
        pairs<D>(a, b, y, n, [](D v, D w) { return name##_(v, w); });                                                \\
    }
extern "C" {
UNARY(exp) UNARY(expm1) UNARY(log) UNARY(log1p) UNARY(sqrt) UNARY(tanh) UNARY(sigmoid) UNARY(log_sigmoid)
UNARY(softplus) UNARY(sin) UNARY(cos) UNARY(erf) UNARY(ndtr) UNARY(ndtri) UNARY(abs) UNARY(sign) UNARY(floor)
UNARY(round)
BINARY(pow) BINARY(remainder) BINARY(min) BINARY(max)
void float_power(const float *x, float *y, long n, float exponent) {
    each<F>(x, y, n, [=](F v) { return pow_(v, exponent); });
}
void float_clamp(const float *x, float *y, long n) {
    each<F>(x, y, n, [](F v) { return clamp_(v, splat(-1.0f), splat(2.0f)); });
}
void float_nan_to_num(const float *x, float *y, long n) {
    each<F>(x, y, n, [](F v) { return nan_to_num_(v, 5.0f, 6.0f, 7.0f); });
}
void float_is_nan(const float *x, float *y, long n) {
    each<F>(x, y, n, [](F v) { return convert<F>(is_nan(v)); });
}
void sine_of_turns(const float *x, float *y, long n) {
    each<F>(x, y, n, [](F v) { F s, c; sincos_turns(v, s, c); return s; });
}
void cosine_of_turns(const float *x, float *y, long n) {
    each<F>(x, y, n, [](F v) { F s, c; sincos_turns(v, s, c); return c; });
}
}
template <class V, class T> void normals(uint64_t *states, T *out, int count, int calls) {
    Sfc64 generator;
    for (int lane = 0; lane < W; lane++) generator.load(lane, states + 4 * lane);
    for (int call = 0; call < calls; call++) {
        V numbers[64];
        fill_normal(generator, numbers, count);
        memcpy(out + long(call) * count * W, numbers, count * sizeof(V));
    }
    for (int lane = 0; lane < W; lane++) generator.store(lane, states + 4 * lane);
}
extern "C" {
void words(uint64_t *states, uint64_t *out, int count) {
    Sfc64 generator;
    for (int lane = 0; lane < W; lane++) generator.load(lane, states + 4 * lane);
    for (int i = 0; i < count; i++) {
        UL word = generator.next();
        memcpy(out + i * W, &word, sizeof word);
    }
    for (int lane = 0; lane < W; lane++) generator.store(lane, states + 4 * lane);
}
void float_normals(uint64_t *states, float *out, int count, int calls) { normals<F>(states, out, count, calls); }
void double_normals(uint64_t *states, double *out, int count, int calls) { normals<D>(states, out, count, calls); }
}
"""


@pytest.fixture
def empty_cache(monkeypatch, tmp_path):
    """The cache is a folder that is not there, and nothing is known of the compiler."""
    known = compiler.compiler, compiler.target, libraries.obstacle, libraries.lanes
    for function in known:
        function.cache_clear()
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    yield tmp_path / "cache"
    for function in known:
        function.cache_clear()


@pytest.fixture
def use_compiler(empty_cache, monkeypatch, tmp_path):
    """Returns a function that makes a shell script the compiler, and returns its path."""

    def use(script: str, name: str = "fake-c++") -> str:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("CXX", str(path))
        return str(path)

    return use


@pytest.fixture(scope="session")
def library_of(tmp_path_factory):
    """Return a function that compiles a program with the headers, as loops are compiled."""
    if reason := libraries.obstacle():
        pytest.skip(reason)

    def compiled(source: str) -> ctypes.CDLL:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(CACHE_VARIABLE, str(tmp_path_factory.mktemp("libraries")))
            return libraries.compiled(source)

    return compiled


@pytest.fixture(scope="session")
def probes(library_of):
    """Return the shared library with the functions of `PROBES`."""
    return library_of(PROBES)


@pytest.fixture
def fast_compiler(monkeypatch):
    """Loops compile in a third of the time, and run slower."""
    monkeypatch.setattr(compiler, "FLAGS", (*compiler.FLAGS, "-O1"))
    compiler.target.cache_clear()
    yield
    compiler.target.cache_clear()


@dataclass(frozen=True)
class Update:
    """A function of the tensors of one replica, compiled to a native loop.

    Attributes:
        seen: operators of its graph.
        outcomes: results of the loop after one update, (R, ...) each.
        expected: results of torch, one replica after the other.
    """

    seen: set[Any]
    outcomes: list[Tensor]
    expected: list[Tensor]


N_REPLICAS = 19  # more than the lanes of one block


def _run_update(function: Callable[..., Sequence[Tensor]], arguments: Sequence[Tensor], fixed: Sequence[Tensor] = ()):
    """Return what a native loop and torch compute, as `Update`.

    Args:
        function: maps one replica's `fixed` and `arguments` to tensors.
        arguments: (R, ...) each, tensors that may change from update to update.
        fixed: (R, ...) each, tensors that stay the same.
    """
    per_replica = [[leaf[number] for leaf in (*fixed, *arguments)] for number in range(N_REPLICAS)]
    expected = [torch.stack(list(parts)) for parts in zip(*(function(*leaves) for leaves in per_replica), strict=True)]
    results = [torch.zeros_like(leaf) for leaf in expected]
    n_fixed = len(fixed)

    def update(*leaves: Tensor) -> list[Tensor]:
        given = leaves[n_fixed : n_fixed + len(arguments)]
        return [*given, *function(*leaves[:n_fixed], *given)]

    # One layout is enough: both write the same expressions, and other tests compare them.
    outcomes, seen = _run_updates(update, [*arguments, *results], fixed, [1], layouts=[False])
    for before, after in zip(arguments, outcomes, strict=False):
        assert torch.equal(before.nan_to_num(), after.nan_to_num())
    return Update(seen, outcomes[len(arguments) :], expected)


def _run_updates(
    function: Callable[..., Sequence[Tensor]],
    state: Sequence[Tensor],
    fixed: Sequence[Tensor],
    cuts: Sequence[int],
    layouts: Sequence[bool] = (True, False),
) -> tuple[list[Tensor], set[Any]]:
    """Return the state after the updates of native loops, the same in both layouts, and the operators of their graph.

    Args:
        function: maps one replica's `fixed` and `state` to the next state.
        state: (R, ...) each, tensors before the first update.
        fixed: (R, ...) each, tensors that stay the same.
        cuts: updates of each call.
        layouts: whether lanes hold replicas, for each loop that is made.
    """
    streams = ExampleInputs(
        x=torch.zeros(1, 1, dtype=torch.float64),
        y=torch.zeros(1, dtype=torch.float64),
        index=torch.zeros(1, 1, dtype=torch.int64),
        noise=torch.zeros(0),
        count=torch.ones(()),
    )
    n_fixed, n_streams = len(fixed), len(streams.tensors())

    def update(*leaves: Tensor) -> list[Tensor]:
        return list(function(*leaves[:n_fixed], *leaves[n_fixed + n_streams :]))

    one_fixed, one_state = ([leaf[0].clone() for leaf in leaves] for leaves in (fixed, state))
    examples = [*one_fixed, *streams.tensors(), *one_state]
    graph = trace(update, examples)
    with pytest.MonkeyPatch.context() as patch:  # hundreds of operators compile in a tenth of the time
        patch.setattr(compiler, "FLAGS", (*compiler.FLAGS, "-O1"))
        compiler.target.cache_clear()
        loops = UpdateLoops(graph, values_of(graph, examples), one_fixed, streams, one_state)
        made = [loops.loop(across) for across in layouts]
    compiler.target.cache_clear()
    states = []
    for loop in made:
        generators = np.zeros((N_REPLICAS, 4), dtype=np.uint64)
        replicas = Replicas(loop.blocks_of(N_REPLICAS), fixed, streams.x, streams.y, state, generators)
        first = 1
        for count in cuts:
            replicas.advance(loop, np.zeros((count, N_REPLICAS, 1, 1), dtype=np.int64), first)
            first += count
        states.append(replicas.state())
    for ours, others in zip(states[0], states[-1], strict=True):
        assert torch.equal(ours.double().nan_to_num(), others.double().nan_to_num()), "the layouts give other numbers"
    return states[0], {node.target for node in graph.graph.nodes}


@pytest.fixture(scope="session")
def run_update() -> Callable[..., Update]:
    """`run_update(function, arguments, fixed=())`: see `_run_update`."""
    return _run_update


@pytest.fixture(scope="session")
def run_updates() -> Callable[..., tuple[list[Tensor], set[Any]]]:
    """`run_updates(function, state, fixed, cuts)`: see `_run_updates`."""
    return _run_updates
