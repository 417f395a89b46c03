"""Every method on a residual network of tiny images, fitted alone."""

import numpy as np
import pytest
import torch

from lockstep_bench import methods
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.stacked_fits import StackedFits
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.methods.maths.likelihoods import Categorical
from lockstep_bench.methods.networks.resnets import PreActResNet
from lockstep_bench.methods.problem import Task

N_CLASSES, N_ROWS = 3, 16
LARGE = {"laplace-full", "hmc", "fcg-vi"}
LINES = {"ngboost", "lightgbm", "quantile-forest", "conformal-ridge", "tabpfn", "tabicl"}
REGRESSIONS = {"linear", "gp", "gp-matern", "vbll", "beta-nll", "evidential", "quantile", "mdn"} | LINES
PERCEPTRONS = {
    *("mile", "hmc-leapfrog", "batch-ensemble", "epinet", "sngp"),
    *("laplace-marglik-full", "laplace-marglik-kron", "laplace-marglik-diag"),
}
WITHOUT = {
    "batch": {"slang", "slang-released"} | LARGE | REGRESSIONS | PERCEPTRONS,
    "filter-response": LARGE | REGRESSIONS | PERCEPTRONS,
}


def task_with(norm: str) -> Task:
    network = PreActResNet((1, 8, 8), N_CLASSES, widths=(16, 16), blocks=1, norm=norm)
    return Task("tiny", Categorical(N_CLASSES), network)


def fitted(name: str, task: Task) -> tuple[StackedFits, np.ndarray]:
    """Return the fits after two updates, and the rows left to predict."""
    method, generator = methods.get(name).suited_to(task), np.random.default_rng(0)
    data = Data.of(generator.standard_normal((N_ROWS + 5, 64)), np.arange(N_ROWS + 5) % N_CLASSES)
    hparams = {
        hparam: distribution.low if hasattr(distribution, "low") else distribution.choices[0]
        for hparam, distribution in method.search_space(task).items()
    }
    schedule = Schedule(N_ROWS, 4, 9, method.batches_per_update, 2 * method.batches_per_update)
    fits = [Fit(np.arange(N_ROWS), hparams, seed=0)]
    stack = train_stacked(method, task, data, fits, schedule, stacked=False)
    return stack, np.arange(N_ROWS, N_ROWS + 5)


@pytest.mark.parametrize("norm", WITHOUT)
def test_methods_excluding_images_are_listed_exactly(norm):
    task = task_with(norm)
    found = {name for name in methods.catalogue.registry.BUILT_IN if methods.get(name).suited_to(task).excludes(task)}
    assert found == WITHOUT[norm]


@pytest.mark.parametrize(
    ("name", "norm"),
    [(name, "batch") for name in methods.catalogue.registry.BUILT_IN if name not in WITHOUT["batch"]]
    + [(name, "filter-response") for name in ("slang", "inducing-ffg", "mfvi-local", "variational-laplace")],
)
@pytest.mark.parametrize("n_samples", [1, 6])
def test_image_methods_predict_finite_normalised_probabilities(name, norm, n_samples):
    stack, rows = fitted(name, task_with(norm))
    (predictive,) = stack.predict([rows], n_samples)
    assert predictive.log_probs.shape[1:] == (5, N_CLASSES)
    if n_samples == 1:
        assert len(predictive.log_probs) == stack.method.members  # what is asked for one by one must come so
    torch.testing.assert_close(predictive.log_probs.exp().sum(-1), torch.ones(predictive.log_probs.shape[:2]))
