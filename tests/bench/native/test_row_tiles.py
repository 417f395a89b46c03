"""Tiles of rows: the same bits as without tiles, in less memory."""

import platform
import re
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
import torch

from lockstep_bench import methods
from lockstep_bench.bench.engine import native_training
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.private_torch import tree_flatten
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.bench.engine.timing import TimedFit
from lockstep_bench.bench.native import loop, row_tiles, tile_heights
from lockstep_bench.bench.native.compiler import INCLUDE, compiler, run
from lockstep_bench.bench.native.libraries import lanes
from lockstep_bench.bench.native.tile_heights import depth_of


@pytest.fixture
def sources(monkeypatch):
    """Sources of the loops that are compiled."""
    monkeypatch.setattr(native_training, "MIN_UPDATES", 1)
    monkeypatch.setattr(native_training, "_LOOPS", OrderedDict())
    seen, compiled = [], loop.compiled
    monkeypatch.setattr(loop, "compiled", lambda source: seen.append(source) or compiled(source))
    return seen


def train(fit, name, n_across, monkeypatch):
    """Return the leaves of two fits after three updates; the first `n_across` fits share the lanes."""
    monkeypatch.setattr(native_training, "replicas_across", lambda *_: n_across)
    method, (x, y) = methods.get(name), fit.data()
    hparams = {"lr": 0.01, "prior_precision": 1.0, "noise_precision": 2.0}
    fits = [Fit(np.arange(fit.n_rows), hparams, seed) for seed in range(2)]
    schedule = Schedule.exactly(method, fit.n_rows, fit.batch_size, 3)
    trained = train_stacked(method, fit.task, Data.of(x, y), fits, schedule)
    assert trained.execution == "native"
    return [leaf for leaf in tree_flatten(trained.posterior)[0] if isinstance(leaf, torch.Tensor)]


@pytest.mark.parametrize(
    ("name", "fit"),
    [
        ("map", TimedFit((20, 20), 100, 130)),
        ("mfvi", TimedFit((7,), 100, 130, predicted_noise=True)),  # a last tile of other rows
        ("map", TimedFit((40,), 40, 50)),  # as many units as rows
        # Full batches, with a mask of the rows.
        pytest.param("mile", TimedFit((20, 20), 100, 130), marks=pytest.mark.slow),
    ],
)
def test_result_bits_do_not_depend_on_row_tiles(name, fit, sources, monkeypatch):
    """Neither on the height of tiles, in whose middle a piece of a sum may end."""
    results = []
    monkeypatch.setattr(tile_heights, "CACHED_BYTES", 1 << 10)
    for n_across, most_around, cached in (
        (2, 0, 0),
        (0, 0, 1),
        (2, 1 << 30, 2500),
        (2, 1 << 30, 5600),
        (1, 1 << 30, 2500),  # two loops of one recording
    ):
        monkeypatch.setattr(row_tiles, "MOST_BYTES_AROUND", most_around)
        for limit in ("NEAR_BYTES", "FAR_BYTES"):
            monkeypatch.setattr(tile_heights, limit, cached * lanes())
        native_training._LOOPS.clear()
        sources.clear()
        results.append(train(fit, name, n_across, monkeypatch))
        assert ("row += " in sources[0]) == (cached > 0)
    for other in results[1:]:
        assert all(map(torch.equal, results[0], other))


@pytest.mark.usefixtures("fast_compiler")  # sizes are written in the source
@pytest.mark.parametrize(
    ("name", "n_across", "loop_number", "row"),
    [
        ("map", 0, 0, 8),  # the index of a row
        ("map", 2, 0, 8),
        # The second phase has one gradient. In full batches, features, target and masks are the same at every update.
        ("mile", 0, 1, 8 + 6 * (8 + 8 + 4) + 8 + 4 + 2 * 4),
    ],
)
def test_row_tiles_need_memory_for_one_tile_only(name, n_across, loop_number, row, sources, monkeypatch):
    sizes = []
    for n_rows in (400, 800):
        sources.clear()
        train(TimedFit((64,), n_rows, n_rows), name, n_across, monkeypatch)
        sizes.append(int(re.findall(r"workspace_bytes\(\) \{ return (\d+)", sources[loop_number])[0]))
    assert sizes[1] - sizes[0] < 400 * (row + 64)  # where a row of activations has 256 bytes


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the compiler knows no other processor's instructions")
def test_summation_depth_equals_that_of_the_cpp_header(tmp_path):
    """The compiler compares them, for processors of both kinds."""
    sizes = [(6, 500, 50), (50, 500, 50), (200, 500, 200), (6, 500, 500), (500, 927, 1), (3, 100, 2), (12, 64, 9)]
    for flags, registers in ((["-mavx512f"], 32), (["-mavx2"], 16)):
        checks = [
            f"static_assert(linalg::depth_of({m}, {k}, {n}, false) == {depth_of(m, k, n, registers)});"
            for m, k, n in sizes
        ]
        source = Path(tmp_path, "depth.cpp")
        source.write_text('#include "linalg.hpp"\n' + "\n".join(checks))
        command = [*compiler(), "-std=c++17", "-Wno-psabi", *flags, f"-I{INCLUDE}", "-fsyntax-only", str(source)]
        code, messages = run(command, 60, "c++")
        assert code == 0, messages
