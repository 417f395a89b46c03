"""From a data set to the task that a suite makes of it, and to what a method is tuned over there."""

from optuna.distributions import BaseDistribution

import datasets
from bench.protocol import Protocol
from bench.suites import SUITES
from methods.base import Method
from methods.likelihoods import Bernoulli, Categorical, Gaussian, HeteroscedasticGaussian, Likelihood
from methods.networks import MLP
from methods.problem import Task


def task_of(suite: str, dataset: str, regression: str = "gaussian") -> Task:
    """The task that a suite makes of a data set; `regression` is the kind of likelihood of real-valued targets."""
    source = datasets.entry(dataset)
    likelihood = _likelihood(source, regression)
    if source.model:
        hidden = source.model.hidden
        network = MLP(source.n_features, hidden, likelihood.n_outputs, bias=bool(hidden))
    else:
        network = MLP(source.n_features, SUITES[suite].hidden, likelihood.n_outputs)
    return Task(dataset, likelihood, network)


def _likelihood(source: datasets.Source, regression: str) -> Likelihood:
    if source.task == "regression":
        homoscedastic = regression == "gaussian"
        return Gaussian(source.noise_precisions) if homoscedastic else HeteroscedasticGaussian()
    return Bernoulli() if source.task == "binary" else Categorical(source.n_classes)


def space_of(method: Method, task: Task, protocol: Protocol) -> dict[str, BaseDistribution]:
    """The search space that a protocol gives a method on a task."""
    return method.wide_space(task) if protocol.space == "wide" else method.search_space(task)
