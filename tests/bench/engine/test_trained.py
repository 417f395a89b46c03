"""Trained fits say how they were trained."""

import numpy as np
import pytest
import torch

from lockstep_bench.bench.engine import native_training
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.native_training import MIN_UPDATES
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.bench.native import loop
from lockstep_bench.bench.native.compiler import NoCompiler, compiler
from lockstep_bench.methods.map import MAP
from lockstep_bench.methods.maths.likelihoods import Gaussian
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import Task

TASK = Task("tiny", Gaussian((0.1, 10.0)), MLP(2, hidden=(3,)))
HPARAMS = {"lr": 0.01, "prior_precision": 1.0, "noise_precision": 1.0}
DATA = Data.of(np.random.default_rng(0).standard_normal((12, 2)), np.arange(12.0))


def execution(updates: int = MIN_UPDATES, dtype: torch.dtype = torch.float32, **options) -> str:
    fits, schedule = [Fit(np.arange(12), HPARAMS, seed) for seed in (0, 1)], Schedule(12, 4, updates, 1, updates)
    return train_stacked(MAP(), TASK, DATA, fits, schedule, dtype=dtype, **options).execution


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"updates": MIN_UPDATES - 1}, "captured"),
        ({"dtype": torch.float64}, "captured"),
        ({"updates": 2, "execution": "eager"}, "eager"),
        ({"updates": 2, "stacked": False}, "sequential"),
    ],
)
def test_fits_record_how_they_were_trained(options, expected):
    assert execution(**options) == expected


def test_stacks_of_many_updates_are_trained_natively():
    try:
        compiler()
    except NoCompiler as reason:
        pytest.skip(str(reason))
    assert execution() == "native"


def test_stacks_without_a_compiler_use_captured_graphs(monkeypatch):
    tried = []

    def refuse(*arguments):
        tried.append(arguments)
        raise NoCompiler("no C++ compiler was found")

    monkeypatch.setattr(loop, "compiled", refuse)
    monkeypatch.setattr(native_training, "_LOOPS", type(native_training._LOOPS)())
    for _ in range(2):
        with native_training.noted_obstacles() as obstacles:
            assert execution() == "captured"
        assert obstacles == {"map": "no C++ compiler was found"}
    assert len(tried) == 1  # to try again may take minutes


@pytest.mark.parametrize("updates", [MIN_UPDATES - 1, MIN_UPDATES])
def test_progress_rises_to_the_last_update(updates):
    told: list[int] = []
    execution(updates, on_update=told.append)
    assert told == sorted(set(told))
    assert told[-1] == updates
