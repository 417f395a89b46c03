"""Problems whose exact answer is known."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch

from methods.likelihoods import Gaussian
from methods.networks import MLP
from methods.problem import Batch, Problem


@pytest.fixture
def problem():
    """A small ReLU network on 12 standardised rows, in float64."""
    one = torch.tensor(1.0, dtype=torch.float64)
    return Problem(MLP(3, hidden=(4,)), Gaussian((0.01, 1.0)), 12 * one, 2 * one, 3 * one)


@pytest.fixture
def hparams():
    values = {"lr": 0.05, "prior_precision": 0.7, "noise_precision": 0.3}
    return SimpleNamespace(**{name: torch.tensor(value, dtype=torch.float64) for name, value in values.items()})


@pytest.fixture
def batches():
    """Makes L minibatches of M standardised rows with 3 features."""

    def make(n_batches: int, size: int = 5) -> Batch:
        generator = np.random.default_rng(3)
        x = generator.standard_normal((n_batches, size, 3))
        return Batch(torch.tensor(x), torch.tensor(np.sin(x.sum(-1))))

    return make


@pytest.fixture(scope="session")
def torchvision() -> ModuleType:
    """torchvision, also where a build for GPUs lies beside a torch for CPUs alone, which lacks two of its operators."""
    try:
        return pytest.importorskip("torchvision")
    except RuntimeError:
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        missing = torch.library.Library("torchvision", "FRAGMENT")
        missing.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        missing.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        import torchvision

        return torchvision
