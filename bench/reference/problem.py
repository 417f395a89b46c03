"""A training set with a Bayesian model, to which methods are fitted and whose reference posterior is computed."""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from lockstep_bench.datasets import Dataset, Source, Standardisation
from lockstep_bench.datasets.records import Model
from lockstep_bench.methods.maths.likelihoods import Bernoulli, Gaussian, Likelihood
from lockstep_bench.methods.maths.predictive import Predictive
from lockstep_bench.methods.networks.mlp import MLP


class Part(NamedTuple):
    """Training rows, standardised as for a fit, with a Bayesian model whose precisions are fixed.

    Attributes:
        x: (N, P), inputs.
        y: (N,), targets divided by `y_scale`, or class numbers.
        network: The network; a linear model without bias if it has no hidden layer.
        likelihood: Likelihood of y given the network's outputs.
        prior_precision: alpha, of the prior N(0, I / alpha).
        noise_precision: beta in original target units; None for classes.
        y_scale: Original target units per unit of `y`.
        bias: Whether the last weight is a bias; `x` then has a column of ones (`datasets.records.Model.bias`).
    """

    x: np.ndarray
    y: np.ndarray
    network: MLP
    likelihood: Likelihood
    prior_precision: float
    noise_precision: float | None
    y_scale: float
    bias: bool = False

    @property
    def hparams(self) -> dict[str, float]:
        """The hyper-parameters that the model fixes, that is, its precisions."""
        fixed = {"prior_precision": self.prior_precision, "noise_precision": self.noise_precision}
        return {name: value for name, value in fixed.items() if value is not None}

    def predictive(self, outputs: Tensor, y_mean: float) -> Predictive:
        """Return the predictive of sampled network outputs, in original target units.

        Args:
            outputs: (S, n, O), outputs of the network.
            y_mean: Mean that was subtracted from the targets, in original units.
        """
        hparams = SimpleNamespace(**{name: torch.tensor(value).double() for name, value in self.hparams.items()})
        return self.likelihood.predictive(outputs, hparams, *torch.tensor([y_mean, self.y_scale]).double())


def linear_part(source: Source, dataset: Dataset, rows: np.ndarray) -> Part:
    """Return rows of a data set with its linear model, standardised and centred if `Model.standardise` is true.

    Targets of a model with a bias are never centred.

    Args:
        source: Entry of the data set in the registry.
        dataset: The data set.
        rows: (N,) row numbers.
    """
    model = model_of(source)
    x, y = dataset.x[rows], dataset.y[rows]
    if model.standardise:
        x = (x - (x_scaling := Standardisation.of(dataset.x, rows)).mean) / x_scaling.scale
        y = y if source.task == "binary" or model.bias else y - y.mean()
    alpha, beta = model.prior_precision, model.noise_precision
    if alpha is None:
        alpha, beta = maximal_evidence(x, y)
    if model.bias:
        x = with_ones(x)
    network = MLP(x.shape[1], hidden=(), bias=False)
    likelihood = Bernoulli() if beta is None else Gaussian((beta, beta))
    return Part(x, y, network, likelihood, alpha, beta, y_scale=1.0, bias=model.bias)


def with_ones(x: np.ndarray) -> np.ndarray:
    """Return the inputs x (N, P) with a column of ones appended, (N, P + 1)."""
    return np.column_stack([x, np.ones(len(x))])


def network_part(source: Source, dataset: Dataset, rows: np.ndarray) -> Part:
    """Return rows of a regression data set with its network, standardised as in training by `bench.engine`.

    Args:
        source: Entry of the data set in the registry.
        dataset: The data set.
        rows: (N,) row numbers.

    Raises:
        ValueError: One of the model's precisions is not given.
    """
    model = model_of(source)
    alpha, beta = model.prior_precision, model.noise_precision
    if alpha is None or beta is None:
        raise ValueError(f"the network of data set {source.name!r} needs a prior_precision and a noise_precision")
    x_scaling, y_scaling = Standardisation.of(dataset.x, rows), Standardisation.of(dataset.y, rows)
    return Part(
        (dataset.x[rows] - x_scaling.mean) / x_scaling.scale,
        (dataset.y[rows] - y_scaling.mean) / y_scaling.scale,
        MLP(dataset.x.shape[1], model.hidden),
        Gaussian((beta, beta)),
        alpha,
        beta,
        float(y_scaling.scale),
    )


def model_of(source: Source) -> Model:
    """Return the Bayesian model of a data set.

    Raises:
        ValueError: The data set has no Bayesian model.
    """
    if source.model is None:
        raise ValueError(f"data set {source.name!r} has no `model`; a reference posterior needs one")
    return source.model


def maximal_evidence(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return the alpha and beta that maximise the evidence of linear regression (MacKay 1992).

    They are computed by scikit-learn's BayesianRidge.

    Args:
        x: (N, P), inputs.
        y: (N,), targets.
    """
    from sklearn.linear_model import BayesianRidge

    fitted = BayesianRidge().fit(x, y)
    return float(fitted.lambda_), float(fitted.alpha_)
