"""Training on a real GPU. These tests run where torch finds one; elsewhere `test_cuda_loop` has stand-ins."""

import numpy as np
import pytest
import torch
from torch.utils._pytree import tree_leaves

from lockstep_bench import methods
from lockstep_bench.bench import conformance
from lockstep_bench.bench.conformance.examined import REGRESSION, TRAIN_ROWS, Examined, data_of, middle_of
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Fit
from lockstep_bench.bench.engine.stacked_training import train_stacked

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

STACKED = [name for name in methods.names() if methods.get(name).stackable]


def trained(name, n_fits=3, execution="captured", dtype=torch.float32, updates=20):
    method = methods.get(name)
    hparams = middle_of(method.search_space(REGRESSION))
    fits = [Fit(TRAIN_ROWS, hparams, seed) for seed in range(n_fits)]
    schedule = Schedule.exactly(method, len(TRAIN_ROWS), 5, updates)
    return train_stacked(
        method, REGRESSION, data_of(REGRESSION, "cuda"), fits, schedule, execution=execution, dtype=dtype
    )


@pytest.mark.parametrize("name", [name for name in STACKED if Examined(methods.get(name), [REGRESSION]).tasks])
def test_updates_of_a_run_on_a_gpu_equal_single_updates(name):
    in_graphs, single = (
        tree_leaves(trained(name, execution=way, dtype=torch.float64).posterior) for way in ("captured", "eager")
    )
    tensors = [pair for pair in zip(in_graphs, single, strict=True) if isinstance(pair[0], torch.Tensor)]
    assert all(leaf.device.type == "cuda" for pair in tensors for leaf in pair)
    for one, other in tensors:
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-8)


def test_a_fit_on_a_gpu_does_not_depend_on_its_neighbours():
    for name in ("map", "mfvi", "vifa"):
        alone, among = (
            next(iter(trained(name, n_fits, dtype=torch.float64).predict([np.arange(30, 40)] * n_fits, 5)))
            for n_fits in (1, 50)
        )
        torch.testing.assert_close(among, alone, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ["map", "vifa", "swag"])
def test_methods_pass_the_conformance_checks_on_a_gpu(name):
    findings = list(conformance.check(methods.get(name), tasks=[REGRESSION], device="cuda"))
    assert all(finding.passed for finding in findings), [each.detail for each in findings if not each.passed]
