"""Adapters and results that several tests need."""

import pytest
import torch
from sklearn.linear_model import SGDRegressor

from lockstep_bench.methods.base import Method, Paper
from lockstep_bench.methods.maths.search_spaces import LogUniform


class ForeignLibrary(Method):
    """Wraps scikit-learn's SGD regression, whose state is an object and not a tensor."""

    name, title, paper = "foreign", "Foreign", Paper("Somebody 2000", "A Library")
    stackable = False
    likelihoods = ("gaussian",)

    def search_space(self, task):
        return {"lr": LogUniform(1e-3, 1e-2), **task.likelihood.search_space()}

    def init(self, problem, noise):
        return SGDRegressor(learning_rate="constant", eta0=problem.hparams.lr.item(), random_state=0)

    def update(self, problem, state, batch, noise, step):
        return state.partial_fit(batch.x[0].numpy(), batch.y[0].numpy())

    def predict(self, problem, posterior, x, noise, n_samples):
        outputs = torch.tensor(posterior.predict(x.numpy()))[None, :, None]
        return problem.predictive_of_outputs(outputs)


@pytest.fixture
def foreign_library() -> Method:
    return ForeignLibrary()
