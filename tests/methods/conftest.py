"""Problems whose exact answer is known."""

from types import ModuleType

import numpy as np
import pytest
import torch

from lockstep_bench.datasets.images import vision
from lockstep_bench.methods.maths.likelihoods import Gaussian
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import Batch, HParams, Problem


@pytest.fixture
def problem(hparams):
    """A small ReLU network on 12 standardised rows, in float64."""
    one = torch.tensor(1.0, dtype=torch.float64)
    return Problem(MLP(3, hidden=(4,)), Gaussian((0.01, 1.0)), hparams, 12 * one, 2 * one, 3 * one)


@pytest.fixture
def hparams():
    values = {"lr": 0.05, "prior_precision": 0.7, "noise_precision": 0.3, "noise_df": 4.5}
    return HParams(**{name: torch.tensor(value, dtype=torch.float64) for name, value in values.items()})


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
    """torchvision, also where its compiled operators do not fit the installed torch."""
    return vision.torchvision()


@pytest.fixture
def log_posterior(problem):
    """Log posterior of a minibatch, up to a constant, written out: N times the mean log density, and the prior."""

    def log_density(weights: torch.Tensor, batch: Batch) -> torch.Tensor:
        precision = problem.hparams.noise_precision * problem.y_scale**2
        squares = (problem.network(weights, batch.x[0])[:, 0] - batch.y[0]) ** 2
        prior = -0.5 * problem.hparams.prior_precision * weights @ weights
        return -problem.n_train * 0.5 * precision * squares.mean() + prior

    return log_density


@pytest.fixture
def gradient_of(log_posterior):
    """Gradient of the log posterior of a minibatch, (D,), by autograd."""

    def gradient(weights: torch.Tensor, batch: Batch) -> torch.Tensor:
        leaf = weights.clone().requires_grad_()
        return torch.autograd.grad(log_posterior(leaf, batch), leaf)[0]

    return gradient


@pytest.fixture
def posteriors() -> ModuleType:
    """The samplers of the package posteriors, which is no requirement of the tests."""
    return pytest.importorskip("posteriors").sgmcmc
